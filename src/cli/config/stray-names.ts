/** Variables of the environment that are a slip away from a setting: a misspelt one would be ignored without a word. */
import type { Environment } from '../../settings/bad-setting.ts'
import { settings } from '../../settings/index.ts'
import { rowsOf } from '../../settings/setting.ts'
import { vendors } from '../../vendors/index.ts'

type Stray = { readonly name: string; readonly meant: string }

/** Shorter names are near to too many others. */
const LEAST = 6
const MOST_SLIPS = 2

const known: readonly string[] = [
  ...Object.values(settings).flatMap((group) => rowsOf(group).map(({ name }) => name)),
  ...vendors.flatMap(({ keyVariable, alsoNeeds }) => [
    keyVariable,
    ...(alsoNeeds === undefined ? [] : [alsoNeeds]),
  ]),
].flatMap((name) => [name, `${name}_FILE`])

/** What other programs read, and is near to a setting all the same: OpenSSL's own. */
const others: readonly string[] = ['SSL_CERT_FILE']

/**
 * How many letters must be changed, added, left out or swapped with the next one to make one name of the other, at most
 * one more than MOST_SLIPS (the optimal string alignment distance).
 */
const slipsBetween = (one: string, other: string): number => {
  if (Math.abs(one.length - other.length) > MOST_SLIPS) return MOST_SLIPS + 1
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let a = 1; a <= one.length; a++) {
    const next = [a]
    for (let b = 1; b <= other.length; b++) {
      const same = one[a - 1] === other[b - 1]
      const swapped = a > 1 && b > 1 && one[a - 1] === other[b - 2] && one[a - 2] === other[b - 1]
      next[b] = Math.min(
        (row[b] ?? 0) + 1,
        (next[b - 1] ?? 0) + 1,
        (row[b - 1] ?? 0) + (same ? 0 : 1),
        ...(swapped ? [(before[b - 2] ?? 0) + 1] : []),
      )
    }
    before = row
    row = next
  }
  return row[other.length] ?? 0
}

/** Variables that are no setting, each with the one that it is near to, if that one is not set itself. */
export const strayNames = (environment: Environment): readonly Stray[] => {
  const names = new Set([...known, ...others])
  const open = known.filter((name) => (environment[name] ?? '') === '')
  return Object.entries(environment)
    .filter(([name, value]) => name.length >= LEAST && value !== '' && !names.has(name))
    .flatMap(([name]) => {
      const meant = open.find((one) => slipsBetween(name, one) <= MOST_SLIPS)
      return meant === undefined ? [] : [{ name, meant }]
    })
}
