/** What waits for a commit: the queued operations of calls, those being committed, and the choice of the next batch. */
import type { Nano } from '../core/money.ts'
import type { CallId, Checkpoint, CommitBatch, InstanceId, Intent, Settle } from '../ledger/types.ts'

/** Is told how an intent ended. */
export type IntentEnds = {
  /**
   * Whether the intent is durable: false when it was fenced, or not known to be durable in time. Only the first report
   * counts.
   */
  intentEnded(opened: boolean): void
}

/** Is told how a settlement ended. */
export type SettleEnds = {
  /** The settlement would survive a crash of this process, so the answer may end; the ledger gets it later. */
  kept(): void
  /** The call's intent was given up and the settlement never sent, so the answer must not go out. `done` follows. */
  dropped(): void
  /**
   * The ledger has not answered in time and there is no outbox, so nobody knows whether it is charged. `done` follows.
   */
  inDoubt(): void
  /**
   * The ledger has answered. Without `remaining` the call was not open: nothing was charged, or another attempt was
   * charged for its own answer. `chargedBefore` is what the call had been charged already.
   */
  done(remaining: Nano | undefined, chargedBefore: Nano): void
}

export type SettleOperation = {
  readonly kind: 'settle'
  readonly settle: Settle
  readonly queuedMs: number
  readonly ends: SettleEnds
  /** In the outbox, or finished: nothing is left to keep. */
  safe: boolean
}

export type Operation =
  | SettleOperation
  | {
      readonly kind: 'intent'
      readonly intent: Intent
      readonly queuedMs: number
      readonly ends: IntentEnds
    }
  | {
      readonly kind: 'progress'
      readonly progress: Checkpoint
      readonly queuedMs: number
      readonly done: (extended: boolean) => void
    }
  | {
      readonly kind: 'void'
      readonly callId: CallId
      readonly queuedMs: number
      readonly done: (chargedBefore: Nano) => void
    }

/** With this many there is no need to wait for more. */
const BATCH_ENOUGH = 256
/** What arrived while a slow ledger took the last batch is sent together, up to this many. */
const BATCH_MAX = 1_024
/**
 * Kept answers of a commit have no more letters than this together, unless one alone has: each is in memory several
 * times while it is written, and databases bound the length of what one statement brings.
 */
const LETTERS_MAX = 4 * 1024 * 1024

const lettersOf = (op: Operation): number =>
  op.kind === 'settle' ? (op.settle.answer?.answer.body.length ?? 0) : 0

/**
 * Which operations go out together, and which wait for the next commit. A commit opens calls before it settles and
 * voids calls. So a call that ends and is opened again (a repeat under the same id) takes two commits, and so does one
 * that is settled twice, by an abandoned outbox and by a repeat.
 *
 * `apart`: no call is opened and charged in one commit. While nobody knows whether a commit was made, a call with a
 * doubtful intent is refused, and one with a doubtful charge is answered from the outbox. With both in doubt it could
 * have neither, and would wait for as long as the ledger is silent.
 */
const nextBatch = (
  queue: readonly Operation[],
  apart: boolean,
): { readonly now: readonly Operation[]; readonly later: readonly Operation[] } => {
  const opened = new Set<CallId>()
  const ended = new Set<CallId>()
  /** Operations of these calls stay in order. */
  const late = new Set<CallId>()
  const now: Operation[] = []
  const later: Operation[] = []
  let letters = 0
  for (const op of queue) {
    const callId = callOf(op)
    const all = letters + lettersOf(op)
    const tooLong = letters > 0 && all > letters && all > LETTERS_MAX
    const again = ended.has(callId) && (op.kind === 'intent' || op.kind === 'settle')
    const tooSoon = apart && op.kind === 'settle' && opened.has(callId)
    if (now.length === BATCH_MAX || late.has(callId) || again || tooSoon || tooLong) {
      late.add(callId)
      later.push(op)
      continue
    }
    letters = all
    if (op.kind === 'intent') opened.add(callId)
    if (op.kind === 'settle' || op.kind === 'void') ended.add(callId)
    now.push(op)
  }
  return { now, later }
}

const callOf = (op: Operation): CallId => {
  switch (op.kind) {
    case 'intent':
      return op.intent.callId
    case 'progress':
      return op.progress.callId
    case 'settle':
      return op.settle.callId
    case 'void':
      return op.callId
    default:
      return op satisfies never
  }
}

export const batchOf = (instance: InstanceId, ops: readonly Operation[]): CommitBatch => {
  const intents: Intent[] = []
  const progress: Checkpoint[] = []
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

export class OperationQueue {
  #waiting: Operation[] = []
  #underWay: readonly Operation[] = []

  add(operation: Operation): void {
    this.#waiting.push(operation)
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Whether waiting for more gains nothing. */
  get hasEnough(): boolean {
    return this.#waiting.length >= BATCH_ENOUGH
  }

  /** The number of all operations, including those being committed. */
  get length(): number {
    return this.#waiting.length + this.#underWay.length
  }

  /** When the oldest of all arrived, in monotonic milliseconds; undefined when there is none. */
  get oldestMs(): number | undefined {
    return (this.#underWay[0] ?? this.#waiting[0])?.queuedMs
  }

  all(): readonly Operation[] {
    return [...this.#underWay, ...this.#waiting]
  }

  /**
   * Takes what goes out together; it counts as being committed until `setUnderWay` says otherwise. For `apart` see
   * `nextBatch`.
   */
  takeBatch(apart: boolean): readonly Operation[] {
    const { now, later } = nextBatch(this.#waiting, apart)
    this.#underWay = now
    this.#waiting = [...later]
    return this.#underWay
  }

  setUnderWay(operations: readonly Operation[]): void {
    this.#underWay = operations
  }

  /** Replaces operations that were not sent yet. */
  replaceWaiting(change: (operation: Operation) => Operation): void {
    this.#waiting = this.#waiting.map(change)
  }

  /** Removes operations that must not be sent. */
  withdraw(which: (operation: Operation) => boolean): readonly Operation[] {
    const withdrawn = this.#waiting.filter(which)
    if (withdrawn.length > 0) this.#waiting = this.#waiting.filter((each) => !which(each))
    return withdrawn
  }
}
