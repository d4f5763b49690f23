/** The texts of a stream: which pieces are of one text, and when a text has ended. */
import { expect, test } from 'bun:test'
import { policyOf } from './rules.ts'
import { StreamTexts } from './stream-texts.ts'

const { output } = policyOf([[{ detect: ['email', 'card'], action: 'mask', on: 'output' }]])
const texts = () =>
  new StreamTexts(
    output,
    ({ label }) => `[${label}]`,
    () => undefined,
  )
const choice = (index: number, delta: object) =>
  `data: ${JSON.stringify({ choices: [{ index, delta }] })}\n\n`
const block = (index: number, delta: object) => `data: ${JSON.stringify({ index, delta })}\n\n`

test('a text that ends in a word holds back what comes behind it for some events only', () => {
  for (const [thought, answer] of [
    [choice(0, { reasoning_content: 'so I say' }), choice(0, { content: 'Hello. ' })],
    [block(0, { thinking: 'so I say' }), block(1, { text: 'Hello. ' })],
  ] as const) {
    const stream = texts()
    let out = stream.feed(thought)
    for (let count = 0; count < 10; count++) out += stream.feed(answer)
    expect(out).toBe(thought + answer.repeat(10))
    expect(stream.feed(answer) + stream.end()).toBe(answer)
  }
})

test('texts that come by turns are looked through to their ends', () => {
  const pieces = ['4111 ', '1111 ', '1111 ', '1111', '.']
  for (const [first, second] of [
    [(content: string) => choice(0, { content }), (content: string) => choice(1, { content })],
    [(text: string) => choice(0, { reasoning: text }), (text: string) => choice(0, { content: text })],
  ] as const) {
    const stream = texts()
    const out = pieces.map((piece) => stream.feed(first(piece)) + stream.feed(second(piece))).join('')
    expect((out + stream.end()).match(/\[CARD\]|\d{4}/g)).toEqual(['[CARD]', '[CARD]'])
  }
})

test("Gemini's thoughts and words are texts of their own", () => {
  const event = (...parts: object[]) =>
    `data: ${JSON.stringify({ candidates: [{ content: { parts } }] })}\n\n`
  const thought = { text: 'so I say', thought: true }
  const card = { text: '4111 1111 1111 1111.' }
  for (const events of [[event(thought), event(card)], [event(thought, card)]]) {
    const stream = texts()
    const out = events.map((one) => stream.feed(one)).join('') + stream.end()
    expect(out).toBe(events.join('').replace('4111 1111 1111 1111', '[CARD]'))
  }
})

test('what an event at the end of a text says once more is masked there, and not counted again', () => {
  let count = 0
  const stream = new StreamTexts(
    output,
    ({ label }) => `[${label}]`,
    () => count++,
  )
  const event = (it: object) => `data: ${JSON.stringify(it)}\n\n`
  const text = 'Ask a@b.example or a@b.example. '
  const item = { content: [{ text }] }
  const events = [
    ...[...text].map((delta) => event({ type: 'response.output_text.delta', delta })),
    event({ type: 'response.output_text.done', text }) + event({ type: 'response.content_part.done', item }),
    event({ type: 'response.completed', response: { output: [item] } }),
  ]
  const out = events.map((one) => stream.feed(one)).join('') + stream.end()
  expect([out.match(/\[EMAIL\]/g)?.length, out.includes('@'), count]).toEqual([8, false, 2])
  // What no piece said is new.
  stream.feed(
    event({ type: 'response.completed', response: { output: [item, item, { url: 'c@d.example ' }] } }),
  )
  expect(count).toBe(5)
})
