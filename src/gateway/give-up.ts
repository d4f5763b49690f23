/** Ends a call that comes to nothing: its money is freed and nothing is charged. */
import type { Gateway } from './gateway.ts'
import type { Task } from './task.ts'

const FORGOTTEN_WAIT_MS = 2_000

/**
 * Under an Idempotency-Key the next attempt has the same id, on any process: it is let in when the ledger has forgotten
 * this one, or does not answer.
 */
export const giveUp = async (gateway: Gateway, task: Task): Promise<void> => {
  const forgotten = task.hold.void()
  if (task.keep !== undefined) await Promise.race([forgotten, gateway.clock.sleep(FORGOTTEN_WAIT_MS)])
}
