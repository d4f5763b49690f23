/** Calls of long ago, under the test's own clock, with ids that grow with time as real ones do. */
import type { UsageDetail } from '../../src/ledger/types.ts'
import type { Store } from '../../src/store/port.ts'
import { batchOf, CENT, detailFor } from './world.ts'

/** 1,000 tokens in at 10 nano-USD, and 100 cached ones at 1, come to 10,100 nano-USD. */
const COST = 10_100n

const detail = (model: string): UsageDetail =>
  detailFor('k', {
    model,
    usage: { input: 1_000, cache_read: 100 },
    cacheSaved: '900',
    receipt: {
      prices: { input: 10_000, cache_read: 1_000 },
      authorized: CENT,
      payment: { mode: 'wallet' },
      requestHash: 'a',
      responseHash: 'b',
    },
  })

let serial = 0
/** The id of a call that began then. */
const idAt = (at: number): string => {
  const time = at.toString(16).padStart(12, '0')
  const tail = (++serial).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7abc-8def-${tail}`
}

/** Makes calls of the key `k` on the wallet `w` in a store whose clock is set by `at`. */
export const oldCalls = (store: Store, clock: { at: number }) => {
  const open = async () => {
    const id = idAt(clock.at)
    const ask = {
      instance: 'i',
      keyId: 'k',
      leaseId: `l-${id}`,
      need: CENT,
      want: CENT,
      useful: 1n,
      ttlMs: 10_000,
    }
    const loan = await store.ledger.lend(ask)
    if (loan.outcome !== 'lent') throw new Error(loan.outcome)
    await store.ledger.commit(batchOf('i', { intents: [{ callId: id, leaseId: loan.leaseId, hold: CENT }] }))
    return { callId: id, leaseId: loan.leaseId }
  }
  const settle = (it: Awaited<ReturnType<typeof open>>, model: string) =>
    store.ledger.commit(
      batchOf('i', { settles: [{ ...it, payer: 'w', charge: COST, excess: 0n, detail: detail(model) }] }),
    )
  /** Ends the leases whose time is over. */
  const reap = async () => {
    clock.at += 60_000
    for (let round = 0; round < 2; round++) await store.ledger.reap({ graceMs: 1_000, longestCallMs: 30_000 })
  }
  return {
    open,
    settle,
    reap,
    /** One call from its start to its charge. */
    call: async (at: number, model: string): Promise<string> => {
      clock.at = at
      const opened = await open()
      await settle(opened, model)
      await reap()
      return opened.callId
    },
  }
}
