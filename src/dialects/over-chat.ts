/**
 * Small dialects of callers that are read as chat completions: each says what its callers may send and how a request of
 * theirs would be written there. No vendor is asked in them.
 */
import type { Call } from '../core/call.ts'
import type { JsonBody, JsonObject } from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'
import { readChat } from './chat/decode-call.ts'
import type { ChatRequest } from './chat/request.ts'
import type { Conversation } from './neutral.ts'
import { textOf } from './request/json-members.ts'
import { ignoredIn, readRequest } from './request/request.ts'
import type { Shape } from './request/shape.ts'

/** Bodies in two forms have two descriptions. */
type DescriptionOf = (body: JsonObject) => Shape

/** What differs from one call to another. */
type Asked = Pick<Call, 'stream'> & Partial<Pick<Call, 'maxOutput' | 'choices' | 'showUsage' | 'streamType'>>

/** Reads and checks bodies of a dialect. */
export const callsOver =
  (dialect: Call['dialect'], describedBy: DescriptionOf, askedIn: (value: JsonObject) => Asked) =>
  (body: JsonBody): Call | Refusal => {
    const found = readRequest(describedBy(body.outline), body.outline)
    if (found instanceof Refusal) return found
    return {
      kind: 'chat',
      dialect,
      modelName: textOf(body.outline.model) ?? '',
      body,
      showUsage: true,
      choices: 1,
      ...askedIn(body.outline),
      size: found.sizeOf(body),
    }
  }

/** Reads checked bodies into the neutral form. */
export const conversationsOver =
  (describedBy: DescriptionOf, asChat: (body: JsonObject) => JsonObject) =>
  (body: JsonObject): Conversation => {
    const read = readChat({ model: '', ...asChat(body) } as ChatRequest)
    return { ...read, ignored: [...ignoredIn(describedBy(body), body), ...read.ignored] }
  }
