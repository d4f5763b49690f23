/** What waits for a commit: the operations of calls, how many of them go together, and as what batch. */
import type { Nano } from '../core/money.ts'
import type { CallId, FlushBatch, InstanceId, Intent, Progress, Settle } from '../ledger/words.ts'

export type SettleEnds = {
  /** The settlement would survive a crash of this process, so the answer may end; the ledger has it later. */
  readonly kept: () => void
  /** The call's intent was given up and the settlement never sent: the answer must not go out. `done` follows. */
  readonly dropped: () => void
  /**
   * The ledger has answered; `remaining` undefined: the call was not open, so nothing was charged, or another attempt
   * was charged for its own answer. `chargedBefore`: what the call had been charged already.
   */
  readonly done: (remaining: Nano | undefined, chargedBefore: Nano) => void
}

export type SettleOp = {
  readonly kind: 'settle'
  readonly settle: Settle
  readonly queuedMs: number
  readonly ends: SettleEnds
  /** In the journal, or concluded: nothing is left to keep. */
  safe: boolean
}

export type Op =
  | SettleOp
  | {
      readonly kind: 'intent'
      readonly intent: Intent
      readonly queuedMs: number
      readonly done: (opened: boolean) => void
    }
  | {
      readonly kind: 'progress'
      readonly progress: Progress
      readonly queuedMs: number
      readonly done: (extended: boolean) => void
    }
  | {
      readonly kind: 'void'
      readonly callId: CallId
      readonly queuedMs: number
      readonly done: (chargedBefore: Nano) => void
    }

const BATCH_MAX = 256

/**
 * How many operations go out together. A flush opens calls before it settles and voids calls, so a call that ends and is
 * opened again (a repeat under the same id) takes two flushes; and so does one that is settled twice, by a journal that
 * was left and by a repeat.
 */
export const batchLength = (queue: readonly Op[]): number => {
  const ended = new Set<CallId>()
  for (const [index, op] of queue.entries()) {
    if (index === BATCH_MAX) return index
    if (op.kind === 'intent' && ended.has(op.intent.callId)) return index
    if (op.kind === 'settle' && ended.has(op.settle.callId)) return index
    if (op.kind === 'void') ended.add(op.callId)
    if (op.kind === 'settle') ended.add(op.settle.callId)
  }
  return queue.length
}

export const batchOf = (instance: InstanceId, ops: readonly Op[]): FlushBatch => {
  const intents: Intent[] = []
  const progress: Progress[] = []
  const settles: Settle[] = []
  const voids: CallId[] = []
  for (const op of ops)
    switch (op.kind) {
      case 'intent':
        intents.push(op.intent)
        break
      case 'progress':
        progress.push(op.progress)
        break
      case 'settle':
        settles.push(op.settle)
        break
      case 'void':
        voids.push(op.callId)
        break
      default:
        op satisfies never
    }
  return { instance, intents, progress, settles, voids }
}
