/** The comparison that the stand rests on finds each thing that must not be, and nothing else. */
import { expect, test } from 'bun:test'
import { type Charge, findings } from './books.ts'
import type { Seen } from './callers.ts'

const COST = 1_000n
const answered = (callId: string, more: Partial<Seen> = {}): Seen => ({
  ...{ cell: 'c1', status: 200, code: '', complete: true, callId, costNano: COST, repeated: undefined },
  ...{ orderId: callId, beganMs: 0, endedMs: 1 },
  ...more,
})
const refused = (status: number, code: string, more: Partial<Seen> = {}): Seen =>
  answered('', { status, code, complete: false, costNano: undefined, ...more })
const charge = (ref: string, more: Partial<Charge> = {}): Charge => ({
  ...{ ref, amount: COST, note: null, debit: 'w' },
  ...more,
})
const RIGHT = { lost: [], doubled: [], falselyRefused: [] }

test('what is charged once, at what was told, is right, wherever its organisation is now', () => {
  const seen = [answered('a'), answered('b', { repeated: 'n' }), answered('b', { repeated: 'n' })]
  const ledgers = [[charge('a'), charge('b')], [charge('a')]]
  expect(findings(seen, ledgers)).toEqual({ calls: 3, answered: 3, refused: 0, cut: 0, ...RIGHT })
})

test('what is answered and not charged is lost, and so is what is charged at another amount without a reason', () => {
  const ledgers = [[charge('b', { amount: 2n }), charge('c', { amount: 2n, note: 'too late' })], []]
  expect(findings([answered('a'), answered('b'), answered('c')], ledgers).lost).toEqual(['a', 'b'])
})

test('what one ledger charges twice is doubled, and so is a repeat that is another call', () => {
  const seen = [answered('a'), answered('b', { repeated: 'n' }), answered('c', { repeated: 'n' })]
  const ledgers = [[charge('a'), charge('a'), charge('b')], [charge('c')]]
  expect(findings(seen, ledgers).doubled).toEqual(['a', 'b'])
  // Its caller has no whole answer, but its name.
  const cut = answered('d', { complete: false })
  expect(findings([cut], [[charge('d'), charge('d')]])).toMatchObject({ cut: 1, doubled: ['d'] })
})

test('only a fault, or a repeat that comes while the call runs, may be refused', () => {
  const seen = [
    refused(503, 'service_unavailable'),
    refused(0, ''),
    refused(409, 'running', { repeated: 'n' }),
    refused(409, 'running'),
    refused(402, 'insufficient_balance'),
    refused(421, 'moved'),
  ]
  expect(findings(seen, [[]])).toEqual({
    ...{ calls: 6, answered: 0, refused: 1, cut: 1, lost: [], doubled: [] },
    falselyRefused: ['409 running', '402 insufficient_balance', '421 moved'],
  })
})
