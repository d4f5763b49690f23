/**
 * What a key may still spend: the least that its limits, those of the keys above it and its wallet leave. For reports.
 */
import { dayOf, weekOf } from '../../core/time.ts'
import { WALLET_MINIMUM } from '../../ledger/lend.ts'
import { capPeriods, keyScope, monthOfDay } from '../../ledger/scopes.ts'
import type { KeyId } from '../../tenancy/key.ts'
import { capList, limitRows, type Spent } from '../../tenancy/limits.ts'
import { clockOf } from '../engine/clock.ts'
import { type Engine, once, statement } from '../engine/engine.ts'
import { countOf, maybeText, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { estimatedOf, heldOfLease, heldOnLeases, settledBalance, usedOnLeases } from '../ledger/sums.ts'
import type { KeySpend, LeftToSpend } from './tenancy-port.ts'

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
           coalesce(cast(sum(x.held) as bigint), 0) as held, coalesce(cast(sum(x.estimated) as bigint), 0) as estimated
         from (select b.used, b.calls, b.estimated, 0 as held from budget b where b.scope = $1
           union all select l.used, l.calls, ${estimatedOf('l')}, ${heldOfLease}
           from lease l join lease_scope s on s.lease_id = l.id
           where s.scope = $1 and l.state <> 'closed' and l.key_id in (select n.key_id from key_line n where n.owner_id = $2)) x`,
        keyScope(id, period),
        id,
      ),
    ),
  )
  const rows = periods.map(({ cap }, at) => [cap, onlyRow(sums[at] ?? [])] as const)
  const whole = new Map(rows).get('spendCap') ?? {}
  const sumOf = (column: string) =>
    Object.fromEntries(rows.map(([cap, row]) => [limitRows[cap].cap.spent, nanoOf(row, column)])) as Spent
  return {
    ...sumOf('used'),
    estimated: sumOf('estimated'),
    held: nanoOf(whole, 'held'),
    requests: countOf(whole, 'calls'),
  }
}

/** What the leases of some keys used and no counter includes yet, and what their open calls hold. */
const taken = (which: string): string => `(${usedOnLeases(which)} + ${heldOnLeases(which)})`

const used = (scope: string): string => `coalesce((select b.used from budget b where b.scope = ${scope}), 0)`

const under = 'l.key_id in (select n.key_id from key_line n where n.owner_id = k.id)'
const ofWallet = 'l.key_id in (select o.id from api_key o where o.wallet_id = k.wallet_id)'
const line = 'api_key k join key_line m on m.owner_id = k.id where m.key_id = $1'
const wallet = `${settledBalance('k.wallet_id')} - ${heldOnLeases('l.wallet_id = k.wallet_id')}`

/** With less than the minimum in the wallet no call is admitted, so nothing can be spent. */
const spendable = `case when ${wallet} between 0 and ${WALLET_MINIMUM - 1n} then 0 else ${wallet} end`

const periods = { month: '$2', day: '$3', week: '$4' } as const

const leftOfCap = (member: string, cap: string, period: 'life' | keyof typeof periods): string => {
  const [scope, leases] =
    period === 'life'
      ? ["'key:' || k.id", under]
      : [`'key:' || k.id || ':' || ${periods[period]}`, `l.${period} = ${periods[period]} and ${under}`]
  return `select '${member}' as name, k.id as owner, ${cap} - ${used(scope)} - ${taken(leases)} as amount
    from ${line} and ${cap} is not null`
}

/** Every limit of key `$1` in month `$2`, on day `$3` and in its week `$4`, with what it leaves: limit − charged − held. */
const limits = `
  ${capList.map(({ member, column, cap }) => leftOfCap(member, `k.${column}`, cap.period)).join(' union all ')}
  union all select 'stop_at_remaining_usd', k.id, ${wallet} - k.stop_at from ${line} and k.stop_at is not null
  union all select 'sub_wallet', null, s.lim - s.used - ${taken(`l.sub_id = k.sub_id and ${ofWallet}`)}
    from api_key k join budget s on s.sub_id = k.sub_id where k.id = $1
  union all select 'daily_limit_usd', null,
      r.daily_limit - ${used("'day:' || k.wallet_id || ':' || $3")} - ${taken(`l.day = $3 and ${ofWallet}`)}
    from api_key k join wallet_rules r on r.wallet_id = k.wallet_id where k.id = $1 and r.daily_limit is not null
  union all select 'wallet', null, ${spendable} from api_key k where k.id = $1`

/** The tightest limit of a key, or undefined for a key that does not exist. */
export const leftOf = async (engine: Engine, id: KeyId): Promise<LeftToSpend | undefined> => {
  const day = dayOf(await clockOf(engine))
  const text = `select x.* from (${limits}) x order by x.amount limit 1`
  const [row] = await once(engine, 'control', text, id, monthOfDay(day), day, weekOf(day))
  if (row === undefined) return undefined
  const owner = maybeText(row, 'owner')
  return {
    limit: textOf(row, 'name'),
    amount: nanoOf(row, 'amount'),
    ...(owner === undefined ? {} : { owner }),
  }
}
