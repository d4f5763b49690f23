/**
 * Notes the calls of known keys that were refused or failed, off their path: what happened is put into memory, and written
 * with that of other calls soon after. A crash may lose the last of it.
 */
import { present } from '../../core/json-body.ts'
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { refusalTable } from '../../core/refusal-table.ts'
import { type Clock, DAY_MS, type Instant } from '../../core/time.ts'
import { GUESTS_KEY } from '../../payment/x402.ts'
import type { CallSettings } from '../../settings/calls.ts'
import type { Failure, FailureDetail, FailureStore } from '../../store/calls/failure-port.ts'
import type { Run } from '../../store/calls/run-port.ts'
import type { Trace } from './trace.ts'

export type Failures = {
  /** Counts a failure; its row is made only if its key has room for rows of this code today. */
  note(keyId: string, code: string, row: () => Failure): void
  /** Writes what is left, once, and waits for that a moment at most; what comes later is written, but not tried again. */
  end(): Promise<void>
}

/** What notes a failure. */
type Noting = { readonly clock: Clock; readonly memory: { readonly failures: Failures } }

type FailureParts = {
  readonly store: { readonly failures: FailureStore }
  readonly clock: Clock
  readonly log: Log
  readonly options: Pick<CallSettings, 'keepFailuresDays' | 'failuresPerDay'>
}

const WRITE_MS = 500
const AGAIN_MS = 5_000
/** How long a process that ends waits for a store that does not answer. */
const END_MS = 2_000
/** Rows that wait to be written; further ones are only counted. */
const ROWS_MOST = 2_000

const dayOf = (at: Instant): Instant => Math.floor(at / DAY_MS) * DAY_MS

export const newFailures = ({ store, clock, log, options }: FailureParts): Failures => {
  const { keepFailuresDays, failuresPerDay } = options
  /** By key and code. */
  let counts = new Map<string, { keyId: string; code: string; calls: number }>()
  let rows: Failure[] = []
  let full = { day: 0, slots: new Set<string>() }
  let waiting = false
  let failing = false
  let ended = false
  let writing = Promise.resolve()

  const add = (keyId: string, code: string, calls: number): void => {
    const slot = `${keyId} ${code}`
    const counted = counts.get(slot)
    if (counted === undefined) counts.set(slot, { keyId, code, calls })
    else counted.calls += calls
  }
  const writeNow = async (): Promise<void> => {
    const it = { day: dayOf(clock.now()), counts: [...counts.values()], rows }
    if (it.counts.length === 0) return
    counts = new Map()
    rows = []
    try {
      const used = await store.failures.noteFailures(it, failuresPerDay)
      if (full.day !== it.day) full = { day: it.day, slots: new Set() }
      for (const { keyId, code } of used) full.slots.add(`${keyId} ${code}`)
      failing = false
    } catch (error) {
      if (!failing) log.warn('failed calls could not be noted yet', { error: messageOf(error) })
      failing = true
      for (const { keyId, code, calls } of it.counts) add(keyId, code, calls)
      rows = [...it.rows, ...rows].slice(0, ROWS_MOST)
    }
  }
  /** One write at a time, so that whoever waits for one has what the others wrote. */
  const write = (): Promise<void> => {
    writing = writing.then(writeNow)
    return writing
  }
  const writeSoon = (): void => {
    if (waiting) return
    waiting = true
    void clock.sleep(failing ? AGAIN_MS : WRITE_MS).then(async () => {
      await write()
      waiting = false
      if (counts.size > 0 && !(ended && failing)) writeSoon()
    })
  }
  return {
    note: (keyId, code, row) => {
      if (keepFailuresDays === 0) return
      add(keyId, code, 1)
      const isFull = full.day === dayOf(clock.now()) && full.slots.has(`${keyId} ${code}`)
      if (!isFull && rows.length < ROWS_MOST) rows.push(row())
      writeSoon()
    },
    end: () => {
      ended = true
      return Promise.race([write(), clock.sleep(END_MS)])
    },
  }
}

/** How answers are called that began and did not end well; they may also be called after a refusal. */
const broken = new Set(['client_gone', 'vendor_failed', 'deadline', 'ledger_away', 'cost_ceiling'])

const GONE = 499
const FAILED = 502

/** A call has ended: if its key is known and it was neither answered nor charged, that is noted. */
export const noteFailed = (
  { clock, memory: { failures } }: Noting,
  trace: Trace,
  status: number,
  nowMs: number,
): void => {
  const { key, ended = 'ok', endpoint, usage, waits } = trace
  if (key === undefined || endpoint === undefined || usage !== undefined || waits === true) return
  // Its organisation is not here: rows about it would be neither there nor here.
  if (key.cell !== undefined) return
  if (status < 400 && !broken.has(ended) && !Object.hasOwn(refusalTable, ended)) return
  const code = status === GONE ? 'client_gone' : ended
  failures.note(key.id, code, () => ({
    id: trace.callId,
    keyId: key.id,
    at: clock.now(),
    ...(trace.model === undefined ? {} : { model: trace.model }),
    ...(trace.tries === undefined && trace.attempts === 0 ? {} : { vendor: trace.vendor ?? '' }),
    code,
    status: status >= 400 ? status : code === 'client_gone' ? GONE : FAILED,
    detail: detailOf(trace, nowMs),
  }))
}

const PARAM_MOST = 100

const detailOf = (
  { startedMs, firstByteMs, endpoint, refusal, tries, tags, guardrails }: Trace,
  nowMs: number,
): FailureDetail => {
  const { limit, limit_owner: owner, param } = refusal?.members ?? {}
  return {
    tookMs: Math.round(nowMs - startedMs),
    ...(firstByteMs === undefined ? {} : { firstByteMs: Math.round(firstByteMs) }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(typeof limit === 'string' ? { limit } : {}),
    ...(owner === 'key' || owner === 'parent' ? { owner } : {}),
    ...(typeof param === 'string' ? { param: param.slice(0, PARAM_MOST) } : {}),
    ...present({ tries, tags, guardrails }),
  }
}

/** A job has failed, perhaps long after its request was answered. */
export const noteFailedJob = ({ clock, memory }: Noting, run: Run): void => {
  const { id, keyId, model, facts, result, createdAt } = run
  if (keyId === GUESTS_KEY || result === undefined || !('error' in result)) return
  const { code } = result.error
  const tookMs = Math.max(0, clock.now() - createdAt)
  memory.failures.note(keyId, code, () => ({
    id,
    keyId,
    at: clock.now(),
    model,
    ...(facts === undefined ? {} : { vendor: facts.vendor }),
    code,
    status: FAILED,
    detail: {
      tookMs,
      ...present({ tags: facts?.tags, guardrails: facts?.guardrails }),
      ...(facts === undefined ? {} : { tries: [{ vendor: facts.vendor, outcome: 'failed', tookMs }] }),
    },
  }))
}
