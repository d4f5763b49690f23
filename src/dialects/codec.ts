/** What a codec is, and what all codecs share. */
import type { Call } from '../core/call.ts'
import { type JsonBody, type JsonObject, readJsonBody } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { Refusal } from '../core/refusal.ts'
import { scanJson } from '../core/scan-json.ts'
import type { Usage } from '../core/usage.ts'
import type { Billed } from './bill-members.ts'
import type { VendorDialect, VendorTraits } from './dialect.ts'
import { callerDialects } from './index.ts'
import type { StreamRelay } from './relay.ts'
import type { ReplyStream } from './reply-steps.ts'
import type { WriterContext } from './stream-writer.ts'
import type { Target } from './translate/vendor-call.ts'

/** A whole answer, read, but still without its bill. */
export type WholeReply = {
  readonly usage: Usage | undefined
  /** Letters of its texts, for an estimate when the vendor gave no usage. */
  readonly letters: () => number
  /** The tier in which the vendor says it served a model that was requested in a cheaper one. */
  readonly tier: string | undefined
  /** The prompt was blocked: there is no answer. */
  readonly blocked: boolean
  /** Why the answer cannot be given in the caller's dialect. */
  readonly fault?: string | undefined
  /** What the vendor said that the caller's dialect has no place for, by name. */
  readonly notCarried: readonly string[]
  addBill(billed: Billed): Uint8Array
  /** The answer as a stream, for a call that asked for one; undefined if it cannot be read as one. */
  asStream(): ReplyStream | undefined
}

export type CallCodec = {
  /** Path and query, relative to the vendor's base address. */
  readonly path: string
  readonly body: Uint8Array
  /** Headers that the call needs beside the vendor's own; made here, never taken from a caller. */
  readonly headers?: Readonly<Record<string, string>>
  /** Members and features of the request that do not reach the vendor, by name. */
  readonly notCarried: readonly string[]
  /** Reads a vendor's answer with its headers; undefined when it is not one. */
  readWhole(bytes: Uint8Array, headers?: Headers): WholeReply | undefined
  relay(): StreamRelay
}

export type Sides = {
  readonly call: Call
  readonly target: Target
  readonly traits: VendorTraits
  /** What a translated answer needs for writing; passing bytes through needs none of it. */
  readonly context: () => WriterContext
}

/**
 * Parses a vendor's body; undefined when it is not JSON. A list of embeddings has more numbers than any request may
 * contain, so only the transport bounds its size.
 */
export const readBody = (bytes: Uint8Array): JsonBody | undefined => {
  const body = readJsonBody(bytes, scanJson(bytes, Number.MAX_SAFE_INTEGER))
  return body instanceof Refusal ? undefined : body
}

/** The tier that served a whole answer; undefined if no cheaper one was requested, or the vendor does not say. */
export const servedTier = (vendor: VendorDialect, model: Model, value: JsonObject): string | undefined =>
  model.cheaper === undefined ? undefined : vendor.tierOf?.(value)

/** Ids for tool calls of vendors that give none; no two conversations of a caller share one. */
export const idMaker = (requestId: string): (() => string) => {
  let count = 0
  return () => `call_${requestId.replaceAll('-', '').slice(-16)}_${++count}`
}

/** The dialect that the caller reads. */
export const callerOf = (call: Call) => callerDialects[call.dialect === 'embeddings' ? 'chat' : call.dialect]
