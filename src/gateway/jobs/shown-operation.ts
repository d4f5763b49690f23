/**
 * A run as a long-running operation, the form in which Google's clients know a job. Source:
 * google.longrunning.Operation.
 */
import type { JsonObject } from '../../core/json-body.ts'
import type { Run } from '../../store/calls/run-port.ts'
import { operationName } from '../answer/media-results.ts'
import type { Answer } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import { deliveredAnswer, errorOf, moreOf, termsOfRun } from './shown-run.ts'

/** Codes of google.rpc. */
const [CANCELLED, INVALID_ARGUMENT, INTERNAL] = [1, 3, 13]

/** Why it delivered nothing, as a status of that API. */
const codeOf = ({ state, result }: Run): number => {
  if (state === 'cancelled') return CANCELLED
  const inputs = ['invalid_parameter', 'content_policy_violation']
  return result !== undefined && 'error' in result && inputs.includes(result.error.code)
    ? INVALID_ARGUMENT
    : INTERNAL
}

/** The operation's state: running, why it failed, or the addresses of its results, which are new each time. */
export const shownOperation = async (gateway: Gateway, run: Run): Promise<Answer> => {
  const delivered = await deliveredAnswer(gateway, run, 'gemini_operation')
  if (delivered !== undefined) return delivered
  const error = errorOf(run)
  const operation: JsonObject = {
    name: operationName(run.facts?.modelName ?? run.model, run.id),
    done: run.endedAt !== undefined,
    metadata: moreOf(gateway, run, run.state, await termsOfRun(gateway, run)),
    ...(error === undefined ? {} : { error: { code: codeOf(run), message: error.message } }),
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: new TextEncoder().encode(JSON.stringify(operation)),
  }
}
