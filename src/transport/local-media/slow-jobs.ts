/**
 * Built-in products that are jobs. Nothing runs meanwhile: a job's name contains when it began and how it ends, so every process
 * of a server knows it, even after a restart. Only cancellations are remembered, by the process that received them.
 */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Instant } from '../../core/time.ts'
import type { LocalJob } from '../../vendors/local/product.ts'

type Ticket = {
  readonly at: Instant
  readonly ms: number
  readonly outcome: string
  readonly inputs: JsonObject
}

type State =
  | { readonly status: 'running'; readonly progress: number }
  | { readonly status: 'succeeded'; readonly inputs: JsonObject }
  | { readonly status: 'failed'; readonly message: string }
  | { readonly status: 'blocked' }
  | { readonly status: 'cancelled' }

export type SlowJobs = {
  /** The name of a new job. */
  readonly submit: (job: LocalJob) => string
  /** Undefined if no job has that name. */
  readonly state: (name: string) => State | undefined
  /** Ends a job that is still running; an ended one stays as it is. */
  readonly cancel: (name: string) => State | undefined
}

const CANCELLED_MAX = 10_000

const readTicket = (name: string): Ticket | undefined => {
  const value = parseJson(Buffer.from(name, 'base64url').toString())
  if (!isObject(value)) return undefined
  const { at, ms, outcome, inputs } = value
  return typeof at === 'number' && typeof ms === 'number' && typeof outcome === 'string' && isObject(inputs)
    ? { at, ms, outcome, inputs }
    : undefined
}

const stateAt = ({ at, ms, outcome, inputs }: Ticket, now: Instant): State => {
  if (now < at + ms) return { status: 'running', progress: Math.max(0, (now - at) / ms) }
  if (outcome === 'failed') return { status: 'failed', message: 'The job failed, as it was asked to.' }
  return outcome === 'blocked' ? { status: 'blocked' } : { status: 'succeeded', inputs }
}

export const openSlowJobs = (now: () => Instant): SlowJobs => {
  const cancelled = new Set<string>()
  const state = (name: string): State | undefined => {
    const ticket = readTicket(name)
    if (ticket === undefined) return undefined
    return cancelled.has(name) ? { status: 'cancelled' } : stateAt(ticket, now())
  }
  return {
    submit: ({ seconds, outcome, inputs }) => {
      const ticket = { at: now(), ms: seconds * 1_000, outcome, inputs }
      const salt = crypto.getRandomValues(new Uint8Array(8)).toHex()
      return Buffer.from(JSON.stringify({ ...ticket, salt })).toString('base64url')
    },
    state,
    cancel: (name) => {
      if (state(name)?.status !== 'running') return state(name)
      const [oldest] = cancelled
      if (cancelled.size >= CANCELLED_MAX && oldest !== undefined) cancelled.delete(oldest)
      cancelled.add(name)
      return { status: 'cancelled' }
    },
  }
}
