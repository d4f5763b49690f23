/**
 * The series of one process: plain numbers, created on first use, up to a limit. What no longer finds a place is
 * counted under `other`, so that sums stay right.
 */
import type { Nano } from '../core/money.ts'
import { type CountedId, countedFamilies, type Family } from './families.ts'

export type Counter = { readonly labels: readonly string[]; value: number }

type Money = { readonly labels: readonly string[]; nano: Nano }

export type Histogram = {
  readonly labels: readonly string[]
  /** Counts of each bucket alone; the last has no upper bound. */
  readonly counts: number[]
  sum: number
}

export type Series = Counter | Money | Histogram

/** The specification's limit on the series of a process. */
export const SERIES_MAX = 2_000
/** Places for what is read on request: gauges of the process, and of its vendors' keys. */
export const READ_MAX = 400

const OTHER = 'other'

type MoneyId = 'charge' | 'tagCharge' | 'cacheSaved' | 'cacheAdded'
export type HistogramId = {
  [Id in CountedId]: (typeof countedFamilies)[Id]['type'] extends 'histogram' ? Id : never
}[CountedId]
type CounterId = Exclude<CountedId, HistogramId | MoneyId>

/** How many lines a series of the family takes. */
export const linesOf = ({ bounds }: Family): number => (bounds === undefined ? 1 : bounds.length + 3)

export type Registry = {
  counter(id: CounterId, labels?: readonly string[]): Counter
  money(id: MoneyId, labels: readonly string[]): Money
  histogram(id: HistogramId, labels?: readonly string[]): Histogram
  all(): ReadonlyMap<CountedId, ReadonlyMap<string, Series>>
}

const emptyOf = ({ bounds, money }: Family, labels: readonly string[]): Series => {
  if (bounds !== undefined)
    return { labels, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 }
  return money === true ? { labels, nano: 0n } : { labels, value: 0 }
}

export const newRegistry = (linesMax = SERIES_MAX - READ_MAX): Registry => {
  const all = new Map<CountedId, Map<string, Series>>()
  let lines = 0
  const make = (id: CountedId, labels: readonly string[]): Series => {
    const made = emptyOf(countedFamilies[id], labels)
    all.get(id)?.set(labels.join('\n'), made)
    return made
  }
  const find = (id: CountedId, labels: readonly string[]): Series => {
    const known = all.get(id)?.get(labels.join('\n'))
    if (known !== undefined) return known
    const family: Family = countedFamilies[id]
    const more = linesOf(family)
    const has = all.get(id)?.size ?? 0
    if (lines + more <= linesMax && has < (family.seriesMax ?? linesMax)) {
      lines += more
      return make(id, labels)
    }
    registry.counter('cut').value++
    const other = labels.map(() => OTHER)
    return all.get(id)?.get(other.join('\n')) ?? make(id, other)
  }
  const registry: Registry = {
    // The ids' types say which kind it is.
    counter: (id, labels = []) => find(id, labels) as Counter,
    money: (id, labels) => find(id, labels) as Money,
    histogram: (id, labels = []) => find(id, labels) as Histogram,
    all: () => all,
  }
  // Metrics without labels exist from the start; of the others, the place for `other` is reserved.
  for (const [id, family] of Object.entries(countedFamilies) as [CountedId, Family][]) {
    all.set(id, new Map())
    lines += linesOf(family)
    if (family.labels.length === 0) make(id, [])
  }
  return registry
}
