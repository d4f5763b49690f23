/** A loan that arrives when its call may no longer be served goes back at once, because others wait for it. */
import { expect, test } from 'bun:test'
import { Refusal, refuse } from '../core/refusal.ts'
import type { Loan } from '../ledger/types.ts'
import { Borrower, type LeaseRequest } from './lease.ts'

const ask: LeaseRequest = {
  keyId: 'k',
  sub: undefined,
  payer: undefined,
  amount: 10n,
  useful: 10n,
  waits: true,
}

for (const [name, borrow] of [
  ['for a call', (borrower: Borrower) => borrower.borrowFor(ask)],
  ['ahead of calls', (borrower: Borrower) => borrower.borrowAhead(ask)],
] as const)
  test(`a loan ${name} that comes while the process drains is given back whole`, async () => {
    const loan = Promise.withResolvers<Loan>()
    const returned: bigint[] = []
    let draining = false
    const borrower = new Borrower(
      {
        store: {
          lend: () => loan.promise,
          giveBack: async (_id, amount) => void returned.push(amount),
        },
        clock: {
          now: () => 0,
          monotonicMs: () => 0,
          sleep: async () => undefined,
          turn: async () => undefined,
        },
        instance: 'i',
        newLeaseId: () => 'i:1',
        draining: () => draining,
        lifeMs: () => 10_000,
        gaveUp: () => false,
        stillRefused: () =>
          draining ? refuse('service_unavailable', 'The server is shutting down.') : undefined,
      },
      { keyId: 'k', sub: undefined, payer: undefined },
    )
    const borrowing = borrow(borrower)
    draining = true
    loan.resolve({ outcome: 'lent', leaseId: 'i:1', grown: 100n, lifeMs: 10_000, tight: false })
    const answer = await borrowing
    expect(answer === undefined || answer instanceof Refusal).toBe(true)
    expect(returned).toEqual([100n])
  })
