/** Chat completions: turns a request into a call. */
import type { Call } from '../../core/call.ts'
import { isObject, type JsonBody } from '../../core/json-body.ts'
import type { Mutable } from '../../core/mutable.ts'
import { Refusal } from '../../core/refusal.ts'
import { readRequest } from '../request/request.ts'
import { chatRequest } from './request.ts'

/** Reads and checks a chat-completions body. */
export const decodeChatCall = (body: JsonBody): Call | Refusal => {
  const { outline: value } = body
  const found = readRequest(chatRequest, value)
  if (found instanceof Refusal) return found
  const { max_completion_tokens, max_tokens, stream_options: options, n } = value
  const maxOutput = max_completion_tokens ?? max_tokens
  const call: Mutable<Call> = {
    kind: 'chat',
    dialect: 'chat',
    modelName: typeof value.model === 'string' ? value.model : '',
    body,
    stream: value.stream === true,
    showUsage: isObject(options) && options.include_usage === true,
    choices: typeof n === 'number' ? n : 1,
    size: found.sizeOf(body),
    foreign: found.foreign,
  }
  if (typeof maxOutput === 'number') call.maxOutput = maxOutput
  if (found.thoughts) call.thoughts = true
  if (value.service_tier === 'flex') call.tier = value.service_tier
  return call
}
