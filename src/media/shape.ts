/**
 * How a product that is not chat is asked of its vendor: pure functions from checked inputs to a request, and from the
 * vendor's answers to what they mean. Two flows are enough: one exchange (`once`), or submit, poll and fetch (`job`).
 */
import type { Json, JsonObject } from '../core/json-body.ts'
import type { Nano } from '../core/money.ts'
import type { Usage } from '../core/usage.ts'
import type { Transcript } from './transcript.ts'

/** A part of a multipart form: a field, or a file. */
export type FormPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: MediaBytes; readonly filename: string }

export type MediaBytes = { readonly bytes: Uint8Array; readonly mediaType: string }

/** A request to the vendor, below its base address; the core adds the credential and sends it. */
export type Outgoing = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Begins with a slash; or a whole https address of the vendor's own, where it says itself where to ask next. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?:
    | { readonly json: JsonObject }
    | { readonly form: readonly FormPart[] }
    | { readonly raw: MediaBytes }
}

/** What a vendor answered, read whole. */
export type VendorAnswer = {
  readonly status: number
  readonly header: (name: string) => string | undefined
  readonly bytes: Uint8Array
  /** The parsed body, where it is JSON. */
  readonly json: Json | undefined
}

/** One delivered thing. Media are stored here and given an address of ours. */
export type Output =
  | {
      readonly type: 'image' | 'video' | 'audio' | 'file'
      readonly from:
        | {
            readonly url: string
            /** Fetched with the vendor's key, which goes only to `hosts` of the job's shape; others are fetched without. */
            readonly withKey?: true
          }
        | { readonly base64: string }
        | { readonly bytes: Uint8Array }
      /** Where the answer's body names it: replaced there by our address; a path of member names and indexes. */
      readonly at?: readonly (string | number)[]
      readonly meta?: JsonObject
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'json'; readonly value: Json }

/** The vendor has delivered. */
type Outcome = {
  readonly verdict: 'done'
  readonly outputs: readonly Output[]
  /** The vendor's own result body, as callers get it; base64 media are left out of it. */
  readonly body: JsonObject
  /** Units that the vendor counted; absent, the outputs are measured, or the bound stands. */
  readonly measured?: Usage
  /** What was said, of products that listen. */
  readonly transcript?: Transcript
  /** The vendor's own bill, for the drift alarm. */
  readonly vendorCost?: Nano
}

/** The vendor's filters blocked the inputs or the result. */
type Blocked = { readonly verdict: 'blocked' }

/** The vendor answered that it will not, or could not. */
type Failed = {
  readonly verdict: 'failed'
  /** Whose fault it is: the caller's inputs, or the vendor's. */
  readonly fault: 'inputs' | 'vendor'
  /** The vendor's text, which is cleaned before it is shown. */
  readonly message: string
}

export type Verdict = Outcome | Blocked | Failed

/** The inputs of one call, checked, with defaults filled in. */
export type Inputs = JsonObject

export type OnceShape = {
  readonly flow: 'once'
  /** What a caller is shown of an event of an answer that comes as events, before the answer has ended. */
  readonly preview?: (event: Json) => JsonObject | undefined
  readonly ask: (inputs: Inputs, upstreamName: string) => Outgoing
  /** Reads an answer of any status; undefined leaves a status that is not 2xx to the usual reading of vendors' errors. */
  readonly read: (answer: VendorAnswer, inputs: Inputs) => Verdict | undefined
}

/**
 * The vendor's own name of a job, with what later steps need to ask, read and measure; kept durably while the job runs.
 * Small JSON (at most 4 KiB); never a prompt, an input's bytes or the vendor's key.
 */
type Ref = JsonObject

/** A job as its shape may tell the vendor of it. */
export type JobNames = {
  /** Ours, the same however often it is sent: for vendors that take an own id. */
  readonly id: string
  /** Where the vendor may say that the job has ended: nothing in it is believed, it only wakes the poll. */
  readonly wakeAt?: string
}

/** The job has a name at the vendor. */
type Begun = {
  readonly ref: Ref
  /** What it will cost at most, where the vendor says so: more than our bound is cancelled and fails. */
  readonly vendorCost?: Nano
}

/** One exchange more belongs to this step. */
type Further = { readonly next: Outgoing }

type Pending = {
  readonly pending: true
  /** From 0 to 1. */
  readonly progress?: number
}

/** The vendor says that the job was cancelled. `measured`: what it bills all the same; else as `onCancel` says. */
type Cancelled = { readonly verdict: 'cancelled'; readonly measured?: Usage }

export type JobShape = {
  readonly flow: 'job'
  /**
   * The vendor's own domains, with all below them, such as `bfl.ai`: where its answers name an address to ask or to fetch
   * from with its key, it must be one of these or of the base address. Nothing else ever gets the key.
   */
  readonly hosts?: readonly string[]
  readonly ask: (inputs: Inputs, upstreamName: string, job: JobNames) => Outgoing
  /**
   * Reads the submission's answer of any status; undefined leaves it to the usual reading of vendors' errors. `next` asks
   * further before there is a job (an upload before, a start after): its answer is read with `step` 1, and so on to 4.
   */
  readonly readRef: (
    answer: VendorAnswer,
    it: {
      readonly inputs: Inputs
      readonly upstreamName: string
      readonly job: JobNames
      readonly step: number
    },
  ) => Begun | Further | Verdict | undefined
  readonly poll: (ref: Ref) => Outgoing
  /**
   * Reads the answer to a poll, of any status; undefined is a poll that failed, which ends no job (three times 404 does).
   * `next` asks further, such as for the result: its answer is read with `step` 1, and so on to 4. The inputs are gone by
   * then: what measures belongs into the Ref. Without `measured` pictures are counted, and the rest costs the bound.
   */
  readonly readPoll: (
    answer: VendorAnswer,
    it: { readonly ref: Ref; readonly step: number },
  ) => Pending | Further | Cancelled | Verdict | undefined
  /** Absent where the vendor knows no cancel: such a job runs on and is charged. */
  readonly cancel?: (ref: Ref) => Outgoing
  /** What a cancelled job costs: nothing, or what the vendor bills all the same (the bound, where it does not say). */
  readonly onCancel: 'free' | 'billed'
  /** The least pause between two polls. */
  readonly everyMs: number
  /** How long after its submission a job is given up. */
  readonly deadlineMs: number
}

export type Shape = OnceShape | JobShape
