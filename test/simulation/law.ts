/** What histories share: a broken law, the counts of reached states, and the detail of a call where nobody reads it. */
import type { UsageDetail } from '../../src/ledger/types.ts'
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
