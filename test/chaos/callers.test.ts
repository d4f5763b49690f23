/** The callers' books must find a false refusal, and never call a right one false. */
import { expect, test } from 'bun:test'
import { CLEARED_MS, openCallerBooks } from './callers.ts'

const CENT = 10_000_000n
const cap = { name: 'cap', room: 100n * CENT }
const wallet = { name: 'wallet', room: 1_000n * CENT }

const scene = () => {
  let time = 1_000_000
  return {
    books: openCallerBooks(() => time),
    pass: (ms: number) => {
      time += ms
    },
  }
}

test('a refusal of what fits is false; what open and unknown calls may cost counts', () => {
  const { books, pass } = scene()
  books.send('open', [cap, wallet], 40n * CENT)
  books.send('unknown', [cap, wallet], 30n * CENT)
  books.lose('unknown', 30n * CENT)
  pass(10_000)
  books.send('fits', [cap, wallet], 30n * CENT)
  books.refused('fits', 30n * CENT, '')
  expect(books.falseRefusals).toHaveLength(1)
  books.end('fits', 0n)
  pass(10_000)
  books.send('too much', [cap, wallet], 31n * CENT)
  books.refused('too much', 31n * CENT, '')
  expect([books.falseRefusals.length, books.refusals()]).toEqual([1, 2])
})

test('what was charged is gone, the rest of a bound is free for calls that are sent after its answer', () => {
  const { books, pass } = scene()
  books.send('first', [cap], 90n * CENT)
  pass(100)
  books.send('meanwhile', [cap], 20n * CENT)
  books.end('first', 10n * CENT)
  pass(100)
  books.refused('meanwhile', 20n * CENT, '')
  expect(books.falseRefusals).toEqual([])
  books.end('meanwhile', 0n)
  pass(100_000)
  books.send('later', [cap], 91n * CENT)
  books.refused('later', 91n * CENT, '')
  expect(books.falseRefusals).toEqual([])
  books.end('later', 0n)
  pass(100_000)
  books.send('fits', [cap], 90n * CENT)
  books.refused('fits', 90n * CENT, '')
  expect(books.falseRefusals).toHaveLength(1)
})

test('a call without an answer holds its bound until a crash is cleared up, and then has cost the most it can', () => {
  const { books, pass } = scene()
  books.send('lost', [cap], 90n * CENT)
  books.lose('lost', 20n * CENT)
  books.send('lost', [cap], 90n * CENT)
  books.end('lost', 0n)
  const ask = (id: string, amount: bigint) => {
    books.send(id, [cap], amount)
    books.refused(id, amount, '')
    books.end(id, 0n)
    return books.falseRefusals.length
  }
  pass(10_000)
  expect(ask('early', 11n * CENT)).toBe(0)
  pass(CLEARED_MS)
  expect(ask('late, too much', 81n * CENT)).toBe(0)
  pass(10_000)
  expect(ask('late', 60n * CENT)).toBe(1)
})

test('a wallet keeps its minimum', () => {
  const { books, pass } = scene()
  const small = { name: 'wallet 2', room: CENT + CENT / 2n }
  books.send('spent', [small], CENT)
  books.end('spent', CENT)
  pass(100_000)
  books.send('cheap', [small], 1_000n)
  books.refused('cheap', 1_000n, '')
  expect(books.falseRefusals).toEqual([])
})
