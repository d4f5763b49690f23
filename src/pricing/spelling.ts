/** Did you mean: the model that was most likely meant by a name that is not sold. */
import type { Model, ModelKind } from '../core/model.ts'
import type { Catalogue } from './catalogue.ts'

/** Longer names are not typing errors, and comparing them would cost too much. */
const NAME_MAX = 100

/** Differences in how vendors, people and other gateways write names. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[._:\s@]+/g, '-')

type Candidate = {
  readonly model: Model
  readonly full: string
  readonly short: string
  readonly rank: number
}

/**
 * The models of a catalogue, prepared for comparison at the first question. Models that are also sold under a short
 * name, by the vendor that makes them, come first; discounted ones come last.
 */
const candidatesOf = (catalogue: Catalogue): readonly Candidate[] => {
  const made = known.get(catalogue)
  if (made !== undefined) return made
  const candidates = catalogue
    .list()
    .map((model): Candidate => {
      const full = plain(model.id)
      const makers = catalogue.find(model.id.slice(model.vendor.length + 1))?.id === model.id
      const rank = (model.cheaper === undefined ? 0 : 2) + (makers ? 0 : 1)
      return { model, full, short: full.slice(model.vendor.length + 1), rank }
    })
    .sort((a, b) => a.rank - b.rank)
  known.set(catalogue, candidates)
  return candidates
}

const known = new WeakMap<Catalogue, readonly Candidate[]>()

/** The id of the nearest model, of one kind if given; undefined if none is near. */
export const nearestModel = (name: string, catalogue: Catalogue, kind?: ModelKind): string | undefined => {
  if (name.length > NAME_MAX) return undefined
  const wanted = plain(name)
  const last = wanted.slice(wanted.lastIndexOf('/') + 1)
  const candidates = candidatesOf(catalogue).filter(
    ({ model }) => (kind === undefined || model.kind === kind) && catalogue.find(model.id) !== undefined,
  )
  const found =
    candidates.find(({ full }) => full === wanted) ??
    candidates.find(({ short }) => short === wanted) ??
    // The trailing l of a model that is sold in one tier only.
    (wanted.endsWith('l')
      ? candidates.find(({ full, short }) => full === wanted.slice(0, -1) || short === wanted.slice(0, -1))
      : undefined) ??
    candidates.find(({ short }) => short === last) ??
    // A date or version after the name.
    longest(candidates.filter(({ full, short }) => continues(wanted, full) || continues(last, short))) ??
    nearest(candidates, wanted, last)
  return found?.model.id
}

const continues = (text: string, beginning: string): boolean =>
  text[beginning.length] === '-' && text.startsWith(beginning)

const longest = (candidates: readonly Candidate[]): Candidate | undefined =>
  candidates.reduce<Candidate | undefined>(
    (best, one) => (best === undefined || one.short.length > best.short.length ? one : best),
    undefined,
  )

/** How many letters may be wrong: one in six, at most two. */
const nearest = (candidates: readonly Candidate[], wanted: string, last: string): Candidate | undefined => {
  let best: Candidate | undefined
  let least = Math.min(2, Math.floor(wanted.length / 6)) + 1
  for (const one of candidates) {
    const distance = Math.min(distanceWithin(one.full, wanted, least), distanceWithin(one.short, last, least))
    if (distance >= least) continue
    best = one
    least = distance
  }
  return best
}

/** The nearest of some names, such as those of members; undefined if none is near. */
export const nearestName = (name: string, names: readonly string[]): string | undefined => {
  if (name.length > NAME_MAX) return undefined
  let best: string | undefined
  let least = Math.min(3, Math.ceil(name.length / 3)) + 1
  for (const one of names) {
    const distance = distanceWithin(one, name, least)
    if (distance >= least) continue
    best = one
    least = distance
  }
  return best
}

/**
 * Letters to insert, delete or change between two texts (Levenshtein); returns `limit` if there are that many or more.
 */
const distanceWithin = (a: string, b: string, limit: number): number => {
  // People rarely get the first letter wrong, and comparing all other names would cost too much.
  if (a[0] !== b[0] || Math.abs(a.length - b.length) >= limit) return limit
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
