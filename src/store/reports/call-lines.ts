/** Calls as rows for people: money from the ledger, the rest from the detail kept beside it. No content is ever kept. */
import { isObject, parseJson } from '../../core/json-body.ts'
import { readDetail } from '../../ledger/read-detail.ts'
import { integer, maybe, nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, type Statement, statement, type Value } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import type { CallLine, CallQuery, Scope } from './report-port.ts'

const calls = rowsOf({
  id: text('id'),
  at: integer('at'),
  keyId: text('key_id'),
  label: text('label'),
  prefix: text('prefix'),
  amount: nano('amount'),
  refunded: nano('refunded'),
})
const details = rowsOf({ detail: maybe(text('detail')) })

const lineOf = (row: Row): CallLine => {
  const written = details.read(row).detail
  const value = written === undefined ? undefined : parseJson(written)
  const detail = isObject(value) ? readDetail(value) : undefined
  return { ...calls.read(row), ...(detail === undefined ? {} : { detail }) }
}

type Bind = (value: Value) => string

/** The ids of the keys of a tenant, and of those below them. */
export const keysOfTenant = (tenant: string): string =>
  `select n.key_id from key_line n where n.owner_id = cast(${tenant} as text)
     or n.owner_id in (select j.key_id from key_note j where j.tenant_id = cast(${tenant} as text))`

/** The conditions on keys `k` and their notes `o` that a scope means. */
export const scopeTests = (
  { orgId, madeBy, keyId, tenants, tenant }: Scope,
  bind: Bind,
): readonly string[] => [
  ...(orgId === undefined ? [] : [`k.org_id = ${bind(orgId)}`]),
  ...(madeBy === undefined ? [] : [`o.made_by = ${bind(madeBy)}`]),
  ...(keyId === undefined ? [] : [`k.id = ${bind(keyId)}`]),
  ...(tenants === true ? ['k.parent_id is not null'] : []),
  ...(tenant === undefined ? [] : [`k.id in (${keysOfTenant(bind(tenant))})`]),
]

/** With more keys than this the newest calls of all are looked through; with fewer, the newest of each key. */
const FEW_KEYS = 200

const shown = (from: string, order: string): string =>
  `select n.ref as id, n.at, n.key_id, k.label, k.prefix, n.amount, d.detail,
     coalesce((select cast(sum(r.amount) as bigint) from transfer r where r.of_call = n.ref), 0) as refunded
   from ${from} join api_key k on k.id = n.key_id left join usage_detail d on d.call_id = n.ref order by ${order}`

/** The ids of the keys that count, or undefined where they are many. */
const fewKeys = async (engine: Engine, query: CallQuery): Promise<readonly string[] | undefined> => {
  const params: Value[] = []
  const tests = scopeTests(query, (value) => `$${params.push(value)}`)
  const rows = await once(
    engine,
    'control',
    statement(
      `select k.id from api_key k left join key_note o on o.key_id = k.id
       where ${['1 = 1', ...tests].join(' and ')} limit ${FEW_KEYS + 1}`,
      ...params,
    ),
  )
  return rows.length > FEW_KEYS ? undefined : rows.map((row) => textOf(row, 'id'))
}

/** Calls before the one that the query names, by the same order. */
const earlier = ({ before }: CallQuery, bind: Bind): string =>
  before === undefined
    ? '1 = 1'
    : `(t.at, t.ref) < (select b.at, b.ref from transfer b where b.kind = 'usage' and b.ref = ${bind(before)})`

/** The newest calls of each key by the index of keys and time, of which the newest of all are shown. */
const ofFewKeys = (query: CallQuery, keys: readonly string[]): Statement => {
  const params: Value[] = []
  const bind: Bind = (value) => `$${params.push(value)}`
  const [test, most] = [earlier(query, bind), bind(query.most)]
  const each = keys.map(
    (key) => `select * from (select t.ref, t.at, t.key_id, t.amount from transfer t
      where t.key_id = ${bind(key)} and t.kind = 'usage' and ${test} order by t.at desc, t.ref desc limit ${most}) s`,
  )
  const newest = `(select * from (${each.join(' union all ')}) u order by u.at desc, u.ref desc limit ${most}) n`
  return statement(shown(newest, 'n.at desc, n.ref desc'), ...params)
}

/**
 * Ids grow with time: from the newest call of all backwards, as far as the page needs. A cross join keeps SQLite from going by
 * key, which would read all calls to sort them.
 */
const ofManyKeys = (query: CallQuery): Statement => {
  const params: Value[] = []
  const bind: Bind = (value) => `$${params.push(value)}`
  const tests = [
    `t.kind = 'usage'`,
    ...scopeTests(query, bind),
    ...(query.before === undefined ? [] : [`t.ref < ${bind(query.before)}`]),
    ...(query.id === undefined ? [] : [`t.ref = ${bind(query.id)}`]),
  ]
  const newest = `(select t.ref, t.at, t.key_id, t.amount from transfer t cross join api_key k left join key_note o on o.key_id = k.id
    where k.id = t.key_id and ${tests.join(' and ')} order by t.ref desc limit ${bind(query.most)}) n`
  return statement(shown(newest, 'n.ref desc'), ...params)
}

export const callLines = async (engine: Engine, query: CallQuery): Promise<readonly CallLine[]> => {
  const keys = query.id === undefined ? await fewKeys(engine, query) : undefined
  if (keys?.length === 0) return []
  const asked = keys === undefined ? ofManyKeys(query) : ofFewKeys(query, keys)
  return (await once(engine, 'reading', asked)).map(lineOf)
}
