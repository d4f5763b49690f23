/** Amazon's binary framing: events stay whole however the bytes are cut, and damaged bytes are refused. */
import { expect, test } from 'bun:test'
import { mustBeLinear } from '../../test/cpu-growth.ts'
import { awsMessage } from '../../test/server/aws-message.ts'
import { awsEventSplitter } from './aws-event-stream.ts'

const event = (type: string, payload: object) =>
  awsMessage(
    { ':message-type': 'event', ':event-type': type, ':content-type': 'application/json' },
    JSON.stringify(payload),
  )

const whole = Buffer.concat([
  event('messageStart', { role: 'assistant' }),
  event('contentBlockDelta', { delta: { text: 'hé' }, contentBlockIndex: 0 }),
  awsMessage(
    { ':message-type': 'exception', ':exception-type': 'throttlingException' },
    '{"message":"slow"}',
  ),
])
const expected = [
  { messageStart: { role: 'assistant' } },
  { contentBlockDelta: { delta: { text: 'hé' }, contentBlockIndex: 0 } },
  { error: { message: 'slow' } },
]

test('events come whole from any cuts', () => {
  for (let size = 1; size <= whole.length; size++) {
    const splitter = awsEventSplitter()
    const events: unknown[] = []
    for (let at = 0; at < whole.length; at += size)
      for (const { data } of splitter.feed(new Uint8Array(whole.subarray(at, at + size))))
        events.push(JSON.parse(data))
    expect(events).toEqual(expected)
  }
})

test('a message that comes in very many pieces takes linear time', async () => {
  const size = 500
  await mustBeLinear((pieces) => {
    const message = event('contentBlockDelta', { delta: { text: 'x'.repeat(pieces * size) } })
    const splitter = awsEventSplitter()
    let events = 0
    for (let at = 0; at < message.length; at += size)
      events += splitter.feed(message.subarray(at, at + size)).length
    expect(events).toBe(1)
  }, 900)
})

test('a flipped bit anywhere is never taken for an event', () => {
  const message = event('messageStop', { stopReason: 'end_turn' })
  for (let bit = 0; bit < message.length * 8; bit++) {
    const damaged = message.slice()
    damaged[bit >> 3]! ^= 1 << (bit & 7)
    const splitter = awsEventSplitter()
    let events = 0
    try {
      events = splitter.feed(damaged).length
    } catch {
      // The damaged event was refused, as it should be.
    }
    expect(events).toBe(0)
  }
})
