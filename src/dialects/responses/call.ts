/** Responses: turns a request into a call. */
import type { Call } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { textOf } from '../json-members.ts'
import { readRequest } from '../request.ts'
import { responsesRequest } from './request.ts'

/** Reads and checks a body. */
export const decodeResponsesCall = (body: JsonBody): Call | Refusal => {
  const { outline: value } = body
  const found = readRequest(responsesRequest, value)
  if (found instanceof Refusal) return found
  return {
    kind: 'chat',
    dialect: 'responses',
    modelName: textOf(value.model) ?? '',
    body,
    stream: value.stream === true,
    showUsage: true,
    ...(typeof value.max_output_tokens === 'number' ? { maxOutput: value.max_output_tokens } : {}),
    choices: 1,
    size: found.sizeOf(body),
  }
}
