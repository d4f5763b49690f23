/** Pays an invoice from its wallet, waiting for the idle leases that hold the money. */
import type { Clock } from '../core/time.ts'
import type { CreditStore, PayOutcome } from '../store/funding-port.ts'
import { awaitLeases } from './await-leases.ts'

export const payFromWallet = (store: CreditStore, clock: Clock, id: string): Promise<PayOutcome> =>
  awaitLeases(clock, () => store.payInvoice({ id, from: 'wallet' }))
