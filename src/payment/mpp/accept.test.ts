/** `Accept-Payment`: filtered, ordered by weight, the most exact range counts. */
import { expect, test } from 'bun:test'
import { preferred } from './accept.ts'

const all = [
  { method: 'evm', intent: 'charge', request: 'a' },
  { method: 'stripe', intent: 'charge', request: 'b' },
  { method: 'evm', intent: 'session', request: 'c' },
]

test.each([
  [undefined, 'abc'],
  ['evm/charge', 'a'],
  ['stripe/charge, evm/charge;q=0.5', 'ba'],
  ['evm/*', 'ac'],
  ['*/charge; q=0.1, stripe/charge', 'ba'],
  ['evm/*, evm/session;q=0', 'a'],
  ['*/session;q=1.000, evm/*;q=0.5', 'ac'],
  ['tempo/charge', 'abc'],
  ['evm/charge;q=0', 'abc'],
  ['evm', 'abc'],
  ['evm/charge;q=2', 'abc'],
  ['evm/charge,'.repeat(200), 'abc'],
])('%s', (header, expected) => {
  expect(
    preferred(all, header)
      .map(({ request }) => request)
      .join(''),
  ).toBe(expected)
})
