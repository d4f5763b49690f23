/**
 * The answer of POST /v1/responses/compact: what the user said, and the compaction after it, as the next request brings
 * them. Source of the format: OpenAI API reference, "Compact a response".
 */
import type { Call } from '../core/call.ts'
import { type JsonObject, readJsonBody, splice } from '../core/json-body.ts'
import { must } from '../core/refusal.ts'
import type { CallCodec, WholeReply } from './codec.ts'
import { objectsOf, textOf } from './request/json-members.ts'
import { isTold } from './translate/compaction.ts'

/** The codec of a call whose answer is the window: what the user said, and the compaction after it. */
export const windowCodec = (codec: CallCodec, call: Call): CallCodec => ({
  path: codec.path,
  body: codec.body,
  ...(codec.headers === undefined ? {} : { headers: codec.headers }),
  notCarried: codec.notCarried,
  readWhole: (bytes, headers) => {
    const reply = codec.readWhole(bytes, headers)
    return reply === undefined ? undefined : windowReply(reply, call)
  },
  relay: () => codec.relay(),
})

const windowReply = (reply: WholeReply, call: Call): WholeReply => ({
  usage: reply.usage,
  tier: reply.tier,
  blocked: reply.blocked,
  fault: reply.fault,
  notCarried: reply.notCarried,
  letters: () => reply.letters(),
  asStream: () => reply.asStream(),
  addBill: (billed) => {
    const answer = must(readJsonBody(reply.addBill(billed)))
    const { value } = answer
    const others = Object.keys(value).filter((name) => !kept.has(name))
    const made = objectsOf(value.output).filter(({ type }) => type === 'compaction')
    return splice(answer, {
      ...Object.fromEntries(others.map((name) => [name, undefined])),
      object: '"response.compaction"',
      output: JSON.stringify([...saidByUser(call, textOf(value.id) ?? ''), ...made]),
    })
  },
})

/** The members that both objects have. */
const kept: ReadonlySet<string> = new Set(['id', 'created_at', 'usage'])

/** What the user said, as items; summaries before this one are in it. */
const saidByUser = ({ body }: Call, id: string): readonly JsonObject[] =>
  objectsOf(body.value.input)
    .filter(({ role, content }) => role === 'user' && !isTold(firstText(content)))
    .map((item, at) => ({
      id: `msg_${id.replace(/^resp_/, '')}_${at}`,
      status: 'completed',
      ...item,
      type: 'message',
      content:
        typeof item.content === 'string'
          ? [{ type: 'input_text', text: item.content }]
          : (item.content ?? []),
    }))

const firstText = (content: JsonObject[string]): string => textOf(objectsOf(content)[0]?.text) ?? ''
