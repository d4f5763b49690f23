/**
 * Counting the tokens of an input without asking for an answer, free: POST /v1/messages/count_tokens, and
 * POST /v1/responses/input_tokens.
 */
import type { Call } from '../../core/call.ts'
import type { JsonBody, JsonObject } from '../../core/json-body.ts'
import { must, type Refusal } from '../../core/refusal.ts'
import { decodeMessagesCall } from '../../dialects/messages/call.ts'
import { decodeResponsesCall } from '../../dialects/responses/call.ts'
import { responseForm } from '../../dialects/responses/kept.ts'
import { countTokens } from '../../gateway/call/count-tokens.ts'
import { withSummaries } from '../../gateway/enter/compaction.ts'
import { recall } from '../../gateway/enter/recall.ts'
import { readWeighed } from '../../gateway/parts/capacity.ts'
import { json } from '../answer/reply.ts'
import { callerOf } from '../request/caller.ts'
import { readBody } from '../request/read-body.ts'
import type { CredentialStyle } from '../route/headers.ts'
import type { Handler } from '../route/route.ts'

type Style = {
  readonly credential: CredentialStyle
  /** Requests may name earlier answers. */
  readonly recalls: boolean
  readonly decode: (body: JsonBody, headers: Headers) => Call | Refusal
  readonly shown: (tokens: number) => JsonObject
}

const counting =
  ({ credential, recalls, decode, shown }: Style): Handler =>
  async (gateway, call) => {
    const key = await callerOf(gateway, call, credential)
    const sent = readWeighed(
      gateway.capacity,
      call.trace.taken,
      await readBody(gateway, call, gateway.options.bodyBytesMax),
    )
    const { body } = recalls
      ? await recall(gateway, { form: responseForm, key, trace: call.trace, socket: undefined }, sent)
      : { body: sent }
    const read = must(
      decode(
        recalls ? withSummaries(gateway, { key, trace: call.trace }, body, sent) : body,
        call.request.headers,
      ),
    )
    const { tokens } = await countTokens(gateway, { key, call: read, trace: call.trace })
    return json(shown(tokens))
  }

export const countMessagesTokens = counting({
  credential: 'messages',
  recalls: false,
  decode: (body, headers) =>
    decodeMessagesCall(body, { counting: true, beta: headers.get('anthropic-beta') }),
  shown: (tokens) => ({ input_tokens: tokens }),
})

export const countResponsesTokens = counting({
  credential: 'bearer',
  recalls: true,
  decode: (body) => decodeResponsesCall(body),
  shown: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
})
