/**
 * How to ask a vendor for a product that is not chat: pure functions from checked inputs to a request, and from the
 * vendor's answers to their meaning. Two flows suffice: one exchange (`once`), or submit, poll and fetch (`job`).
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

/** A request to the vendor, relative to its base address; the core adds the credential and sends it. */
export type Outgoing = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Begins with a slash; or a whole https address of the vendor's own, if the vendor says where to ask next. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** The only host that a whole address may have which the vendor has signed; it is asked without the vendor's key. */
  readonly signedAt?: string
  /** Set for a path in the storage that the vendor's batches read and write, which has its own address and credential. */
  readonly inBucket?: true
  readonly body?:
    | { readonly json: JsonObject }
    | { readonly form: readonly FormPart[] }
    | { readonly raw: MediaBytes }
}

/** A vendor's answer, read whole. */
export type VendorAnswer = {
  readonly status: number
  readonly header: (name: string) => string | undefined
  readonly bytes: Uint8Array
  /** The parsed body, if it is JSON. */
  readonly json: Json | undefined
}

/** One delivered result. Media are stored here and get an address of ours. */
export type Output =
  | {
      readonly type: 'image' | 'video' | 'audio' | 'file'
      readonly from:
        | {
            readonly url: string
            /**
             * Fetched with the vendor's key, which is only sent to `hosts` of the job's shape; other addresses are
             * fetched without it.
             */
            readonly withKey?: true
          }
        | { readonly base64: string }
        | {
            readonly bytes: Uint8Array
            /** Set for bytes that begin in no way of their own, such as raw samples; others are known by how they begin. */
            readonly kind?: { readonly mediaType: string; readonly extension: string }
          }
      /**
       * Where the answer's body names it, as a path of member names and indexes; our address replaces the vendor's
       * there.
       */
      readonly at?: readonly (string | number)[]
      readonly meta?: JsonObject
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'json'; readonly value: Json }

/** The vendor has delivered. */
export type Done = {
  readonly verdict: 'done'
  readonly outputs: readonly Output[]
  /** The vendor's own result body, as callers get it, without base64 media. */
  readonly body: JsonObject
  /** Units that the vendor counted; if absent, the outputs are measured, or the maximum is charged. */
  readonly measured?: Usage
  /** The transcript, for products that listen. */
  readonly transcript?: Transcript
  /** The vendor's own bill, for the drift alarm. */
  readonly vendorCost?: Nano
}

/** The vendor's filters blocked the inputs or the result. */
type Blocked = { readonly verdict: 'blocked' }

/** The vendor answered that it will not or could not do it. */
type Failed = {
  readonly verdict: 'failed'
  /** Whose fault it is: the caller's inputs, or the vendor's. */
  readonly fault: 'inputs' | 'vendor'
  /** The vendor's text, which is cleaned before callers see it. */
  readonly message: string
}

export type Verdict = Done | Blocked | Failed

/** The inputs of one call, checked, with their defaults. */
export type Inputs = JsonObject

export type OnceShape = {
  readonly flow: 'once'
  /** What a caller sees of each event, before an answer that comes as events has ended. */
  readonly preview?: (event: Json) => JsonObject | undefined
  readonly ask: (inputs: Inputs, upstreamName: string) => Outgoing
  /**
   * Reads an answer of any status; undefined leaves a status other than 2xx to the usual reading of vendors' errors.
   */
  readonly read: (answer: VendorAnswer, inputs: Inputs) => Verdict | undefined
}

/**
 * The vendor's own name for a job, with what later steps need in order to ask, read and measure; stored durably while
 * the job runs. Small JSON (at most 4 KiB); never a prompt, an input's bytes or the vendor's key.
 */
type Ref = JsonObject

/** A job, as its shape may describe it to the vendor. */
export type JobNames = {
  /** Our id, the same however often it is sent, for vendors that accept one. */
  readonly id: string
  /** Where the vendor may report that the job has ended. The report is not trusted: it only wakes the poll. */
  readonly wakeAt?: string
}

/** The vendor has accepted the job and named it. */
type Begun = {
  readonly ref: Ref
  /** The most it will cost, if the vendor says so: a job above our maximum is cancelled and fails. */
  readonly vendorCost?: Nano
}

/** This step needs one more exchange. */
type Further = { readonly next: Outgoing }

type Pending = {
  readonly pending: true
  /** From 0 to 1. */
  readonly progress?: number
}

/**
 * The vendor says that the job was cancelled. `measured`: what it bills all the same; without it, `onCancel` decides.
 */
type Cancelled = { readonly verdict: 'cancelled'; readonly measured?: Usage }

export type JobShape = {
  readonly flow: 'job'
  /**
   * The vendor's own domains, with everything below them, such as `bfl.ai`. If its answers name an address to ask or
   * fetch from with its key, that must be in one of these or at the base address. The key goes nowhere else.
   */
  readonly hosts?: readonly string[]
  readonly ask: (inputs: Inputs, upstreamName: string, job: JobNames) => Outgoing
  /**
   * Reads the submission's answer, of any status; undefined leaves it to the usual reading of vendors' errors. `next`
   * asks again before there is a job (an upload before, a start after): that answer is read with `step` 1, and so on up
   * to 4.
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
   * Reads the answer to a poll, of any status. Undefined is a failed poll, which does not end a job (three 404s do).
   * `next` asks again, for example for the result: that answer is read with `step` 1, and so on up to 4. The inputs are
   * gone by then, so anything needed for measuring belongs in the Ref. Without `measured` images are counted, and other
   * results cost the maximum.
   */
  readonly readPoll: (
    answer: VendorAnswer,
    it: { readonly ref: Ref; readonly step: number },
  ) => Pending | Further | Cancelled | Verdict | undefined
  /** Absent if the vendor cannot cancel: such a job runs on and is charged. */
  readonly cancel?: (ref: Ref) => Outgoing
  /**
   * What a cancelled job costs: nothing, or what the vendor bills all the same; if it does not say, what was asked for.
   */
  readonly onCancel: 'free' | 'billed'
  /** The shortest pause between two polls. */
  readonly everyMs: number
  /** How long after its submission we give up a job. */
  readonly deadlineMs: number
}

export type Shape = OnceShape | JobShape
