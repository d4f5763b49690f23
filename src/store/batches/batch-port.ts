/** The store's port for batches: lines are calls of their own, whose money the batch holds until they are sent. */
import type { Json } from '../../core/json-body.ts'
import type { Nano } from '../../core/money.ts'
import type { Instant, Month } from '../../core/time.ts'
import type { AccountId, CallId, CallSettle, InstanceId, LoanRefused } from '../../ledger/types.ts'
import type { Condition } from '../../tenancy/conditions.ts'
import type { KeyId, WalletId } from '../../tenancy/key.ts'
import type { AssetId } from '../calls/asset-port.ts'
import type { NewEvent } from '../people/event-port.ts'

/** The form of API in which a batch is made and read. */
export const batchForms = ['openai', 'anthropic', 'gemini'] as const
export type BatchForm = (typeof batchForms)[number]

export const batchStates = ['validating', 'in_progress', 'finalizing', 'ended'] as const

/** What happens if not all lines fit what the key may spend: nothing runs, or as many as fit. */
export const onCaps = ['refuse', 'run_what_fits'] as const
type OnCap = (typeof onCaps)[number]

/** What its caller said, as its form needs it. */
export type AskedOfBatch = {
  /** Where each line would be sent as a call of its own. */
  readonly endpoint: string
  readonly metadata?: Json
  /** The file that its caller named; else its lines came with the request. */
  readonly fileId?: string
  /** The model of all lines, where the address names it. */
  readonly model?: string
  readonly displayName?: string
  /** The value of `anthropic-beta`. */
  readonly beta?: string
  readonly mode: 'wallet' | 'mpp'
  /** The conditions under which its lines are run, beside those of its key. */
  readonly requires?: readonly Condition[]
  /** A digest of lines that came with the request. */
  readonly lines?: string
}

/** How many lines there are, and where they stand. */
type BatchCounts = {
  readonly total: number
  readonly waiting: number
  readonly sent: number
  readonly succeeded: number
  readonly errored: number
  /** Never sent: `stop` of the batch says why. */
  readonly stopped: number
}

export type Batch = BatchCounts & {
  readonly id: string
  readonly form: BatchForm
  readonly keyId: KeyId
  readonly walletId: WalletId
  readonly sub?: string
  readonly payer: AccountId
  readonly onCap: OnCap
  readonly asked: AskedOfBatch
  readonly input: AssetId
  readonly output?: AssetId
  readonly errors?: AssetId
  readonly state: (typeof batchStates)[number]
  readonly stop?: string
  readonly charged: Nano
  readonly inputTokens: number
  readonly outputTokens: number
  /** Of the former, those that vendors read from their caches; of the latter, those of thoughts. */
  readonly cachedTokens: number
  readonly reasoningTokens: number
  readonly cancelAt?: Instant
  readonly webhook?: string
  readonly createdAt: Instant
  readonly expiresAt: Instant
  readonly endedAt?: Instant
}

/** A batch, when that was read, a time of the ledger; and whether its organisation is about to leave for another cell. */
export type TendedBatch = Batch & { readonly now: Instant; readonly leaves: boolean }

export type NewBatch = Pick<
  Batch,
  'id' | 'form' | 'keyId' | 'walletId' | 'payer' | 'onCap' | 'asked' | 'input'
> & {
  readonly sub?: string | undefined
  readonly webhook?: string | undefined
  readonly owner: InstanceId
  readonly ownerMs: number
  /** How long its lines may wait. */
  readonly lifeMs: number
}

/** A line where it is in the input, with the most that it can cost. */
export type NewLine = {
  readonly n: number
  readonly customId: string
  readonly at: number
  readonly bytes: number
  readonly bound: Nano
  /** How a vendor runs it in its own batch; empty if it is run here. */
  readonly route: string
}

/** Lines of a batch that a vendor has in a batch of its own, under `ref` once that is known. */
export type BatchPart = {
  readonly id: string
  readonly route: string
  /** The vendor's key that it was submitted with. */
  readonly deployment: string
  readonly ref?: string
}

/** A line that is sent now, as the call `callId`. */
export type SentLine = NewLine & {
  readonly callId: CallId
  readonly tries: number
  /** The month that its charge counts in: the one in which its money was held. Absent if that was taken away. */
  readonly month?: Month
}

export type LineResult = {
  readonly n: number
  readonly customId: string
  readonly state: 'succeeded' | 'errored' | 'stopped'
  readonly callId?: CallId
  readonly result?: string
  readonly receipt?: string
}

/** How the present try of a line ends. Only the try that has the line open ends it. */
export type LineEnd = { readonly n: number; readonly callId: CallId } & (
  | {
      readonly state: 'succeeded'
      readonly settle: Pick<CallSettle, 'charge' | 'excess' | 'detail'>
      readonly result: string
      readonly receipt: string | undefined
    }
  | { readonly state: 'errored'; readonly result: string }
  /** It is sent again, after a pause. */
  | { readonly state: 'waiting'; readonly pauseMs: number }
)

/** The next lines to send; none while those that wait have a pause, or no money. */
export type TakenLines = {
  readonly lines: readonly SentLine[]
  readonly waiting: number
  readonly sent: number
  /** Why there is no money for the next line; what others hold, without the batch itself. */
  readonly refused?: LoanRefused
}

export type BatchStore = {
  /** Writes its row. Nothing is held before `begin`. */
  open(it: NewBatch, openMax: number): Promise<'opened' | 'exists' | 'too_many'>
  /**
   * Writes lines of a batch that its owner still reads, and says whether it did: another process gives it up when its own is not
   * heard of, and may then have begun it anew.
   */
  addLines(id: string, owner: InstanceId, lines: readonly NewLine[]): Promise<boolean>
  /** Holds the money of all lines, or of as many as fit, and lets it run; in one transaction. */
  begin(id: string, owner: InstanceId): Promise<{ readonly outcome: 'begun' } | LoanRefused>
  /** Forgets a batch that has not begun. */
  drop(id: string, owner: InstanceId): Promise<void>
  /**
   * Keeps an owner's batches, takes those whose owner is silent, unless their organisation is elsewhere or about to leave, and
   * returns both. Lines that waited too long expire.
   */
  tend(owner: InstanceId, ownerMs: number): Promise<readonly TendedBatch[]>
  /** Nobody runs a batch that is about to leave: it goes along with its organisation, or is taken by whoever finds it here. */
  letGo(id: string, owner: InstanceId): Promise<void>
  /** Leaves an owner's batches to others at once. */
  leave(owner: InstanceId): Promise<void>
  /** Opens the calls of the next lines under these ids. Undefined if the batch is no longer the owner's, or about to leave. */
  take(
    id: string,
    it: {
      readonly owner: InstanceId
      readonly callIds: readonly CallId[]
      /** Only lines that go this way. */
      readonly route: string
      /** The part that they are in, and the most bytes that it may have; absent for lines that are run here. */
      readonly part?: Pick<BatchPart, 'id' | 'deployment'> & { readonly bytesMost: number }
    },
  ): Promise<TakenLines | undefined>
  /** The ways that its lines go. */
  routes(id: string): Promise<readonly string[]>
  /** Its parts that have not ended. */
  parts(id: string): Promise<readonly BatchPart[]>
  /** The vendor has named a part; false if it has ended, or is another cell's. */
  namePart(id: string, ref: string): Promise<boolean>
  /** The lines of a part that have not ended. */
  partLines(id: string): Promise<readonly SentLine[]>
  /** Forgets a part, unless one of its lines has not ended. */
  endPart(id: string): Promise<void>
  /** Lines that are run here, whose calls were opened and have not ended. */
  sentLines(id: string): Promise<readonly Pick<SentLine, 'n' | 'callId' | 'tries'>[]>
  /** Ends tries: charge, detail and result in one transaction. Returns the calls that were ended. */
  end(id: string, ends: readonly LineEnd[]): Promise<ReadonlySet<CallId>>
  /** Ends tries and opens the next lines, whose money the batch holds already: one transaction instead of two. */
  endAndTake(
    id: string,
    ends: readonly LineEnd[],
    next: { readonly owner: InstanceId; readonly callIds: readonly CallId[]; readonly route: string },
  ): Promise<{ readonly ended: ReadonlySet<CallId>; readonly taken: TakenLines | undefined }>
  /** Lines that were not sent never are, for this reason; the first reason stays. */
  stop(id: string, why: string): Promise<void>
  /** All lines have ended: gives back all money. False while they have not. */
  release(id: string, owner: InstanceId): Promise<boolean>
  /** The results from the line after `after` on. */
  results(id: string, after: number, most: number): Promise<readonly LineResult[]>
  /** Its files are written. */
  finish(
    id: string,
    it: {
      readonly output?: AssetId | undefined
      readonly errors?: AssetId | undefined
      readonly keptMs: number
    },
  ): Promise<void>
  /** Forgets results behind the line `after`, which are in the files; returns the last of these lines, if there are more. */
  forget(id: string, after: number, most: number): Promise<number | undefined>
  /** The batch, if it belongs to the key or a key below it. */
  batchFor(id: string, keyId: KeyId): Promise<Batch | undefined>
  /** The newest first, of the key and keys below it; `after` is the last of the page before. */
  list(
    keyId: KeyId,
    it: { readonly form?: BatchForm | undefined; readonly after?: string | undefined; readonly most: number },
  ): Promise<readonly Batch[]>
  /**
   * Lines that were not sent never are; those that were end as they do. It leaves an event. False if it was cancelled
   * already, or has no line left.
   */
  cancel(id: string, by: Pick<NewEvent, 'actor' | 'subject'>): Promise<boolean>
  /** Deletes a batch that has ended. */
  remove(id: string): Promise<boolean>
  /** Ended batches whose webhook is due, with the next try already set. */
  takeWebhooks(most: number): Promise<readonly Batch[]>
  webhookSent(id: string): Promise<void>
}
