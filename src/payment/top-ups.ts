/** Tops wallets up automatically while a server runs: requests due payments from Stripe, and records the outcome. */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import { type Clock, newIdOf } from '../core/time.ts'
import type { DueTopUp, TopUpStore } from '../store/funding/top-up-port.ts'
import type { StripePayments } from './stripe.ts'

const EVERY_MS = 5_000

type TopUpParts = {
  readonly store: TopUpStore
  readonly stripe: StripePayments
  readonly log: Log
}

/** One round. Several servers may do it at once: each payment is one row, requested under its own id. */
export const topUpOnce = async ({ store, stripe, log }: TopUpParts): Promise<void> => {
  const due = await store.dueTopUps({
    newId: () => newIdOf('atu'),
    dailyMax: stripe.topUpDailyMax,
  })
  const settle = async (topUp: DueTopUp): Promise<void> => {
    if (topUp.waitsFor === 'event') {
      log.error(
        'a top-up was paid, but its event has not arrived: does the webhook send payment_intent.succeeded?',
        {
          payment: topUp.id,
        },
      )
      return
    }
    const outcome = await stripe.charge(topUp)
    log.info('a top-up was requested', { payment: topUp.id, outcome, charged: topUp.amount })
    if (outcome !== 'unknown') await store.topUpAnswered(topUp.id, outcome)
  }
  for (const settled of await Promise.allSettled(due.map(settle)))
    if (settled.status === 'rejected')
      log.warn('the answer to a top-up could not be noted; the top-up is requested again', {
        error: messageOf(settled.reason),
      })
}

/** Runs until the returned function is called. */
export const keepToppingUp = (parts: TopUpParts & { clock: Clock; random: () => number }): (() => void) => {
  let stopped = false
  const run = async (): Promise<void> => {
    while (!stopped) {
      await parts.clock.sleep(EVERY_MS * (0.5 + parts.random()))
      if (stopped) return
      await topUpOnce(parts).catch((error: unknown) =>
        parts.log.warn('due top-ups could not be read', { error: messageOf(error) }),
      )
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
