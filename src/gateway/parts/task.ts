/** An admitted call: its money is held; what remains is to ask, meter and settle. */
import type { Ceiling } from '../../admission/ceiling.ts'
import type { Hold } from '../../book/contract.ts'
import type { Call } from '../../core/call.ts'
import type { Json } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { KeptAnswer } from '../../dialects/bill-members.ts'
import type { KeptForm } from '../../dialects/kept-form.ts'
import type { AnswerGuard } from '../../guardrails/answer-guard.ts'
import type { AccountId } from '../../ledger/types.ts'
import type { PaymentMode } from '../../payment/funding.ts'
import type { Key } from '../../tenancy/key.ts'
import type { Keep } from './recording.ts'
import type { OnSocket } from './socket-memory.ts'
import type { Trace } from './trace.ts'

/** How a call is paid for, as its receipt states it. */
export type PaymentFacts = { readonly mode: PaymentMode } & Readonly<Record<string, string>>

/**
 * How an answer is kept. The payer of a kept answer may have authorised the money beforehand: `collect` takes it once
 * the call is charged, before the end of the answer goes out, and returns the reason if it did not come. Only a kept
 * answer is ever collected for: if the process dies between charge and collection, the payer's next attempt gets the
 * answer.
 */
type CollectingKeep = Keep & { readonly collect?: () => Promise<Refusal | undefined> }

/** What to keep of a call once it is answered. */
export type Memory = KeptAnswer & {
  readonly form: KeptForm
  /** Keeps the response whose object or event is in the text. */
  readonly keep: (answer: string) => Promise<void>
  /** The socket of the client, if the request came on one. */
  readonly socket?: OnSocket
  /** It is answered in the background: its caller asks for it later. */
  readonly background?: Background
}

export type Background = {
  /** Whether its events are kept too. */
  readonly stream: boolean
  /** Stops it; the connection of its caller does not. */
  readonly stop: AbortController
  /** The request's own items, and the response that it continues. */
  readonly own: readonly Json[]
  readonly previous: string | undefined
}

/** What is needed to charge a call. */
export type Billed = Pick<Task, 'payer' | 'payment' | 'outputBound' | 'requestHash'> & {
  readonly key: Pick<Key, 'id' | 'walletId' | 'terms'>
  readonly model: Pick<Model, 'id' | 'vendor'>
  readonly hold: Pick<Hold, 'amount'>
  readonly trace: Pick<
    Trace,
    'callId' | 'startedMs' | 'vendor' | 'firstByteMs' | 'tries' | 'tags' | 'guardrails' | 'met'
  >
}

export type Task = {
  readonly key: Key
  readonly call: Call
  /** Fingerprint of the body as the caller sent it. */
  readonly requestHash: () => string
  readonly payment: PaymentFacts
  /** The account that pays when it is not the key's wallet. */
  readonly payer: AccountId | undefined
  readonly model: Model
  readonly trace: Trace
  readonly hold: Hold
  /** The caller's ceiling on the cost. */
  readonly limit: Ceiling
  /** The output bound to send to the vendor; undefined leaves the caller's own, or none. */
  readonly outputBound: number | undefined
  /** Output tokens, over all choices: those that the hold covers at the start, and those the call may have in all. */
  readonly heldOutput: number
  readonly fullOutput: number
  /** Keeps the answer for later requests that name it, if its caller asked for that. */
  readonly memory?: Memory | undefined
  /** Where the answer is kept for repeats, and the payment still to be collected for it; see Keep. */
  readonly keep: CollectingKeep | undefined
  readonly signal: AbortSignal
  /** Looks through the answer; absent if no rule asks for that. */
  readonly guard?: AnswerGuard | undefined
}
