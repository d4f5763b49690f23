/** The framing of events does not depend on where the network cuts the bytes. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { mustBeLinear } from '../../test/cpu-growth.ts'
import { concat } from '../core/json-body.ts'
import { eventSplitter } from './event-stream.ts'

const encode = (text: string) => new TextEncoder().encode(text)

const split = (pieces: readonly Uint8Array[]) => {
  const splitter = eventSplitter()
  const events = pieces.flatMap((piece) => splitter.feed(piece))
  return { events, rest: splitter.remainder() }
}

test('an event ends at a blank line, whichever way lines end', () => {
  for (const text of [
    'data: a\n\ndata: b\n\n',
    'data: a\r\n\r\ndata: b\r\n\r\n',
    'data: a\r\rdata: b\r\r',
    'data:a\n\r\ndata: b\n\n',
  ])
    expect(split([encode(text)]).events.map((event) => event.data)).toEqual(['a', 'b'])
})

test('several data lines are joined, comments and other fields carry no data', () => {
  const { events } = split([encode(': ping\n\nevent: x\ndata: 1\nid: 7\ndata: 2\n\ndatum: no\n\n')])
  expect(events.map((event) => event.data)).toEqual(['', '1\n2', ''])
})

test('what was cut before its blank line is the remainder', () => {
  const { events, rest } = split([encode('data: a\n\ndata: b')])
  expect(events.length).toBe(1)
  expect(rest?.data).toBe('b')
})

test('cut at any bytes, a stream gives the same events and loses no byte', () => {
  const line = fc.constantFrom(
    'data: {"a":"ü🙂"}',
    'data: [DONE]',
    ': keep-alive',
    'event: message',
    'data:x',
    'data: ',
  )
  const ending = fc.constantFrom('\n', '\r\n')
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.array(line, { minLength: 1, maxLength: 3 }), ending), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.array(fc.nat(400), { maxLength: 12 }),
      (blocks, cuts) => {
        const text = blocks.map(([lines, end]) => lines.map((each) => each + end).join('') + end).join('')
        const bytes = encode(text)
        const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
        const pieces = [...at, bytes.length].map((end, index) => bytes.subarray(at[index - 1] ?? 0, end))
        const whole = split([bytes])
        const cut = split(pieces)
        expect(cut.events.map((event) => event.data)).toEqual(whole.events.map((event) => event.data))
        expect(concat(cut.events.map((event) => event.bytes))).toEqual(bytes)
        expect(cut.rest).toBeUndefined()
      },
    ),
    { numRuns: 1000 },
  )
})

test.each([
  ['one line', '', 'x'.repeat(2_000)],
  ['a line each', '\n', `data: ${'x'.repeat(1_993)}\n`],
  ['a line each, ended by CR LF', '\r\n', `data: ${'x'.repeat(1_992)}\r\n`],
])('an event that comes in very many pieces takes linear time: %s', async (_, lineEnd, text) => {
  const piece = encode(text)
  await mustBeLinear((pieces) => {
    const { events } = split([
      encode(`data: ${lineEnd}`),
      ...Array<Uint8Array>(pieces).fill(piece),
      encode('\n\n'),
    ])
    expect(events.length).toBe(1)
    expect(events[0]?.bytes.length).toBeGreaterThan(pieces * 2_000)
  }, 900)
})

test('an event without end is given up at its bound, and what came of it is the remainder until then', () => {
  const splitter = eventSplitter()
  const piece = encode('x'.repeat(1_000_000))
  splitter.feed(encode('data: '))
  for (let pieces = 0; pieces < 16; pieces++) expect(splitter.feed(piece)).toEqual([])
  expect(splitter.remainder()?.bytes.length).toBe(16_000_006)
  expect(() => splitter.feed(piece)).toThrow('an event of more than')
})
