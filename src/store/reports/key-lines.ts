/** Keys with their counters, for lists that people read: one query per page. */
import { present } from '../../core/json-body.ts'
import { dayOf } from '../../core/time.ts'
import { type CapPeriod, capPeriods } from '../../ledger/scopes.ts'
import { capList, limitRows, type Spent } from '../../tenancy/limits.ts'
import { keyOf } from '../accounts/key-row.ts'
import { clockOf } from '../engine/clock.ts'
import { integer, maybe, nano, rowsOf, text } from '../engine/columns.ts'
import { binding, type Engine, once, type Value } from '../engine/engine.ts'
import { estimatedOf } from '../ledger/sums.ts'
import { ownerTests } from './call-lines.ts'
import { containing } from './name-search.ts'
import type { KeyLine, KeyLineQuery, ReportStore } from './report-port.ts'

const columnsOf = (sum: 'used' | 'estimated') =>
  Object.fromEntries(capList.map(({ column, cap }) => [cap.spent, nano(`${column}_${sum}`)])) as {
    readonly [Name in keyof Spent]: ReturnType<typeof nano>
  }
const estimates = rowsOf(columnsOf('estimated'))

const counters = rowsOf({
  ...columnsOf('used'),
  requests: integer('requests'),
  lastUsed: maybe(integer('last_used')),
  madeBy: maybe(text('made_by_name')),
  reference: maybe(text('reference')),
  tenantId: maybe(text('tenant_id')),
})

/** What a scope has used: its counter, and what leases used that the counter does not include yet. */
const usedOf = (scope: string, column: 'used' | 'calls' | 'estimated'): string =>
  `coalesce((select b.${column} from budget b where b.scope = ${scope}), 0)
   + coalesce((select cast(sum(${column === 'estimated' ? estimatedOf('l') : `l.${column}`}) as bigint) from lease l join key_line n on n.key_id = l.key_id
     where n.owner_id = k.id and l.state <> 'closed'
       and ${scope} in ('key:' || n.owner_id, ${['month', 'week', 'day'].map((period) => `'key:' || n.owner_id || ':' || l.${period}`).join(', ')})), 0)`

const conditions = (query: KeyLineQuery, bind: (value: Value) => string): readonly string[] => {
  const { orgs, below, which, search, id, after } = query
  const where =
    orgs === 'all'
      ? ['1 = 1']
      : [`k.org_id in (${orgs.map(bind).join(', ') || 'null'})`, 'k.trial_until is null']
  if (below !== undefined)
    where.push(`k.id in (select n.key_id from key_line n where n.owner_id = ${bind(below)} and n.depth > 0)`)
  if (id !== undefined) where.push(`k.id = ${bind(id)}`)
  else if (query.deleted !== true) where.push('k.deleted = 0')
  if (which === 'own') where.push('k.parent_id is null')
  if (which === 'tenants') where.push('k.parent_id is not null')
  where.push(...ownerTests(query, bind))
  if (search !== undefined) {
    const has = containing(search, bind)
    where.push(
      `(${has('k.label')} or ${has("coalesce(o.reference, '')")} or ${has('k.prefix')} or k.id = ${bind(search)})`,
    )
  }
  if (after !== undefined)
    where.push(
      `(k.created_at, k.id) < (select a.created_at, a.id from api_key a where a.id = ${bind(after)})`,
    )
  return where
}

/** The scope of a cap of the key `k`. */
const scopeOf = ({ period }: CapPeriod, bind: (value: Value) => string): string =>
  period === undefined ? "'key:' || k.id" : `'key:' || k.id || ':' || cast(${bind(period)} as text)`

/** Keys that a cap has stopped, or that have used nine tenths of one, by their counters. */
const nearCap = (periods: readonly CapPeriod[], bind: (value: Value) => string): string => {
  const near = periods.map((period) => {
    const cap = `k.${limitRows[period.cap].column}`
    return `(${cap} is not null and exists (select 1 from budget b
      where b.scope = ${scopeOf(period, bind)} and b.used * 10 >= ${cap} * 9 and b.used > 0))`
  })
  return `(k.disabled_reason in ('spend_cap', 'monthly_cap') or ${near.join(' or ')})`
}

export const keyLines = async (engine: Engine, query: KeyLineQuery): Promise<readonly KeyLine[]> => {
  const periods = capPeriods(dayOf(await clockOf(engine)))
  const { params, bind } = binding()
  const spent = periods.flatMap((period) =>
    (['used', 'estimated'] as const).map(
      (sum) => `${usedOf(scopeOf(period, bind), sum)} as ${limitRows[period.cap].column}_${sum}`,
    ),
  )
  // The page is chosen first, so that counters are only read for its keys.
  const page = `select k.id from api_key k left join key_note o on o.key_id = k.id
    where ${conditions(query, bind).join(' and ')} ${query.nearCap === true ? `and ${nearCap(periods, bind)}` : ''}
    order by k.created_at desc, k.id desc limit ${bind(query.most)}`
  const rows = await once(
    engine,
    'control',
    `select k.*, ${spent.join(', ')},
         ${usedOf("'key:' || k.id", 'calls')} as requests,
         (select max(t.at) from transfer t where t.key_id = k.id) as last_used,
         o.reference, o.tenant_id, p.email as made_by_name
       from (${page}) g join api_key k on k.id = g.id left join key_note o on o.key_id = k.id left join person p on p.id = o.made_by
       order by k.created_at desc, k.id desc`,
    ...params,
  )
  return rows.map((row) => ({
    key: keyOf(row),
    ...counters.read(row),
    estimated: estimates.read(row),
  }))
}

const around = rowsOf({ id: text('id'), prefix: text('prefix') })

/** Of keys that replaced each other by rotation, in the order in which they were made. */
export const keysAround = async (
  engine: Engine,
  { orgId, id, first, ...owner }: Parameters<ReportStore['keysAround']>[0],
): ReturnType<ReportStore['keysAround']> => {
  const { params, bind } = binding(first, orgId)
  const tests = ['', ...ownerTests(owner, bind)].join(' and ')
  const rows = await once(
    engine,
    'control',
    `select k.id, k.prefix from (
         select cast($1 as text) as id union select n.key_id from key_note n where n.tenant_id = $1) g
       join api_key k on k.id = g.id left join key_note o on o.key_id = k.id
       where k.org_id = $2 ${tests}
       order by k.created_at, k.id`,
    ...params,
  )
  const keys = rows.map(around.read)
  const at = keys.findIndex((key) => key.id === id)
  const [replaces, replacedBy] = [keys[at - 1], keys[at + 1]]
  return {
    ...present({ replaces, replacedBy }),
  }
}
