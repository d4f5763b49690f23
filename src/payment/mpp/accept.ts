/** `Accept-Payment`: which challenges a payer can answer. Source: The "Payment" HTTP Authentication Scheme. */
import type { Terms } from './challenge.ts'

const HEADER_MAX = 1_000
const RANGE = /^([a-z]+|\*)\/([a-z0-9-]+|\*)(?:;q=(0(?:\.\d{1,3})?|1(?:\.0{1,3})?))?$/i

type Range = { readonly method: string; readonly intent: string; readonly weight: number }

const readRange = (text: string): Range | undefined => {
  const [, method, intent, weight = '1'] = RANGE.exec(text.replace(/\s/g, '')) ?? []
  return method === undefined || intent === undefined ? undefined : { method, intent, weight: Number(weight) }
}

/** How exactly a range means these terms; 0 if it does not. */
const exactness = ({ method, intent }: Range, terms: Terms): number =>
  (method === '*' || method === terms.method) && (intent === '*' || intent === terms.intent)
    ? 1 + (method === '*' ? 0 : 2) + (intent === '*' ? 0 : 1)
    : 0

const weightOf = (ranges: readonly Range[], terms: Terms): number => {
  const [best] = ranges
    .map((range) => ({ range, exact: exactness(range, terms) }))
    .filter(({ exact }) => exact > 0)
    .sort((a, b) => b.exact - a.exact)
  return best?.range.weight ?? 0
}

/** Those the payer has, by its weights. All of them if it says nothing, nothing that can be read, or has none. */
export const preferred = <T extends Terms>(all: readonly T[], header: string | undefined): readonly T[] => {
  if (header === undefined || header.length > HEADER_MAX) return all
  const ranges = header.split(',').map(readRange)
  if (!ranges.every((range) => range !== undefined)) return all
  const weighed = all
    .map((terms) => ({ terms, weight: weightOf(ranges, terms) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
  return weighed.length === 0 ? all : weighed.map(({ terms }) => terms)
}
