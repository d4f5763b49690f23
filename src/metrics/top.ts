/** What `turnpike top` shows, from two readings of the metrics: rates, latency and how vendors do. */
import { families } from './families.ts'

type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

/** Samples by name. */
export type Samples = ReadonlyMap<string, readonly Sample[]>

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g

/** Reads the text of this server's own `GET /metrics`; other lines are skipped. */
export const samplesIn = (text: string): Samples => {
  const samples = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = LINE.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    const pairs = Object.fromEntries(
      [...labels.matchAll(LABEL)].map(([, label, said]) => [label ?? '', said ?? '']),
    )
    samples.set(name, [...(samples.get(name) ?? []), { labels: pairs, value: Number(value) }])
  }
  return samples
}

type Only = Readonly<Record<string, string>>

const sumOf = (samples: Samples, name: string, only: Only = {}): number =>
  (samples.get(name) ?? [])
    .filter(({ labels }) => Object.entries(only).every(([label, value]) => labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)

/** What happened between two readings. */
type Span = { readonly before: Samples; readonly after: Samples; readonly seconds: number }

const grown = ({ before, after }: Span, name: string, only?: Only): number =>
  Math.max(0, sumOf(after, name, only) - sumOf(before, name, only))

/** A percentile of what was measured in between, interpolated within its bucket; undefined if nothing was measured. */
export const quantileIn = (span: Span, name: string, share: number, only: Only = {}): number | undefined => {
  const bounds = [...new Set((span.after.get(`${name}_bucket`) ?? []).map(({ labels }) => labels.le ?? ''))]
    .map((le) => ({ le, bound: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le) }))
    .sort((a, b) => a.bound - b.bound)
  const counts = bounds.map(({ le, bound }) => ({
    bound,
    upTo: grown(span, `${name}_bucket`, { ...only, le }),
  }))
  const wanted = (counts.at(-1)?.upTo ?? 0) * share
  if (wanted === 0) return undefined
  let from = { bound: 0, upTo: 0 }
  for (const to of counts) {
    if (to.upTo >= wanted) {
      if (to.bound === Number.POSITIVE_INFINITY) return from.bound
      return from.bound + ((to.bound - from.bound) * (wanted - from.upTo)) / (to.upTo - from.upTo)
    }
    from = to
  }
  return from.bound
}

const HUNDRED = 100
const MINUTE_S = 60
const SECOND_MS = 1_000

const ms = (seconds: number | undefined): string =>
  seconds === undefined ? '-' : (seconds * SECOND_MS).toFixed(1)

/** The lines at the top: how the server does. */
export const overviewOf = (span: Span) => {
  const { after, seconds } = span
  const gauge = (name: string) => sumOf(after, name)
  return {
    processes: gauge(families.processes.name),
    in_touch: gauge(families.inTouch.name) > 0,
    calls_per_second: grown(span, `${families.calls.name}_total`) / seconds,
    refusals_per_second: grown(span, `${families.refusals.name}_total`) / seconds,
    usd_per_minute: (grown(span, `${families.charge.name}_total`) / seconds) * MINUTE_S,
    added_ms_p50: ms(quantileIn(span, families.added.name, 0.5)),
    added_ms_p99: ms(quantileIn(span, families.added.name, 0.99)),
    open_calls: gauge(families.openCalls.name),
    open_streams: gauge(families.openStreams.name),
    queue_ms: ms(gauge(families.queueAge.name)),
    memory_mb: Math.round(gauge(families.memory.name) / 1_000_000),
  }
}

const percent = (part: number, of: number): string =>
  of === 0 ? '-' : `${((part / of) * HUNDRED).toFixed(1)} %`

/** The share of a vendor's input that came from its caches; of several keys also the share of each, by its place. */
const cachedOf = (span: Span, vendor: string): string => {
  const name = `${families.keyInput.name}_total`
  const rate = (only: Only) =>
    percent(grown(span, name, { ...only, cached: 'true' }), grown(span, name, only))
  const ofVendor = (span.after.get(name) ?? []).filter(({ labels }) => labels.vendor === vendor)
  const keys = [...new Set(ofVendor.map(({ labels }) => labels.key ?? ''))].sort(
    (a, b) => Number(a) - Number(b),
  )
  const each = keys.map((key) => `${key}: ${rate({ vendor, key })}`).join(', ')
  return `${rate({ vendor })}${keys.length < 2 ? '' : ` (${each})`}`
}

const perMinute = (usd: number, { seconds }: Span): number => Number(((usd / seconds) * MINUTE_S).toFixed(6))

/** A row for each vendor: how often it is asked, how it answers, what it earns and what its caches save. */
export const vendorRowsOf = (span: Span) => {
  const { after, seconds } = span
  const names = new Set((after.get(families.vendorKeys.name) ?? []).map(({ labels }) => labels.vendor ?? ''))
  return [...names].map((vendor) => {
    const attempts = grown(span, `${families.attempts.name}_total`, { vendor })
    const good = grown(span, `${families.attempts.name}_total`, { vendor, outcome: 'ok' })
    const [keys, resting] = [families.vendorKeys, families.restingKeys].map(({ name }) =>
      sumOf(after, name, { vendor }),
    )
    return {
      vendor,
      asked_per_second: Number((attempts / seconds).toFixed(1)),
      ok: percent(good, attempts),
      ms_p50: ms(quantileIn(span, families.attemptTime.name, 0.5, { vendor })),
      ms_p99: ms(quantileIn(span, families.attemptTime.name, 0.99, { vendor })),
      usd_per_minute: perMinute(grown(span, `${families.charge.name}_total`, { vendor }), span),
      from_cache: cachedOf(span, vendor),
      cache_saved_per_minute: perMinute(
        grown(span, `${families.cacheSaved.name}_total`, { vendor }) -
          grown(span, `${families.cacheAdded.name}_total`, { vendor }),
        span,
      ),
      keys: resting === 0 ? `${keys}` : `${keys} (${resting} rest)`,
    }
  })
}
