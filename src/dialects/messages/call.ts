/** Messages: turns a request into a call. */
import type { Call } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { textOf } from '../json-members.ts'
import { readRequest } from '../request.ts'
import { requestedBetas } from './betas.ts'
import { countRequest, messagesRequest, shownAgain } from './request.ts'

/** Reads and checks a messages body. */
export const decodeMessagesCall = (
  body: JsonBody,
  { counting = false, beta = null }: { readonly counting?: boolean; readonly beta?: string | null } = {},
): Call | Refusal => {
  const { outline: value } = body
  const found = readRequest(counting ? countRequest : messagesRequest, value)
  if (found instanceof Refusal) return found
  if (found.showsTools) found.template += shownAgain(value)
  const betas = requestedBetas(beta, value)
  return {
    kind: 'chat',
    dialect: 'messages',
    modelName: textOf(value.model) ?? '',
    body,
    stream: value.stream === true,
    showUsage: true,
    ...(typeof value.max_tokens === 'number' ? { maxOutput: value.max_tokens } : {}),
    choices: 1,
    size: found.sizeOf(body),
    ...(betas.length === 0 ? {} : { betas }),
    foreign: found.foreign,
  }
}
