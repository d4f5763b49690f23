/** The store's port for jobs: calls of products that outlive their request, each with its money on a lease of its own. */
import type { ResultStyle } from '../../core/call.ts'
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Price } from '../../core/model.ts'
import type { Nano } from '../../core/money.ts'
import type { RefusalCode } from '../../core/refusal.ts'
import type { Instant } from '../../core/time.ts'
import type { Usage } from '../../core/usage.ts'
import type { Bill } from '../../dialects/bill-members.ts'
import type {
  AccountId,
  CallId,
  IdempotencyRef,
  InstanceId,
  LeaseId,
  LoanRefused,
  Settle,
} from '../../ledger/types.ts'
import type { Transcript } from '../../media/transcript.ts'
import type { KeyId, WalletId } from '../../tenancy/key.ts'

export const runStates = ['submitting', 'running', 'done', 'failed', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

/** What the next steps of a job need. Neither its prompt nor other inputs are among it. */
export type RunFacts = {
  /** The vendor's own name of it, as its shape made it. */
  readonly ref: JsonObject
  readonly vendor: string
  /** Whose key at the vendor it was submitted with. */
  readonly deployment: string
  /** The model as the caller named it, and the style in which it is answered. */
  readonly modelName: string
  readonly style: ResultStyle
  readonly price: Price
  readonly most: Usage
  /** How it is paid, for its receipt. */
  readonly payment: Readonly<Record<string, string>>
  readonly requestHash: string
  /** Where its answer is kept for repeats. */
  readonly keep?: IdempotencyRef
}

/** An output as it is kept: of what is stored only its place, since its address is made anew each time it is told. */
export type RunOutput =
  | {
      readonly type: 'image' | 'video' | 'audio' | 'file'
      /** Where the vendor's body names it. */
      readonly at?: readonly (string | number)[]
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'json'; readonly value: Json }

/** What a job delivered, or why nothing came of it. */
export type RunResult =
  | {
      readonly body: JsonObject
      readonly outputs: readonly RunOutput[]
      readonly transcript?: Transcript
      readonly usage: Usage
      readonly bill: Bill
      /** In nano-USD. */
      readonly charged: string
      readonly headers: Readonly<Record<string, string>>
    }
  | {
      readonly error: {
        readonly code: RefusalCode
        readonly message: string
        readonly members?: Readonly<Record<string, string | number | boolean | null>>
      }
    }

export type Run = {
  readonly id: CallId
  readonly keyId: KeyId
  readonly walletId: WalletId
  readonly payer: AccountId
  readonly leaseId: LeaseId
  readonly model: string
  readonly state: RunState
  /** The most it can be charged. */
  readonly hold: Nano
  /** Absent before it runs at its vendor. */
  readonly facts?: RunFacts
  /** In thousandths. */
  readonly progress?: number
  /** Somebody asked to cancel it. */
  readonly cancel: boolean
  readonly owner: InstanceId
  readonly deadline: Instant
  /** Of one that has ended. */
  readonly result?: RunResult
  readonly webhook?: string
  readonly createdAt: Instant
  readonly endedAt?: Instant
}

/** A job that begins: whose it is, and what it may cost. */
export type NewRun = {
  readonly id: CallId
  readonly keyId: KeyId
  readonly walletId: WalletId
  /** The sub-wallet that the call names. */
  readonly sub?: string | undefined
  /** The account that pays, when it is not the key's wallet. */
  readonly payer?: AccountId | undefined
  readonly model: string
  readonly amount: Nano
  /** The smallest charge that would still be of use; see LoanRequest. */
  readonly useful: Nano
  readonly owner: InstanceId
  readonly ownerMs: number
  readonly deadlineMs: number
  /** How many jobs of the key may be open; no limit when absent. */
  readonly openMax?: number | undefined
}

export type RunBegun =
  | { readonly outcome: 'begun' }
  /** There is one of this id, which another process or an earlier attempt began. */
  | { readonly outcome: 'exists' }
  | { readonly outcome: 'too_many' }
  | LoanRefused

/** How a job ends. */
export type RunEnd = {
  readonly state: 'done' | 'failed' | 'cancelled'
  readonly result: RunResult
  /** Charges it; without it the money is freed and nothing is charged. */
  readonly settle?: Pick<Settle, 'charge' | 'excess' | 'detail' | 'answer'>
  /** How long its row is kept. */
  readonly keptMs: number
}

/** What its owner must look at: it may have ended, or somebody wants it cancelled. */
type RunNews = { readonly id: CallId; readonly cancel: boolean }

export type RunStore = {
  /** Lends its money, opens the call and writes the row, in one transaction: there is never one without the others. */
  begin(run: NewRun): Promise<RunBegun>
  /**
   * It runs at its vendor: its owner says what the next steps need. A claim of an Idempotency-Key is the run's from then
   * on. False when it has ended meanwhile.
   */
  began(
    id: CallId,
    it: {
      readonly facts: RunFacts
      readonly webhook?: string | undefined
      readonly ref?: IdempotencyRef | undefined
    },
  ): Promise<boolean>
  /** Nothing came of it: frees the money and forgets it, unless it runs. */
  forget(id: CallId): Promise<void>
  /**
   * Ends it, once: charge, detail, kept answer, row, and the unused money back, in one transaction. Gives how it ended, which
   * another process may have decided before. One whose money was taken away meanwhile ends as `failed`.
   */
  end(id: CallId, end: RunEnd): Promise<Run | undefined>
  /** Keeps an owner's runs for so long, and notes their progress. */
  keep(
    owner: InstanceId,
    it: {
      readonly ids: readonly CallId[]
      readonly lifeMs: number
      readonly progress: readonly { readonly id: CallId; readonly progress: number }[]
    },
  ): Promise<void>
  /** What is new with an owner's runs; each wake is told once. */
  news(owner: InstanceId): Promise<readonly RunNews[]>
  /** Takes open runs whose owner is silent. Another process takes others at the same time. */
  take(owner: InstanceId, it: { readonly lifeMs: number; readonly most: number }): Promise<readonly Run[]>
  /** Leaves an owner's runs to others at once. */
  leave(owner: InstanceId): Promise<void>
  /** Asks for the end of an open run. */
  askCancel(id: CallId): Promise<void>
  /** Says that a run may have ended. */
  wake(id: CallId): Promise<void>
  run(id: CallId): Promise<Run | undefined>
  /** The same, if it is the key's own or that of a key below it; one statement whether it is there or not. */
  runFor(id: CallId, keyId: KeyId): Promise<Run | undefined>
  /** Those of a key, the newest first. */
  runsOf(
    keyId: KeyId,
    it: { readonly states?: readonly RunState[] | undefined; readonly most: number },
  ): Promise<readonly Run[]>
  /** Ended runs whose webhook is due, put off meanwhile; after the last try it is given up. */
  takeWebhooks(most: number): Promise<readonly Run[]>
  webhookSent(id: CallId): Promise<void>
}
