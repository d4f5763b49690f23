/** Calls whose arguments arrive interleaved are written one after the other, whole and complete. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Piece } from '../neutral.ts'
import { toolsInOrder } from './tools-in-order.ts'

const start = (index: number): Piece => ({
  type: 'tool',
  choice: 0,
  index,
  id: `call_${index}`,
  name: `f${index}`,
})
const said = (index: number, text: string): Piece => ({ type: 'arguments', choice: 0, index, text })

/** Reads events that are the numbers of pieces in a list. */
const inOrder = (pieces: readonly Piece[]): readonly Piece[] => {
  const read = toolsInOrder((data) => [pieces[Number(data)]!])
  return pieces.flatMap((_piece, at) => read(String(at)))
}

test('two calls in turns', () => {
  const finish: Piece = { type: 'finish', choice: 0, finish: 'tool_calls' }
  const pieces = [
    start(0),
    start(1),
    said(0, '{"a'),
    said(1, '{"b"'),
    said(0, '":1}'),
    said(1, ':2}'),
    finish,
  ]
  expect(inOrder(pieces)).toEqual([
    start(0),
    said(0, '{"a'),
    said(0, '":1}'),
    start(1),
    said(1, '{"b"'),
    said(1, ':2}'),
    finish,
  ])
})

test('a call in order is passed on at once', () => {
  const read = toolsInOrder((data) => [data === 'start' ? start(0) : said(0, data)])
  expect([read('start'), read('{"a"')]).toEqual([[start(0)], [said(0, '{"a"')]])
})

test('any mixture of calls comes out in blocks, each with all its arguments', () => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string(), fc.string()), { minLength: 1, maxLength: 4 }),
      fc.infiniteStream(fc.nat(3)),
      (calls, turns) => {
        const left = calls.map((args, index) => [
          start(index),
          ...[...JSON.stringify(args)].map((one) => said(index, one)),
        ])
        const pieces: Piece[] = []
        while (left.some((one) => one.length > 0)) {
          const [turn = 0] = turns.take(1)
          // Calls begin in order; their arguments come in any order.
          const open = left.filter(
            (one, at) => one.length > 0 && left.slice(0, at).every(([first]) => first?.type !== 'tool'),
          )
          pieces.push(open[turn % open.length]!.shift()!)
        }
        const out = inOrder([...pieces, { type: 'finish', choice: 0, finish: 'tool_calls' }])
        const texts: string[] = []
        for (const piece of out) {
          if (piece.type === 'tool') texts.push('')
          if (piece.type === 'arguments') {
            expect(piece.index).toBe(texts.length - 1)
            texts[texts.length - 1] += piece.text
          }
        }
        expect(texts.map((text) => JSON.parse(text))).toEqual(
          calls.map((args) => JSON.parse(JSON.stringify(args))),
        )
      },
    ),
  )
})
