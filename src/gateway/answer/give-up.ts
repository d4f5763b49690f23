/** Ends a call that comes to nothing: frees its money, and charges nothing except what a vendor bills all the same. */
import { bodyHash } from '../../receipts/claims.ts'
import { CallerGone } from '../ask/attempt.ts'
import { chargedOf, detailOf, meter } from '../ask/bill.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'

const FORGOTTEN_WAIT_MS = 2_000

export const NOTHING_SENT = { hash: () => bodyHash(new Uint8Array()) }

/**
 * Under an Idempotency-Key the next attempt has the same id, on any process. It may start once the ledger has forgotten
 * this attempt, or if the ledger does not answer.
 */
export const giveUp = async (gateway: Gateway, task: Task): Promise<void> => {
  const forgotten = task.hold.void()
  if (task.keep !== undefined) await Promise.race([forgotten, gateway.clock.sleep(FORGOTTEN_WAIT_MS)])
}

/**
 * Ends a call that threw before anything was delivered. A caller that hangs up while a vendor works on the request pays
 * for the input, because the vendor has read it and bills it.
 */
export const endUnheard = async (gateway: Gateway, task: Task, thrown: unknown): Promise<void> => {
  if (!(thrown instanceof CallerGone) || !thrown.billed) return giveUp(gateway, task)
  const metered = meter(task, { reported: undefined, whole: false, delivered: { letters: 0, events: 0 } })
  const detail = detailOf(gateway, task, metered, 'client_gone', NOTHING_SENT)
  try {
    await task.hold.settle(metered.cost, detail)
    task.trace.charged = chargedOf(task, metered)
    task.trace.usage = metered.usage
  } catch (fault) {
    // Its intent was not durable, so nothing is charged, and nobody waits for an answer.
    gateway.log.warn('a call without a caller was not charged', {
      call: task.trace.callId,
      error: String(fault),
    })
  }
}
