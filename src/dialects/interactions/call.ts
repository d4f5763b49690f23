/** Interactions: turns a request into a call. */
import type { Call } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { numberOf, objectOf, textOf } from '../request/json-members.ts'
import { readRequest } from '../request/request.ts'
import { interactionsRequest } from './request.ts'

/** Reads and checks a body. */
export const decodeInteractionsCall = (body: JsonBody): Call | Refusal => {
  const { outline: value } = body
  const found = readRequest(interactionsRequest, value)
  if (found instanceof Refusal) return found
  const maxOutput = numberOf(objectOf(value.generation_config).max_output_tokens)
  return {
    kind: 'chat',
    dialect: 'interactions',
    modelName: textOf(value.model) ?? '',
    body,
    stream: value.stream === true,
    showUsage: true,
    ...(maxOutput === undefined ? {} : { maxOutput }),
    choices: 1,
    size: found.sizeOf(body),
    foreign: found.foreign,
    ...(value.service_tier === 'flex' ? { tier: value.service_tier } : {}),
  }
}
