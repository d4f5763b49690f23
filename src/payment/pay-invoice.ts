/** Pays an invoice from its wallet, waiting for the idle leases that hold the money. */
import type { Clock } from '../core/time.ts'
import type { CreditStore, PayOutcome } from '../store/funding-port.ts'

/** Processes answer a recall with their next heartbeat, a quarter of a second away. */
const WAIT_MS = 300
const TRIES = 8

export const payFromWallet = async (store: CreditStore, clock: Clock, id: string): Promise<PayOutcome> => {
  for (let tries = 1; ; tries++) {
    const outcome = await store.payInvoice({ id, from: 'wallet' })
    if (outcome !== 'leased' || tries === TRIES) return outcome
    await clock.sleep(WAIT_MS)
  }
}
