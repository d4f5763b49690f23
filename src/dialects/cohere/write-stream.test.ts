/** A source of Cohere's stream names the block in which its text stands, whatever was thought since. */
import { expect, test } from 'bun:test'
import { context, streamOf } from '../../../test/dialects/steps.ts'
import type { Piece } from '../neutral.ts'
import { cohereStreamWriter } from './write-stream.ts'

const bytesOf = (steps: readonly Piece[]): string =>
  new TextDecoder().decode(streamOf(steps, cohereStreamWriter(context())))

/** The deltas of the events of a type, in their order. */
const messagesOf = (stream: string, type: string) =>
  stream
    .split('\n')
    .filter((line) => line.startsWith(`data: {"type":"${type}"`))
    .map((line) => JSON.parse(line.slice('data: '.length)))

test('a source stands in the block of its own text, and is counted from there', () => {
  const cited = (from: number, to: number): Piece => ({
    type: 'citation',
    choice: 0,
    citation: { url: 'https://example.com', title: 'a lake', from, to },
  })
  const stream = bytesOf([
    { type: 'start', id: 'one' },
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'Deep. ' },
    { type: 'thinking', text: 'and' },
    cited(0, 4),
    { type: 'text', text: 'Cold water.' },
    cited(6, 10),
    { type: 'thinking', text: 'so' },
    cited(11, 16),
    { type: 'finish', finish: 'stop' },
  ] as Piece[])
  const blocks: string[] = []
  for (const { index, delta } of messagesOf(stream, 'content-delta'))
    blocks[index] = (blocks[index] ?? '') + (delta.message.content.text ?? '')
  const sources = messagesOf(stream, 'citation-start').map(({ delta }) => delta.message.citations)
  expect(sources.map(({ text }) => text)).toEqual(['Deep', 'Cold', 'water'])
  for (const { content_index, start, end, text } of sources)
    expect(blocks[content_index]?.slice(start, end)).toBe(text)
})
