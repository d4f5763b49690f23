/** The store's port for jobs: calls of products that outlive their request, each with its money on its own lease. */
import type { ResultStyle } from '../../core/call.ts'
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Price } from '../../core/model.ts'
import type { Nano } from '../../core/money.ts'
import type { Refusal, RefusalCode } from '../../core/refusal.ts'
import type { Instant } from '../../core/time.ts'
import type { Usage } from '../../core/usage.ts'
import type { Bill } from '../../dialects/bill-members.ts'
import type {
  AccountId,
  CallId,
  CallSettle,
  IdempotencyRef,
  InstanceId,
  LeaseId,
  LoanRefused,
} from '../../ledger/types.ts'
import type { Transcript } from '../../media/transcript.ts'
import type { KeyId, WalletId } from '../../tenancy/key.ts'
import type { Tags } from '../../tenancy/tags.ts'

export const runStates = ['submitting', 'running', 'done', 'failed', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

/** What the next steps of a job need. It includes neither the prompt nor other inputs. */
export type RunFacts = {
  /** The vendor's own name for it, as its shape made it. */
  readonly ref: JsonObject
  readonly vendor: string
  /** The deployment that it was submitted with. */
  readonly deployment: string
  /** The model as the caller named it, and the form of its answer. */
  readonly modelName: string
  readonly style: ResultStyle
  readonly price: Price
  /** Where the organisation has keys of its own at the vendor: whose it was submitted with, and the list price of its own. */
  readonly vendorKey?: 'own' | 'house'
  readonly list?: Price | undefined
  readonly most: Usage
  readonly asked?: Usage
  /** How it is paid, for its receipt. */
  readonly payment: Readonly<Record<string, string>>
  readonly requestHash: string
  /** Where its answer is kept for repeats. */
  readonly keep?: IdempotencyRef
  /** The conditions under which it was submitted, and with what they were met. */
  readonly met?: Readonly<Record<string, string>>
  /** All that it is for, and what guardrails found in it. */
  readonly tags?: Tags
  readonly guardrails?: Tags
}

/**
 * An output as it is stored: of a stored asset only its place, because its address is made afresh each time it is
 * shown.
 */
export type RunOutput =
  | {
      readonly type: 'image' | 'video' | 'audio' | 'file'
      /** Where the vendor's body names it. */
      readonly at?: readonly (string | number)[]
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'json'; readonly value: Json }

/** What a job delivered, or why it delivered nothing. */
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
      /** As the answer says it, whose hash the receipt has; absent for jobs of a version before. */
      readonly endedAt?: Instant
    }
  | {
      readonly error: {
        readonly code: RefusalCode
        readonly message: string
        readonly members?: Refusal['members']
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
  /** The most that it can be charged. */
  readonly hold: Nano
  /** Absent before it runs at its vendor. */
  readonly facts?: RunFacts
  /** In thousandths. */
  readonly progress?: number
  /** Somebody asked to cancel it. */
  readonly cancel: boolean
  readonly owner: InstanceId
  readonly deadline: Instant
  /** Only for a job that has ended. */
  readonly result?: RunResult
  readonly webhook?: string
  readonly createdAt: Instant
  readonly endedAt?: Instant
}

/** A job that begins: who it belongs to, and what it may cost. */
export type NewRun = {
  readonly id: CallId
  readonly keyId: KeyId
  readonly walletId: WalletId
  /** The sub-wallet that the call names. */
  readonly sub?: string | undefined
  /** The account that pays, when it is not the key's wallet. */
  readonly payer?: AccountId | undefined
  /** What it is for, of the tags under budget. */
  readonly tags?: string | undefined
  /** It begins only while this voucher is its own. */
  readonly voucher?: string | undefined
  readonly model: string
  readonly amount: Nano
  /** The smallest charge that would still be useful; see LoanRequest. */
  readonly useful: Nano
  /** The same of the vendor's list price, for a job by an own key: held beside it, and counted under caps. */
  readonly list?: { readonly amount: Nano; readonly useful: Nano } | undefined
  readonly owner: InstanceId
  readonly ownerMs: number
  readonly deadlineMs: number
  /** How many jobs the key may have open; no limit when absent. */
  readonly openMax?: number | undefined
}

export type RunBegun =
  | { readonly outcome: 'begun' }
  /** A job with this id exists, begun by another process or an earlier attempt. */
  | { readonly outcome: 'exists' }
  | { readonly outcome: 'too_many' }
  /** `estimated`: what did not fit is what the vendor bills for an own key. */
  | (LoanRefused & { readonly estimated?: true })

/** How a job ends. */
export type RunEnd = {
  readonly state: 'done' | 'failed' | 'cancelled'
  readonly result: RunResult
  /** Charges it; without it the money is freed and nothing is charged. */
  readonly settle?: Pick<CallSettle, 'charge' | 'excess' | 'detail' | 'answer'>
  /** How long its row is kept. */
  readonly keptMs: number
}

/** What its owner must look at: it may have ended, or somebody wants to cancel it. */
type RunNews = { readonly id: CallId; readonly cancel: boolean }

export type RunStore = {
  /** Lends its money, opens the call and writes the row, in one transaction, so that none exists without the others. */
  begin(run: NewRun): Promise<RunBegun>
  /**
   * It runs at its vendor: its owner stores what the next steps need. From now on a claim of an Idempotency-Key belongs
   * to the run. False when it has ended meanwhile.
   */
  began(
    id: CallId,
    it: {
      readonly facts: RunFacts
      readonly webhook?: string | undefined
      readonly ref?: IdempotencyRef | undefined
    },
  ): Promise<boolean>
  /** Nothing came of it: frees the money and deletes the row, unless the job runs. */
  forget(id: CallId): Promise<void>
  /**
   * Ends it, once: charge, detail, stored answer, row, and the return of unused money, in one transaction. Returns how
   * it ended, which another process may have decided earlier. A job whose money was taken away meanwhile ends as
   * `failed`.
   */
  end(id: CallId, end: RunEnd): Promise<Run | undefined>
  /** Keeps an owner's runs for this long, and records their progress. */
  keep(
    owner: InstanceId,
    it: {
      readonly ids: readonly CallId[]
      readonly lifeMs: number
      readonly progress: readonly { readonly id: CallId; readonly progress: number }[]
    },
  ): Promise<void>
  /** What is new about an owner's runs; each wake is reported once. */
  news(owner: InstanceId): Promise<readonly RunNews[]>
  /** Takes open runs whose owner is silent. Another process can take other runs at the same time. */
  take(
    owner: InstanceId,
    it: { readonly lifeMs: number; readonly most: number; readonly except?: readonly CallId[] },
  ): Promise<readonly Run[]>
  /** Leaves an owner's runs, or one of them, to others at once. */
  leave(owner: InstanceId, id?: CallId): Promise<void>
  /** Asks for the end of an open run. */
  askCancel(id: CallId): Promise<void>
  /** Reports that a run may have ended. */
  wake(id: CallId): Promise<void>
  run(id: CallId): Promise<Run | undefined>
  /** The same, if it belongs to the key or a key below it; a single statement, whether it exists or not. */
  runFor(id: CallId, keyId: KeyId): Promise<Run | undefined>
  /** The runs of a key, newest first; those older than `after`. */
  runsOf(
    keyId: KeyId,
    it: {
      readonly states?: readonly RunState[] | undefined
      readonly most: number
      readonly after?: Pick<Run, 'id' | 'createdAt'> | undefined
    },
  ): Promise<readonly Run[]>
  /**
   * Ended runs whose webhook is due, with their next try already set; after the last try it is given up. The wallets take
   * turns; `except` names those that wait.
   */
  takeWebhooks(it: {
    readonly most: number
    readonly ofWallet: number
    readonly except: readonly WalletId[]
  }): Promise<readonly Run[]>
  webhookSent(id: CallId): Promise<void>
}
