/** What a key and all below it have spent, and what their open calls hold. */
import { dayOf } from '../../core/time.ts'
import { capPeriods, keyScope } from '../../ledger/scopes.ts'
import { limitRows, type Spent } from '../../tenancy/limits.ts'
import { clockOf } from '../engine/clock.ts'
import { type Engine, statement } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow } from '../engine/row.ts'
import { heldOfLease } from '../ledger/sums.ts'
import type { KeySpend } from './tenancy-port.ts'

/**
 * All use of the scopes of a key: both counted and still on leases, what open calls hold of it, and how many calls were
 * charged.
 */
export const spendOf = async (engine: Engine, id: string): Promise<KeySpend> => {
  const now = await clockOf(engine)
  const periods = capPeriods(dayOf(now))
  const sums = await engine.batch(
    'control',
    periods.map(({ period }) =>
      statement(
        `select coalesce(cast(sum(x.used) as bigint), 0) as used, coalesce(cast(sum(x.calls) as bigint), 0) as calls,
           coalesce(cast(sum(x.held) as bigint), 0) as held
         from (select b.used, b.calls, 0 as held from budget b where b.scope = $1
           union all select l.used, l.calls,
             ${heldOfLease}
           from lease l join lease_scope s on s.lease_id = l.id
           where s.scope = $1 and l.state <> 'closed' and l.key_id in (select n.key_id from key_line n where n.owner_id = $2)) x`,
        keyScope(id, period),
        id,
      ),
    ),
  )
  const rows = periods.map(({ cap }, at) => [cap, onlyRow(sums[at] ?? [])] as const)
  const whole = new Map(rows).get('spendCap') ?? {}
  const spent = Object.fromEntries(rows.map(([cap, row]) => [limitRows[cap].cap.spent, nanoOf(row, 'used')]))
  return { ...(spent as Spent), held: nanoOf(whole, 'held'), requests: countOf(whole, 'calls') }
}
