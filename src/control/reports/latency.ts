/**
 * The act that tells how fast calls are answered and how many fail: over time, and by model, vendor or key. Read from the
 * newest calls of each part of the span, so that it costs the same however many there are; it says where older ones were left.
 */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { invalid } from '../../core/refusal.ts'
import { DAY_MS, HOUR_MS, type Instant } from '../../core/time.ts'
import { outcomeOf } from '../../store/reports/call-page.ts'
import type { CallLine, Scope } from '../../store/reports/call-port.ts'
import { type Acting, act } from '../act.ts'
import { instant, isoOf } from '../read.ts'
import { time } from '../shown-key.ts'
import { scopeMembers, scopeOf } from './scope.ts'

/** How attempts end that are the vendor's failures, and not the call's or its caller's. */
const FAILURES: readonly string[] = ['failed', 'may_bill', 'busy', 'key_refused']

/** One attempt at a vendor, or a whole call: whether it failed or was refused, and its times if it was answered. */
type Attempt = {
  readonly of: string
  readonly ended: 'answered' | 'refused' | 'failed' | 'left'
  readonly tookMs?: number
  readonly firstByteMs?: number
}

/** The attempts at vendors of a call, answered or not. */
export const attemptsIn = ({ detail, failure }: CallLine): readonly Attempt[] => [
  ...(detail?.tries ?? failure?.detail.tries ?? []).map(({ vendor, outcome }) => ({
    of: vendor,
    ended: FAILURES.includes(outcome) ? ('failed' as const) : ('left' as const),
  })),
  ...(detail === undefined ? [] : [{ of: detail.vendor, ...endOf(detail) }]),
]

const endOf = ({ ended, tookMs, firstByteMs }: NonNullable<CallLine['detail']>) =>
  ended === 'ok'
    ? { ended: 'answered' as const, tookMs, firstByteMs }
    : { ended: ended === 'vendor_failed' ? ('failed' as const) : ('left' as const) }

/** A call as a whole, by its model or key; recovery charged those without a detail. */
const callIn = (line: CallLine, of: string): Attempt => {
  if (line.detail !== undefined) return { of, ...endOf(line.detail) }
  const outcome = outcomeOf(line)
  return { of, ended: outcome === 'refused' || outcome === 'failed' ? outcome : 'left' }
}

/** The least value that this share of all values does not exceed. */
const quantile = (sorted: readonly number[], share: number): number | null =>
  sorted.length === 0 ? null : Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0)

const [HALF, MOST] = [0.5, 0.95]
const RATE_PARTS = 10_000

const ms = z.int().nullable()
export const figures = {
  calls: z.int(),
  refused: z.int().describe('Not done for a reason of the caller: a limit, a right, a mistake'),
  failed: z.int().describe('Failed by a vendor or by this server'),
  failure_rate: z
    .number()
    .nullable()
    .describe('`failed` as a share of `calls`, from 0 to 1; null without calls'),
  took_p50_ms: ms.describe('Of those that were answered: half took at most so long'),
  took_p95_ms: ms.describe('Of those that were answered, 19 of 20 took at most so long'),
  first_byte_p50_ms: ms.describe('Until the first byte of the answer, which of a stream is the first token'),
  first_byte_p95_ms: ms,
}

/** What many attempts have in common. */
export const figuresOf = (attempts: readonly Attempt[]) => {
  const count = (end: Attempt['ended']) => attempts.filter(({ ended }) => ended === end).length
  const times = (name: 'tookMs' | 'firstByteMs') =>
    attempts.flatMap((one) => one[name] ?? []).sort((a, b) => a - b)
  const [took, first] = [times('tookMs'), times('firstByteMs')]
  const failed = count('failed')
  return {
    calls: attempts.length,
    refused: count('refused'),
    failed,
    failure_rate:
      attempts.length === 0 ? null : Math.ceil((failed * RATE_PARTS) / attempts.length) / RATE_PARTS,
    took_p50_ms: quantile(took, HALF),
    took_p95_ms: quantile(took, MOST),
    first_byte_p50_ms: quantile(first, HALF),
    first_byte_p95_ms: quantile(first, MOST),
  }
}

const bys = ['model', 'vendor', 'key'] as const
type By = (typeof bys)[number]

const attemptsBy = (by: By, line: CallLine): readonly Attempt[] =>
  by === 'vendor'
    ? attemptsIn(line)
    : [callIn(line, by === 'key' ? line.keyId : ((line.detail ?? line.failure)?.model ?? ''))]

/** How many parts a span has at most, and how many of the newest calls of each are read. */
const [PARTS, EACH] = [24, 100]
/** With more keys than these, each look takes so long that there are fewer parts. */
const [KEYS, PARTS_OF_MANY] = [1_000, 4]
/** How long to look for those for which a vendor was asked, in each part, beyond the first look. */
const SEARCH_MS = 20

/** How many minutes a part may be long: those of a clock, and then whole days. */
const MINUTES = [1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1_440]

type Asked = { readonly from?: Instant | undefined; readonly to?: Instant | undefined }

/** A day before the end of that hour, so that the parts of a day are its hours. */
const dayBefore = (to: Instant): Instant => Math.ceil(to / HOUR_MS) * HOUR_MS - DAY_MS

/** The parts of the span, as long as a clock has names for, but for the last. */
const partsOf = (most: number, now: Instant, { to = now + 1, from = dayBefore(to) }: Asked) => {
  if (from >= to) throw invalid('from', "'from' must be before 'to'.")
  const least = (to - from) / most
  const length =
    MINUTES.map((count) => count * 60_000).find((one) => one >= least) ?? Math.ceil(least / DAY_MS) * DAY_MS
  const count = Math.ceil((to - from) / length)
  return Array.from({ length: count }, (_, at) => ({
    from: from + at * length,
    to: Math.min(to, from + (at + 1) * length),
  }))
}

type Only = {
  readonly model?: string | undefined
  readonly vendor?: string | undefined
  readonly asked?: true
}

/** One part after another: together they would take all readers of the ledger. */
const readParts = async (
  { control: { store, clock } }: Acting,
  scope: Scope,
  { from, to, ...only }: Asked & Only,
) => {
  const parts: { from: Instant; whole: boolean; lines: readonly CallLine[] }[] = []
  const isAll = scope.orgs === 'all' && Object.keys(scope).length === 1
  const byStart = !isAll && (await store.reports.keysIn(scope)) > KEYS
  const most = byStart ? PARTS_OF_MANY : PARTS
  for (const part of partsOf(most, clock.now(), { from, to })) {
    const asked = {
      ...scope,
      ...part,
      only,
      most: EACH,
      searchMs: only.asked ? SEARCH_MS : 0,
      byStart,
      mayLag: true as const,
    }
    const { lines, next } = await store.reports.calls(asked)
    parts.push({ from: part.from, whole: next === undefined, lines })
  }
  return parts
}

const text = z.string().min(1).max(200).optional()
const moment = instant(' (in an address, its + is written %2B)')

export const callLatency = act({
  name: 'call.latency',
  summary:
    'How fast calls were answered and how many were refused or failed, over time and by model, vendor or key.',
  reads: ['read', 'read_own'],
  input: {
    ...scopeMembers,
    from: moment.describe('Calls from then on; if absent, from the last 24 hours that have begun'),
    to: moment.describe('And before then'),
    model: text,
    vendor: text.describe('Only calls for which this vendor was asked'),
    by: z
      .enum(bys, `is one of ${bys.join(', ')}`)
      .default('model')
      .describe('`vendor` counts each attempt at one'),
  },
  shows: namedObject('Latency', {
    object: z.literal('latency'),
    by: z.enum(bys),
    from: time,
    to: time,
    newest: z.int().describe('How many of the newest calls of each part were read at most'),
    parts: z.array(
      z.object({
        from: time,
        whole: z.boolean().describe('Whether all calls of this part were read, and not only the newest'),
        ...figures,
      }),
    ),
    rows: z.array(z.object({ id: z.string(), label: z.string(), ...figures })),
    total: z.object(figures),
  }),
  does: async (acting, { by, from, to, model, vendor, ...scope }) => {
    // Of calls that were refused before any vendor was asked, a hundred would hide how vendors are.
    const asked = by === 'vendor' ? { asked: true as const } : {}
    const span = { from, to, model, vendor, ...asked }
    const parts = await readParts(acting, await scopeOf(acting, scope), span)
    const end = to ?? acting.control.clock.now()
    const labels = new Map<string, string>()
    const inParts = parts.map(({ lines }) =>
      lines.flatMap((line) => {
        labels.set(line.keyId, line.label)
        return attemptsBy(by, line).filter(({ of }) => by !== 'vendor' || (vendor ?? of) === of)
      }),
    )
    const all = inParts.flat()
    const rows = [...Map.groupBy(all, ({ of }) => of)].map(([id, attempts]) => ({
      id,
      label: by === 'key' ? (labels.get(id) ?? '') : id,
      ...figuresOf(attempts),
    }))
    return {
      object: 'latency' as const,
      by,
      from: isoOf(parts[0]?.from ?? end),
      to: isoOf(end),
      newest: EACH,
      parts: parts.map(({ from: at, whole }, n) => ({
        from: isoOf(at),
        whole,
        ...figuresOf(inParts[n] ?? []),
      })),
      rows: rows.sort((a, b) => b.calls - a.calls || (a.id < b.id ? -1 : 1)),
      total: figuresOf(all),
    }
  },
})
