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

/**
 * Whether the call has an Idempotency-Key or a payment as its name. While this process is out of touch, a repeat at
 * another process takes it over, runs it again and answers; so only the ledger can say whose answer counts.
 */
export const mayBeRepeated = ({ settle }: SettleOperation): boolean => settle.answer !== undefined

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
 * How far a call is in the batch that is being put together: its intent is in it, its end is, or one of its operations
 * waits for the next batch. A call of which only progress is in the batch has none of these.
 */
type InBatch = 'opens' | 'ends' | 'waits'

/**
 * Whether an operation waits for the next batch, given how far its call is in this one.
 *
 * A commit first opens calls and then ends them. So what comes after a call's end needs a commit of its own: the call is
 * opened again (a repeat under the same id), or settled again, by an abandoned outbox and by a repeat.
 *
 * With `chargeLater` no commit opens and charges the same call. While nobody knows whether a commit was made, a call with
 * a doubtful intent is refused, and one with a doubtful charge is answered from the outbox. With both in doubt it could
 * have neither, and would wait for as long as the ledger is silent.
 */
const mustWait = ({ kind }: Operation, call: InBatch | undefined, chargeLater: boolean): boolean => {
  switch (call) {
    case undefined:
      return false
    case 'opens':
      return chargeLater && kind === 'settle'
    case 'ends':
      return kind === 'intent' || kind === 'settle'
    case 'waits':
      return true
    default:
      return call satisfies never
  }
}

/**
 * Which operations go out together, and which wait for the next commit. Those of one call stay in order. For example,
 * of `intent a, settle a, intent a, intent b` the first two and the last go out, or with `chargeLater` the first and
 * the last.
 */
const nextBatch = (
  queue: readonly Operation[],
  chargeLater: boolean,
): { readonly now: readonly Operation[]; readonly later: readonly Operation[] } => {
  const calls = new Map<CallId, InBatch>()
  const now: Operation[] = []
  const later: Operation[] = []
  let letters = 0
  for (const op of queue) {
    const callId = callOf(op)
    const all = letters + lettersOf(op)
    const tooLong = letters > 0 && all > letters && all > LETTERS_MAX
    if (now.length === BATCH_MAX || tooLong || mustWait(op, calls.get(callId), chargeLater)) {
      calls.set(callId, 'waits')
      later.push(op)
      continue
    }
    letters = all
    if (op.kind === 'intent') calls.set(callId, 'opens')
    if (op.kind === 'settle' || op.kind === 'void') calls.set(callId, 'ends')
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
   * Takes what goes out together; it counts as being committed until `setUnderWay` says otherwise. With `chargeLater` a
   * call that this batch opens is charged in a later one; `mustWait` says why.
   */
  takeBatch(chargeLater: boolean): readonly Operation[] {
    const { now, later } = nextBatch(this.#waiting, chargeLater)
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
