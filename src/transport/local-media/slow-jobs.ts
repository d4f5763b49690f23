/**
 * Jobs of local/slow-1. Nothing runs meanwhile: a job's name contains when it began and how it ends, so every process
 * of a server knows it, even after a restart. Only cancellations are remembered, by the process that received them.
 */
import { createHash } from 'node:crypto'
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Instant } from '../../core/time.ts'

type Ticket = {
  readonly at: Instant
  readonly ms: number
  readonly outcome: string
  /** Seed of the image; too short to reveal the prompt. */
  readonly seed: string
}

type State =
  | { readonly status: 'running'; readonly progress: number }
  | { readonly status: 'succeeded'; readonly seed: string }
  | { readonly status: 'failed'; readonly message: string }
  | { readonly status: 'blocked' }
  | { readonly status: 'cancelled' }

export type SlowJobs = {
  /** The name of a new job. */
  readonly submit: (inputs: JsonObject) => string
  /** Undefined if no job has that name. */
  readonly state: (name: string) => State | undefined
  /** Ends a job that is still running; an ended one stays as it is. */
  readonly cancel: (name: string) => State | undefined
}

const CANCELLED_MAX = 10_000

const readTicket = (name: string): Ticket | undefined => {
  const value = parseJson(Buffer.from(name, 'base64url').toString())
  if (!isObject(value)) return undefined
  const { at, ms, outcome, seed } = value
  return typeof at === 'number' &&
    typeof ms === 'number' &&
    typeof outcome === 'string' &&
    typeof seed === 'string'
    ? { at, ms, outcome, seed }
    : undefined
}

const stateAt = ({ at, ms, outcome, seed }: Ticket, now: Instant): State => {
  if (now < at + ms) return { status: 'running', progress: Math.max(0, (now - at) / ms) }
  if (outcome === 'failed') return { status: 'failed', message: 'The job failed, as it was asked to.' }
  return outcome === 'blocked' ? { status: 'blocked' } : { status: 'succeeded', seed }
}

export const openSlowJobs = (now: () => Instant): SlowJobs => {
  const cancelled = new Set<string>()
  const state = (name: string): State | undefined => {
    const ticket = readTicket(name)
    if (ticket === undefined) return undefined
    return cancelled.has(name) ? { status: 'cancelled' } : stateAt(ticket, now())
  }
  return {
    submit: ({ prompt, seconds, outcome }) => {
      const seed = createHash('sha256').update(String(prompt)).digest('hex').slice(0, 6)
      const ticket = { at: now(), ms: Number(seconds) * 1_000, outcome: String(outcome), seed }
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
