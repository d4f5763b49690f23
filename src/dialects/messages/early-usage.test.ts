/** What the first event of a stream of messages reports about the input. */
import { expect, test } from 'bun:test'
import { billed, closing, context, type SharedDialectId } from '../../../test/dialects/steps.ts'
import { callerDialects, vendorDialects } from '../index.ts'
import { translatedRelay } from '../translate/translate-stream.ts'

const traits = { outputBound: 'max_tokens', takesStreamOptions: true } as const

const eventsOf = (vendor: SharedDialectId, events: readonly object[]): any[] => {
  const read = vendorDialects[vendor].streamReader(() => 'new', traits)
  const relay = translatedRelay(read, callerDialects.messages.streamWriter(context(), false))
  const out = events.map((event) => {
    const data = JSON.stringify(event)
    return relay.follow({ data, bytes: new TextEncoder().encode(data) }) ?? new Uint8Array()
  })
  const text = Buffer.concat([...out, closing(relay.end(billed))]).toString()
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)))
}

const chunk = (delta: object, more: object = {}) => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
})
const first = { cache_creation_input_tokens: 0, output_tokens: 0 }

test('an estimate where the vendor counts at the end', () => {
  const [start, ...rest] = eventsOf('chat', [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'hi' }),
  ])
  expect([start.type, start.message.id]).toEqual(['message_start', 'c'])
  expect(start.message.usage).toEqual({ ...first, input_tokens: 42, cache_read_input_tokens: 0 })
  expect(rest.at(-2).usage).toMatchObject({ input_tokens: 10, output_tokens: 5 })
})

test("the vendor's own count where it comes before the first word", () => {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 3,
    prompt_tokens_details: { cached_tokens: 4 },
  }
  const [early] = eventsOf('chat', [chunk({ content: 'hi' }, { usage })])
  expect(early.message.usage).toEqual({ ...first, input_tokens: 5, cache_read_input_tokens: 4 })
  const [gemini] = eventsOf('gemini', [
    {
      candidates: [{ content: { parts: [{ text: 'hi' }] } }],
      usageMetadata: { promptTokenCount: 9, cachedContentTokenCount: 4, candidatesTokenCount: 3 },
    },
  ])
  expect(gemini.message.usage).toEqual({ ...first, input_tokens: 5, cache_read_input_tokens: 4 })
})

test('an answer that says nothing has a first event too', () => {
  const types = eventsOf('chat', [chunk({ role: 'assistant' })]).map(({ type }) => type)
  expect(types).toEqual(['message_start', 'ping', 'message_delta', 'message_stop'])
})
