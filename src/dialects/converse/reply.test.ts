/** How answers of Converse end: by what they contain where the vendor's word for it is another, and by its faults. */
import { expect, test } from 'bun:test'
import type { VendorTraits } from '../dialect.ts'
import { vendorDialects } from '../index.ts'

const traits: VendorTraits = { outputBound: 'max_tokens', takesStreamOptions: true }
const { readReply, streamReader } = vendorDialects.converse
const newId = () => 'new'

const wholeOf = (block: object, stopReason: string) =>
  readReply(
    JSON.parse(JSON.stringify({ output: { message: { role: 'assistant', content: [block] } }, stopReason })),
    newId,
  )

const stepsOf = (events: readonly object[]) => {
  const read = streamReader(newId, traits)
  return events.flatMap((event) => read(JSON.stringify(event)))
}

const text = { text: 'hm' }
const call = { toolUse: { toolUseId: 't', name: 'f', input: {} } }
const ofText = { contentBlockDelta: { contentBlockIndex: 0, delta: text } }
const ofCall = {
  contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'f' } } },
}
const metadata = { metadata: { usage: { inputTokens: 3, outputTokens: 2 } } }
const ending = (stopReason: string) => [{ messageStop: { stopReason } }, metadata]

test.each([
  ['end_turn', call, ofCall, 'tool_calls'],
  ['tool_use', call, ofCall, 'tool_calls'],
  ['tool_use', text, ofText, 'stop'],
  ['end_turn', text, ofText, 'stop'],
  ['max_tokens', call, ofCall, 'length'],
])('an answer that ends with %s stops for tools if it calls one', (reason, block, event, finish) => {
  expect(wholeOf(block, reason)).toMatchObject({ choices: [{ finish }] })
  expect(wholeOf(block, reason)?.fault).toBeUndefined()
  const steps = stepsOf([event, ...ending(reason)])
  expect(steps.filter(({ type }) => type === 'finish')).toEqual([
    { type: 'finish', choice: 0, finish } as never,
  ])
  expect(steps.at(-1)).toEqual({ type: 'end' })
})

test.each(['malformed_model_output', 'malformed_tool_use'])(
  'an answer that ends with %s is none, and is charged what its vendor counted',
  (reason) => {
    expect(wholeOf(text, reason)?.fault).toBeString()
    const types = stepsOf([ofText, ...ending(reason)]).map(({ type }) => type)
    expect(types).toEqual(['text', 'usage', 'finish', 'error'])
  },
)
