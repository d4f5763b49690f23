/** What a traced call records on its way: each step with its times. When the call ends, the steps become spans. */
import type { Call } from '../../core/call.ts'

type SpanValue = string | number | boolean | readonly string[]

/** A step of a call; times are monotonic milliseconds. */
export type SpanNote = {
  readonly name: string
  /** A request to somebody else. */
  readonly outward?: true
  readonly fromMs: number
  readonly toMs: number
  readonly failed?: boolean
  readonly attributes?: Readonly<Record<string, SpanValue>>
}

/** The span of a caller that this call belongs to, as its `traceparent` says (W3C Trace Context). */
type SpanParent = { readonly traceId: string; readonly spanId: string; readonly sampled: boolean }

/** An ended call with its steps, for the exporter. */
type CallSpan = {
  readonly parent: SpanParent | undefined
  readonly call: SpanNote
  readonly steps: readonly SpanNote[]
}

/** Where traces go; absent when no endpoint is set. */
export type Traces = {
  /** Whether to trace a call: decided by its parent, by chance, or by the settings. */
  isSampled(parent: SpanParent | undefined): boolean
  /** Takes a call that has ended; `nowMs` and `now` are the same moment on two clocks. Never throws, never waits. */
  end(span: CallSpan, at: { readonly nowMs: number; readonly now: number }): void
}

const PARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/** Reads a `traceparent`; undefined for an invalid one, which counts as absent. */
export const parentOf = (header: string | null): SpanParent | undefined => {
  if (header === null || header.startsWith('ff')) return undefined
  const [, traceId, spanId, flags = ''] = PARENT.exec(header) ?? []
  if (traceId === undefined || spanId === undefined || traceId === NO_TRACE || spanId === NO_SPAN)
    return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** What a traced call records. */
export type Span = {
  readonly parent: SpanParent | undefined
  readonly steps: SpanNote[]
  /** What it asked for, and the address of the vendor that was asked last. */
  asked?: Call
  askedAt?: string
}

/** Where the steps of a call are recorded; undefined if it is not to be traced. */
export const newSpan = (traces: Traces, traceparent: string | null): Span | undefined => {
  const parent = parentOf(traceparent)
  return traces.isSampled(parent) ? { parent, steps: [] } : undefined
}
