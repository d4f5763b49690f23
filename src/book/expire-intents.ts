/**
 * Waits for a commit that end before it does: a call whose intent, or whose charge, has waited too long must not
 * answer.
 */
import type { CallId } from '../ledger/types.ts'
import type { Operation, OperationQueue, SettleOperation } from './operation-queue.ts'

const INTENT_WAIT_MS = 2_000
const SETTLE_WAIT_MS = 2_000

/** Gives up intents that have waited too long; if a settlement was queued and not yet sent, a void takes its place. */
export const expireIntents = (queue: OperationQueue, nowMs: number): void => {
  const givenUp = new Set<CallId>()
  for (const operation of queue.all())
    if (operation.kind === 'intent' && operation.queuedMs < nowMs - INTENT_WAIT_MS) {
      givenUp.add(operation.intent.callId)
      operation.ends.intentEnded(false)
    }
  if (givenUp.size === 0) return
  queue.replaceWaiting((operation) =>
    operation.kind === 'settle' && !operation.safe && givenUp.has(operation.settle.callId)
      ? voidInstead(operation)
      : operation,
  )
}

const voidInstead = ({ settle, queuedMs, ends }: SettleOperation): Operation => {
  ends.dropped()
  return { kind: 'void', callId: settle.callId, queuedMs, done: (before) => ends.done(undefined, before) }
}

/**
 * Tells calls that have waited too long for a charge that it is in doubt: those that no outbox answers for. The charge
 * stays queued: what was delivered is paid for.
 */
export const reportDoubt = (
  queue: OperationQueue,
  nowMs: number,
  needsLedger: (operation: SettleOperation) => boolean,
): void => {
  for (const operation of queue.all())
    if (
      operation.kind === 'settle' &&
      !operation.safe &&
      operation.queuedMs < nowMs - SETTLE_WAIT_MS &&
      needsLedger(operation)
    )
      operation.ends.inDoubt()
}
