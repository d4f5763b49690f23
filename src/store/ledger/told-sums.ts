/**
 * Sums over all leases under a limit that decide nothing and are only told. Processes keep many leases, and a loan holds
 * the locks of its limits: where there are more than a few leases such a sum is made once a second.
 */
import type { Nano } from '../../core/money.ts'
import type { Row } from '../engine/engine.ts'
import { countOf, nanoOf, textOf } from '../engine/row.ts'

/** So many leases are summed each time. */
export const FEW_LEASES = 64
const KNOWN_MS = 1_000

/** How many leases `l` a condition finds, no further than needed. */
export const manyLeases = (where: string): string =>
  `(select cast(count(*) as bigint) from (select 1 from lease l where l.state <> 'closed' and ${where} limit ${FEW_LEASES + 1}) x)`

/** The same where leases are read for each of a list, whose own rows are read too. */
export const manyOfEach = (list: string, leases: string): string =>
  `(select cast(coalesce(sum(1 + ${leases}), 0) as bigint) from (${list} limit ${FEW_LEASES + 1}) o)`

export class ToldSums {
  readonly #known = new Map<string, { readonly sum: Nano; readonly untilMs: number }>()

  /** Those of the names whose sums must be read now. */
  due(names: Iterable<string>): readonly string[] {
    const nowMs = performance.now()
    for (const [name, { untilMs }] of this.#known) if (untilMs <= nowMs) this.#known.delete(name)
    return [...new Set(names)].filter((name) => !this.#known.has(name))
  }

  /** The sums that are known, with those in rows of `name`, `sum` and `leases`. */
  with(read: readonly Row[]): ReadonlyMap<string, Nano> {
    const sums = new Map<string, Nano>()
    for (const [name, { sum }] of this.#known) sums.set(name, sum)
    for (const row of read) {
      const [name, sum] = [textOf(row, 'name'), nanoOf(row, 'sum')]
      sums.set(name, sum)
      if (countOf(row, 'leases') > FEW_LEASES)
        this.#known.set(name, { sum, untilMs: performance.now() + KNOWN_MS })
    }
    return sums
  }
}
