/**
 * What histories share: a broken law, the counts of reached states, the detail of a call where nobody reads it, and where a
 * call stands in the ledger in the end.
 */
import type { UsageDetail } from '../../src/ledger/types.ts'
import type { Store } from '../../src/store/port.ts'
import { EPOCH } from './world.ts'

/** How often a history reached each state; over all seeds every counter must be above zero. */
export type Reached = Map<string, number>

export class LawBroken extends Error {}

export const emptyDetail: UsageDetail = {
  keyId: '',
  model: 'm',
  vendor: 'v',
  usage: { input: 1 },
  estimated: false,
  priceVersion: 't',
  startedAt: EPOCH,
  tookMs: 1,
  firstByteMs: 1,
  ended: 'ok',
}

/** What the caller of a call was told of its charge. */
export type Billed = { readonly callId: string; readonly cost: bigint; readonly payer: string }

/** With all processes gone, what they left is reaped. */
export const recover = async (store: Store): Promise<void> => {
  for (let round = 0; round < 3; round++) await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
}

/**
 * The state of a call in the ledger. A recovered or late charge may be smaller, or the house's: the customer never pays
 * more.
 */
export const standing = async (
  store: Store,
  { callId, cost, payer }: Billed,
): Promise<'exact' | 'recovered' | 'written off' | string> => {
  const posted = await store.ledger.transfersOf(callId)
  const [only] = posted
  if (only === undefined) return 'not billed'
  if (posted.length > 1) return 'billed twice'
  if (only.amount > cost) return `billed ${only.amount} instead of ${cost}`
  if (only.kind === 'writeoff') return 'written off'
  if (only.debit !== payer) return `billed to ${only.debit} instead of ${payer}`
  if (only.amount === cost) return only.note === 'late' ? 'charged late' : 'exact'
  return only.note === 'recovered' ? 'recovered' : `billed ${only.amount} instead of ${cost}`
}

export const fine = ['exact', 'recovered', 'written off', 'charged late']
