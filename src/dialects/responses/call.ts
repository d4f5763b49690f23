/** Responses: turns a request into a call. */
import type { Call } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import { textOf } from '../json-members.ts'
import { readRequest } from '../request.ts'
import { forcesHosted } from './own-tools.ts'
import { responsesRequest } from './request.ts'

/** Reads and checks a body. */
export const decodeResponsesCall = (body: JsonBody): Call | Refusal => {
  const { outline: value } = body
  const found = readRequest(responsesRequest, value)
  if (found instanceof Refusal) return found
  if (forcesHosted(value))
    return invalid(
      'tool_choice',
      "'tool_choice' forces a tool that runs at the vendor, which is not offered here; leave it out, or choose a tool of your own.",
    )
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
