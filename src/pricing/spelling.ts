/** Did you mean: the model that a name nobody sells was most likely meant for. */
import type { Model } from '../core/model.ts'
import type { Catalogue } from './catalogue.ts'

/** Longer names are no typing errors, and looking for what is near them would cost too much. */
const NAME_MAX = 100

/** What vendors, people and other gateways write differently. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[._:\s@]+/g, '-')

type Candidate = { readonly id: string; readonly full: string; readonly short: string }

/**
 * The id of the nearest of the models, undefined when none is near. Those sold under their short name too, by the vendor
 * that makes them, go before others, and discounted ones come last.
 */
export const nearestModel = (
  name: string,
  models: readonly Model[],
  { find }: Pick<Catalogue, 'find'>,
): string | undefined => {
  if (name.length > NAME_MAX) return undefined
  const asked = plain(name)
  const last = asked.slice(asked.lastIndexOf('/') + 1)
  const rank = ({ id, vendor, cheaper }: Model): number =>
    (cheaper === undefined ? 0 : 2) + (find(id.slice(vendor.length + 1))?.id === id ? 0 : 1)
  const candidates = models
    .map((model): Candidate & { rank: number } => {
      const full = plain(model.id)
      return { id: model.id, full, short: full.slice(model.vendor.length + 1), rank: rank(model) }
    })
    .sort((a, b) => a.rank - b.rank)
  const found =
    candidates.find(({ full }) => full === asked) ??
    candidates.find(({ short }) => short === asked) ??
    // The trailing l of a model that is sold in one tier.
    candidates.find(({ full, short }) => `${full}l` === asked || `${short}l` === asked) ??
    candidates.find(({ short }) => short === last) ??
    // A date or version behind the name.
    longest(
      candidates.filter(({ full, short }) => asked.startsWith(`${full}-`) || last.startsWith(`${short}-`)),
    ) ??
    nearest(candidates, asked, last)
  return found?.id
}

const longest = (candidates: readonly Candidate[]): Candidate | undefined =>
  candidates.reduce<Candidate | undefined>(
    (best, one) => (best === undefined || one.short.length > best.short.length ? one : best),
    undefined,
  )

/** Letters that may be wrong: one in six, two at most. */
const nearest = (candidates: readonly Candidate[], asked: string, last: string): Candidate | undefined => {
  let best: Candidate | undefined
  let least = Math.min(2, Math.floor(asked.length / 6)) + 1
  for (const one of candidates) {
    const distance = Math.min(distanceWithin(one.full, asked, least), distanceWithin(one.short, last, least))
    if (distance >= least) continue
    best = one
    least = distance
  }
  return best
}

/** Letters to insert, leave out or change between two texts (Levenshtein); `limit` when there are that many or more. */
const distanceWithin = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let at = 1; at <= a.length; at++) {
    const next = [at]
    for (let column = 1; column <= b.length; column++)
      next[column] = Math.min(
        (next[column - 1] ?? 0) + 1,
        (row[column] ?? 0) + 1,
        (row[column - 1] ?? 0) + (a[at - 1] === b[column - 1] ? 0 : 1),
      )
    if (Math.min(...next) >= limit) return limit
    row = next
  }
  return Math.min(row[b.length] ?? limit, limit)
}
