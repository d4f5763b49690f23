/**
 * All series of a process as plain values that can be sent to another process, and those of several processes merged.
 */
import type { Nano } from '../core/money.ts'
import { type FamilyId, families } from './families.ts'
import { linesOf, READ_MAX, type Registry, type Series } from './registry.ts'

/** One series; money is a text in nano-USD, which JSON keeps exactly. */
export type Sample =
  | { readonly labels: readonly string[]; readonly value: number }
  | { readonly labels: readonly string[]; readonly nano: string }
  | { readonly labels: readonly string[]; readonly counts: readonly number[]; readonly sum: number }

export type Snapshot = { readonly [Id in FamilyId]?: readonly Sample[] }

/** What is read on request: the labels and the value, a bigint if it is money. */
export type Reading = readonly [id: FamilyId, value: number | Nano, labels?: readonly string[]]

const sampleOf = (series: Series): Sample => {
  const { labels } = series
  if ('nano' in series) return { labels, nano: String(series.nano) }
  return 'counts' in series
    ? { labels, counts: [...series.counts], sum: series.sum }
    : { labels, value: series.value }
}

/** What a process has counted, and what was just read; readings beyond their places are dropped and counted as cut. */
export const snapshotOf = (registry: Registry, readings: readonly Reading[]): Snapshot => {
  const within = readings.slice(0, READ_MAX - linesOf(families.series))
  registry.counter('cut').value += readings.length - within.length
  const snapshot: Partial<Record<FamilyId, Sample[]>> = {}
  for (const [id, all] of registry.all()) snapshot[id] = [...all.values()].map(sampleOf)
  for (const [id, value, labels = []] of within) {
    const list = snapshot[id] ?? []
    snapshot[id] = list
    list.push(typeof value === 'bigint' ? { labels, nano: String(value) } : { labels, value })
  }
  const lines = Object.entries(snapshot).map(([id, all]) => all.length * linesOf(families[id as FamilyId]))
  return { ...snapshot, series: [{ labels: [], value: lines.reduce((sum, some) => sum + some, 1) }] }
}

/** One answer for several processes: counters are added; each gauge says how it is merged. */
export const merged = (snapshots: readonly Snapshot[]): Snapshot => {
  const together: Partial<Record<FamilyId, Sample[]>> = {}
  for (const id of Object.keys(families) as FamilyId[]) {
    const known = new Map<string, Sample>()
    for (const snapshot of snapshots)
      for (const sample of snapshot[id] ?? []) {
        const name = sample.labels.join('\n')
        const before = known.get(name)
        known.set(name, before === undefined ? sample : both(id, before, sample))
      }
    if (known.size > 0) together[id] = [...known.values()]
  }
  return together
}

const both = (id: FamilyId, a: Sample, b: Sample): Sample => {
  const { labels } = a
  if ('counts' in a && 'counts' in b)
    return { labels, counts: a.counts.map((count, at) => count + (b.counts[at] ?? 0)), sum: a.sum + b.sum }
  const { together } = families[id]
  if ('nano' in a && 'nano' in b) {
    const [one, other] = [BigInt(a.nano), BigInt(b.nano)]
    if (together === undefined) return { labels, nano: String(one + other) }
    return one > other === (together === 'most') ? a : b
  }
  if (!('value' in a && 'value' in b)) return a
  if (together === 'most') return { labels, value: Math.max(a.value, b.value) }
  if (together === 'least') return { labels, value: Math.min(a.value, b.value) }
  return { labels, value: a.value + b.value }
}

/** What still counts of a process that has ended: sums never shrink, but its gauges are gone with it. */
export const countersOf = (snapshot: Snapshot): Snapshot =>
  Object.fromEntries(Object.entries(snapshot).filter(([id]) => families[id as FamilyId].type !== 'gauge'))
