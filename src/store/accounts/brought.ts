/** What another gateway charged a key before it came here: its counters begin with that, and its caps count it. */
import type { Key } from '../../tenancy/key.ts'
import { limitRows, type Spent } from '../../tenancy/limits.ts'
import { clockIn } from '../engine/clock.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'
import { countersOfKey } from '../ledger/spender.ts'

/** Makes the counters of a key that was just made, in the present periods. More than a cap is tolerated, and lends nothing. */
export const bring = async (run: Run, dialect: SqlDialect, key: Key, brought: Spent): Promise<void> => {
  const { each } = dialect
  const counters = countersOfKey(key, await clockIn(run, dialect)).flatMap(({ cap, ...counter }) => {
    const amount = brought[limitRows[cap].cap.spent]
    return amount === 0n ? [] : [{ ...counter, a: amount.toString() }]
  })
  const amount = `cast(e.value->>'a' as bigint)`
  await run(
    `insert into budget (scope, owner_id, month, week, day, keep_until, wallet_id, lim, tolerated, used, brought)
     select e.value->>'s', e.value->>'o', e.value->>'month', e.value->>'week', e.value->>'day', cast(e.value->>'k' as bigint),
       e.value->>'w', cast(e.value->>'l' as bigint), ${amount}, ${amount}, ${amount} from ${each('$1')} e`,
    [JSON.stringify(counters)],
  )
}
