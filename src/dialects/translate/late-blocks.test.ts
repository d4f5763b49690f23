/** An answer that its vendor's filters end in the middle ends as one that they ended, for callers of every dialect. */
import { expect, test } from 'bun:test'
import { type CallerId, callerIds, clients, firstRequest } from '../../../test/dialects/clients.ts'
import { codecOf } from '../../../test/dialects/codecs.ts'
import { billed, closing, type WrittenId } from '../../../test/dialects/steps.ts'
import { Refusal } from '../../core/refusal.ts'

const answered = (caller: CallerId, vendor: WrittenId, events: readonly object[]) => {
  const codec = codecOf(caller, vendor, firstRequest(caller, 'hi'), { stream: true })
  if (codec instanceof Refusal) throw new Error(codec.message)
  const relay = codec.relay()
  const out = events.map((event) => {
    const data = JSON.stringify(event)
    return relay.follow({ data, bytes: new TextEncoder().encode(data) }) ?? new Uint8Array()
  })
  return { progress: relay.progress, bytes: Buffer.concat([...out, closing(relay.end(billed))]) }
}

const candidate = (index: number, text: string, more: object = {}) => ({
  candidates: [{ index, content: { role: 'model', parts: [{ text }] }, ...more }],
})
const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }
const error = { code: 'content_filter', message: 'Filtered.' }
const named = { id: 'i', model: 'm' }

/** What a vendor sends for half an answer, and then for the block. */
const blocks = {
  gemini: [[candidate(0, 'half')], blocked],
  responses: [
    [
      { type: 'response.created', response: { ...named, status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: [] } },
      { type: 'response.output_text.delta', output_index: 0, delta: 'half' },
    ],
    { type: 'response.failed', response: { ...named, status: 'failed', error } },
  ],
  interactions: [
    [
      { event_type: 'interaction.created', interaction: { ...named, status: 'in_progress' } },
      { event_type: 'step.start', index: 0, step: { type: 'model_output' } },
      { event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'half' } },
    ],
    { event_type: 'interaction.completed', interaction: { ...named, status: 'failed', errors: [error] } },
  ],
} as const

const filtered = {
  chat: 'content_filter',
  messages: 'refusal',
  gemini: 'SAFETY',
  responses: 'content_filter',
  interactions: 'incomplete',
  cohere: 'ERROR',
  ollama: 'content_filter',
}

for (const vendor of ['gemini', 'responses', 'interactions'] as const) {
  const [half, block] = blocks[vendor]
  test.each(callerIds.filter((caller) => caller !== vendor))(
    `${vendor} to %s: a block after half an answer ends it`,
    (caller) => {
      const { progress, bytes } = answered(caller, vendor, [...half, block])
      expect([progress.finished, progress.blocked, progress.error]).toEqual([true, false, undefined])
      const seen = clients[caller].stream(bytes)
      expect([seen.text, seen.finish, seen.ended]).toEqual(['half', filtered[caller], true])
    },
  )

  test(`${vendor}: a block before any answer is one of the prompt`, () => {
    const { progress } = answered('chat', vendor, [block])
    expect([progress.finished, progress.blocked]).toEqual([false, true])
  })
}

test('of several answers, those that had ended keep their end', () => {
  const events = [candidate(0, 'a', { finishReason: 'STOP' }), candidate(1, 'b'), blocked]
  const { progress, bytes } = answered('chat', 'gemini', events)
  expect([progress.finished, progress.ended]).toEqual([true, [0, 1]])
  const ends = [...bytes.toString().matchAll(/"index":(\d),"delta":\{\},"finish_reason":"(\w+)"/g)]
  expect(ends.map(([, index, reason]) => [index, reason])).toEqual([
    ['0', 'stop'],
    ['1', 'content_filter'],
  ])
})
