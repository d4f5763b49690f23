/** POST /v1/messages/count_tokens: counts the tokens of an input without asking for an answer. Free. */
import { must } from '../core/refusal.ts'
import { decodeMessagesCall } from '../dialects/messages/call.ts'
import { readWeighed } from '../gateway/capacity.ts'
import { countTokens } from '../gateway/count-tokens.ts'
import { callerOf } from './caller.ts'
import { readBody } from './read-body.ts'
import { json } from './reply.ts'
import type { Handler } from './route.ts'

export const countMessagesTokens: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call, 'messages')
  const body = readWeighed(
    gateway.capacity,
    call.trace,
    await readBody(gateway, call, gateway.options.bodyBytesMax),
  )
  const read = must(
    decodeMessagesCall(body, { counting: true, beta: call.request.headers.get('anthropic-beta') }),
  )
  const { tokens } = await countTokens(gateway, { key, call: read, trace: call.trace })
  return json({ input_tokens: tokens })
}
