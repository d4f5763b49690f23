/** Events recognised by their shape are counted exactly as if each had been parsed, however the bytes are cut. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { concat, isObject } from '../../core/json-body.ts'
import { eventSplitter } from '../../transport/event-stream.ts'
import { knownEvent, shapeOf } from './event-shape.ts'
import { chatRelay } from './pass-stream.ts'

const encode = (text: string) => new TextEncoder().encode(text)

const chunk = (delta: object, more: object = {}, finish: string | null = null) => ({
  id: 'c1',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})

const read = (pieces: readonly Uint8Array[], skipping: boolean) => {
  const relay = chatRelay({
    find: ({ usage }) => (isObject(usage) ? usage : undefined),
    read: ({ prompt_tokens }) => ({ input: Number(prompt_tokens) }),
  })
  let skipped = 0
  const splitter = eventSplitter((bytes, start) => {
    const end = skipping ? (relay.skip?.(bytes, start) ?? -1) : -1
    if (end >= 0) skipped++
    return end
  })
  const out: Uint8Array[] = []
  for (const piece of pieces)
    for (const event of splitter.feed(piece)) {
      const bytes = relay.follow(event)
      if (bytes) out.push(bytes)
    }
  return { seen: relay.progress, usage: relay.usage(), out: new TextDecoder().decode(concat(out)), skipped }
}

const event = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: 'binary' }).map((content) => chunk({ content })) },
  { weight: 2, arbitrary: fc.constantFrom('"', '\\', '\n', '🙂', '').map((content) => chunk({ content })) },
  fc.constant(chunk({ role: 'assistant', content: '' })),
  fc.string().map((content) => chunk({ content }, { obfuscation: 'x"content":"y' })),
  fc.string().map((content) => chunk({ content, reasoning_content: 'why' })),
  fc.string().map((content) => ({ ...chunk({ content }), choices: [] })),
  fc.constant(chunk({ content: 'last' }, {}, 'stop')),
  fc.constant({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }),
  fc.constant(chunk({ content: 'with usage' }, { usage: { prompt_tokens: 1 } })),
  fc.constant({ error: { message: 'broken' } }),
)

test('a stream is counted the same with shapes as without, at any cut', () => {
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 20 }),
      fc.constantFrom('\n\n', '\n\n', '\n\n', '\r\n\r\n'),
      fc.array(fc.nat(4_000), { maxLength: 6 }),
      (events, end, cuts) => {
        const whole = encode(events.map((each) => `data: ${JSON.stringify(each)}${end}`).join(''))
        const places = [0, ...cuts.filter((at) => at < whole.length).sort((a, b) => a - b), whole.length]
        const pieces = places.slice(1).map((to, index) => whole.subarray(places[index], to))
        const { skipped: _, ...skipping } = read(pieces, true)
        const { skipped: none, ...parsing } = read(pieces, false)
        expect(skipping).toEqual(parsing)
        expect(none).toBe(0)
      },
    ),
    { numRuns: 2_000 },
  )
})

test('a usual stream is parsed once and recognised from then on', () => {
  const words = ['All', ' is', ' wéll', ' 🙂', ' "so"', ' they', ' say']
  const pieces = words.map((content) => encode(`data: ${JSON.stringify(chunk({ content }))}\n\n`))
  const { seen, skipped } = read(pieces, true)
  expect(skipped).toBe(words.length - 2)
  expect([seen.contentEvents, seen.letters]).toEqual([words.length, words.join('').length + 2])
})

test('a shape is only taken where the text is the content that is read', () => {
  const fooled = '{"x":{"content":"hi"},"choices":[{"delta":{ "content": "hi"}}]}'
  expect(shapeOf(encode(`data: ${fooled}\n\n`), fooled, 'hi')).toBeUndefined()
  const plain = '{"choices":[{"delta":{"content":"hi"}}]}'
  const shape = shapeOf(encode(`data: ${plain}\n\n`), plain, 'hi')
  if (shape === undefined) throw new Error('no shape')
  const bytes = encode('data: {"choices":[{"delta":{"content":"h\u00e9y 🙂"}}]}\n\n')
  expect(knownEvent(bytes, 0, shape)).toEqual({ end: bytes.length, letters: 8 })
  expect(knownEvent(bytes.subarray(0, -1), 0, shape)).toBeUndefined()
})
