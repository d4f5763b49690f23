/** A snapshot as a text: the Prometheus text format 0.0.4, or OpenMetrics 1.0.0. */
import { decimalFromNano } from '../core/money.ts'
import { type Family, type FamilyId, families } from './families.ts'
import type { Sample, Snapshot } from './snapshot.ts'

type TextFormat = 'prometheus' | 'openmetrics'

export const contentTypes: Readonly<Record<TextFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

const WANTED = /^\s*(application\/openmetrics-text|text\/plain)\s*(;.*)?$/i
const VERSION = /;\s*version=([\d.]+)/i
const QUALITY = /;\s*q=([\d.]+)/i

/** The format that an `Accept` header prefers; the older one if it names neither. */
export const formatFor = (accept: string | null): TextFormat => {
  const best = { prometheus: 0, openmetrics: 0 }
  for (const part of (accept ?? '').split(',')) {
    const [, type, parameters = ''] = WANTED.exec(part) ?? []
    if (type === undefined) continue
    const of: TextFormat = type.toLowerCase() === 'text/plain' ? 'prometheus' : 'openmetrics'
    if (of === 'openmetrics' && !(VERSION.exec(parameters)?.[1] ?? '1.0.0').startsWith('1.')) continue
    best[of] = Math.max(best[of], Number(QUALITY.exec(parameters)?.[1] ?? 1))
  }
  return best.openmetrics > best.prometheus ? 'openmetrics' : 'prometheus'
}

const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const labelsText = (names: readonly string[], values: readonly string[]): string =>
  names.length === 0 ? '' : `{${names.map((name, at) => `${name}="${escaped(values[at] ?? '')}"`).join(',')}}`

/** The whole text of `GET /metrics`. */
export const render = (snapshot: Snapshot, format: TextFormat): string => {
  const lines: string[] = []
  for (const [id, family] of Object.entries(families) as [FamilyId, Family][]) {
    const samples = snapshot[id]
    if (samples === undefined || samples.length === 0) continue
    const counter = family.type === 'counter' ? '_total' : ''
    const title = format === 'openmetrics' ? family.name : family.name + counter
    lines.push(`# HELP ${title} ${family.help.replaceAll('\\', '\\\\')}`, `# TYPE ${title} ${family.type}`)
    for (const sample of samples) writeSample(lines, { family, sample, format, name: family.name + counter })
  }
  return `${lines.join('\n')}\n${format === 'openmetrics' ? '# EOF\n' : ''}`
}

type SampleLine = {
  readonly family: Family
  readonly sample: Sample
  readonly format: TextFormat
  readonly name: string
}

const writeSample = (lines: string[], { family, sample, format, name }: SampleLine): void => {
  const { labels, bounds = [] } = family
  if (!('counts' in sample)) {
    const value = 'nano' in sample ? decimalFromNano(BigInt(sample.nano)) : sample.value
    lines.push(`${name}${labelsText(labels, sample.labels)} ${value}`)
    return
  }
  let sum = 0
  for (const [at, count] of sample.counts.entries()) {
    sum += count
    const bucket = [...sample.labels, boundText(bounds[at], format)]
    lines.push(`${name}_bucket${labelsText([...labels, 'le'], bucket)} ${sum}`)
  }
  lines.push(`${name}_sum${labelsText(labels, sample.labels)} ${sample.sum}`)
  lines.push(`${name}_count${labelsText(labels, sample.labels)} ${sum}`)
}

/** OpenMetrics writes each bound as a number with a point. */
const boundText = (bound: number | undefined, format: TextFormat): string => {
  if (bound === undefined) return '+Inf'
  return format === 'openmetrics' && Number.isInteger(bound) ? `${bound}.0` : String(bound)
}
