/**
 * Calls as rows for people: money from the ledger, the rest from the detail stored beside it. Content is never stored.
 */
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

export type Bind = (value: Value) => string

/** The ids of a tenant's keys, and of the keys below them. */
export const keysOfTenant = (tenant: string): string =>
  `select n.key_id from key_line n where n.owner_id = cast(${tenant} as text)
     or n.owner_id in (select j.key_id from key_note j where j.tenant_id = cast(${tenant} as text))`

/** Whether the row is that of one of the organisations. */
export const orgsTest = (row: string, orgs: Scope['orgs'], bind: Bind): readonly string[] =>
  orgs === 'all' ? [] : [`${row}.org_id in (${orgs.map(bind).join(', ') || 'null'})`]

/** The conditions on keys `k` and their notes `o` for a scope. */
export const scopeTests = (
  { orgs, madeBy, keyId, tree, tenants, tenant }: Scope,
  bind: Bind,
): readonly string[] => [
  ...orgsTest('k', orgs, bind),
  ...(madeBy === undefined ? [] : [`o.made_by = ${bind(madeBy)}`]),
  ...(keyId === undefined ? [] : [`k.id = ${bind(keyId)}`]),
  ...(tree === undefined
    ? []
    : [`k.id in (select n.key_id from key_line n where n.owner_id = ${bind(tree)})`]),
  ...(tenants === true ? ['k.parent_id is not null'] : []),
  ...(tenant === undefined ? [] : [`k.id in (${keysOfTenant(bind(tenant))})`]),
]

/** How many parts of a union one select has: SQLite takes at most 500. */
const UNION_MOST = 200

const shown = ({ dialect }: Engine, from: string, order: string): string =>
  `select n.ref as id, n.at, n.key_id, k.label, k.prefix, n.amount, d.detail,
     coalesce((select cast(sum(r.amount) as bigint) from transfer r where r.of_call = n.ref), 0) as refunded
   from ${from} join api_key k on k.id = n.key_id ${dialect.leftOne('usage_detail', 'd', 'call_id', 'n.ref')} order by ${order}`

/** Calls before the one that the query names, in the same order. */
const earlier = ({ before }: CallQuery, bind: Bind): string =>
  before === undefined
    ? '1 = 1'
    : `(t.at, t.ref) < (select b.at, b.ref from transfer b where b.kind = 'usage' and b.ref = ${bind(before)})`

const NEWEST_FIRST = 't.at desc, t.ref desc'

/** The keys that can have a call on the page, and the time before which none of its calls lies. */
type Busiest = { readonly keys: readonly string[]; readonly since: number }

/**
 * The keys with the newest last calls, at most as many as the page has rows. That is one look into the index of keys
 * and time per key, however many calls there are, of these keys or of others.
 */
const busiest = async (engine: Engine, query: CallQuery): Promise<Busiest> => {
  const params: Value[] = []
  const bind: Bind = (value) => `$${params.push(value)}`
  const newest = `select cast(t.at as text) || ' ' || t.ref from transfer t
    where t.key_id = k.id and t.kind = 'usage' and ${earlier(query, bind)} order by ${NEWEST_FIRST} limit 1`
  const tests = ['1 = 1', ...scopeTests(query, bind)].join(' and ')
  const rows = await once(
    engine,
    'reading',
    statement(
      `select k.id, coalesce((${newest}), '') as place from api_key k left join key_note o on o.key_id = k.id
       where ${tests} order by place desc limit ${bind(query.most)}`,
      ...params,
    ),
  )
  const used = rows.filter((row) => textOf(row, 'place') !== '')
  const last = used.length < query.most ? undefined : used.at(-1)
  return {
    keys: used.map((row) => textOf(row, 'id')),
    since: last === undefined ? 0 : Number(textOf(last, 'place').split(' ')[0]),
  }
}

const united = (parts: readonly string[]): string =>
  Array.from({ length: Math.ceil(parts.length / UNION_MOST) }, (_, at) =>
    parts.slice(at * UNION_MOST, (at + 1) * UNION_MOST),
  )
    .map((some) => `select * from (${some.join(' union all ')}) c`)
    .join(' union all ')

/** The newest calls of each key, by the index of keys and time; the newest of all of them are shown. */
const ofKeys = (engine: Engine, query: CallQuery, { keys, since }: Busiest): Statement => {
  const params: Value[] = []
  const bind: Bind = (value) => `$${params.push(value)}`
  const [test, from, most] = [earlier(query, bind), bind(since), bind(query.most)]
  const each = keys.map(
    (key) => `select * from (select t.ref, t.at, t.key_id, t.amount from transfer t
      where t.key_id = ${bind(key)} and t.kind = 'usage' and t.at >= ${from} and ${test}
      order by ${NEWEST_FIRST} limit ${most}) s`,
  )
  const newest = `(select * from (${united(each)}) t order by ${NEWEST_FIRST} limit ${most}) n`
  return statement(shown(engine, newest, 'n.at desc, n.ref desc'), ...params)
}

/**
 * One call by its id, or the newest calls of all organisations: ids grow with time, so they are read backwards from the
 * last. A cross join keeps SQLite from going by key, which would read all calls in order to sort them.
 */
const ofAll = (engine: Engine, query: CallQuery): Statement => {
  const params: Value[] = []
  const bind: Bind = (value) => `$${params.push(value)}`
  const tests = [
    `t.kind = 'usage'`,
    ...scopeTests(query, bind),
    ...(query.id === undefined ? [] : [`t.ref = ${bind(query.id)}`]),
  ]
  const newest = `(select t.ref, t.at, t.key_id, t.amount from transfer t cross join api_key k left join key_note o on o.key_id = k.id
    where k.id = t.key_id and ${tests.join(' and ')} order by t.ref desc limit ${bind(query.most)}) n`
  return statement(shown(engine, newest, 'n.ref desc'), ...params)
}

export const callLines = async (engine: Engine, query: CallQuery): Promise<readonly CallLine[]> => {
  const some =
    query.orgs !== 'all' || (query.keyId ?? query.tree ?? query.madeBy ?? query.tenant) !== undefined
  const byKey = query.id === undefined && some
  const found = byKey ? await busiest(engine, query) : undefined
  if (found?.keys.length === 0) return []
  return (
    await once(engine, 'reading', found === undefined ? ofAll(engine, query) : ofKeys(engine, query, found))
  ).map(lineOf)
}
