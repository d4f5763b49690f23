/** Pays an invoice from its wallet, waiting for idle leases that hold the money. */
import type { Clock } from '../core/time.ts'
import type { CreditStore, PayOutcome } from '../store/funding/funding-port.ts'
import type { Actor } from '../store/people/event-port.ts'
import { awaitLeases } from './await-leases.ts'

export const payFromWallet = (store: CreditStore, clock: Clock, id: string, by: Actor): Promise<PayOutcome> =>
  awaitLeases(clock, () => store.payInvoice({ id, from: 'wallet' }, by))
