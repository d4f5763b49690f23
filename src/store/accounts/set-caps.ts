/** The counters of a key's caps follow its limits. */
import { DAY_MS, dayOf, type Instant } from '../../core/time.ts'
import { capPeriods, keyScope } from '../../ledger/scopes.ts'
import type { Key } from '../../tenancy/key.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'

/**
 * Updates the caps' counters of today and tomorrow to the key's new limits: tomorrow's too, because a loan that was
 * faster may have made them. A cap below what is already used and held tolerates that much; see the schema.
 */
export const setCaps = async (
  run: Run,
  { each, lock }: SqlDialect,
  key: Key,
  now: Instant,
): Promise<void> => {
  const caps = new Map(
    [now, now + DAY_MS].flatMap((at) =>
      capPeriods(dayOf(at)).map(({ cap, period }) => [keyScope(key.id, period), key.limits[cap]] as const),
    ),
  )
  const named = JSON.stringify([...caps].map(([s, cap]) => ({ s, l: cap?.toString() })))
  await run(
    `select b.scope from budget b where b.scope in (select e.value->>'s' from ${each('$1')} e) order by b.scope${lock('b')}`,
    [named],
  )
  await run(
    `update budget set tolerated = budget.used + budget.held, lim = cast(e.value->>'l' as bigint)
     from ${each('$1')} e where budget.scope = e.value->>'s'`,
    [named],
  )
}
