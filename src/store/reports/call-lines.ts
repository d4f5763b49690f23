/**
 * Calls as rows for people: charged ones from the ledger, with the detail stored beside them; refused and failed ones from
 * the journal of outcomes. Content is never stored.
 */
import { present } from '../../core/json-body.ts'
import { failureRows } from '../calls/failure-store.ts'
import { integer, nano, rowsOf, text } from '../engine/columns.ts'
import { type Bind, binding, type Engine, type Row, type Statement, statement } from '../engine/engine.ts'
import { maybeText, textOf } from '../engine/row.ts'
import { DETAIL_COLUMNS, detailOf } from '../ledger/call-rows.ts'
import { isPaid } from '../ledger/sums.ts'
import { leastId } from '../months/call-ids.ts'
import type { CallLine, CallPlace, CallQuery, Scope } from './call-port.ts'

const calls = rowsOf({
  id: text('id'),
  at: integer('at'),
  keyId: text('key_id'),
  label: text('label'),
  prefix: text('prefix'),
  amount: nano('amount'),
  refunded: nano('refunded'),
})

const chargedOf = (row: Row): CallLine => {
  const call = calls.read(row)
  return {
    ...call,
    ...present({ month: maybeText(row, 'month'), detail: detailOf(row, call.id, call.keyId) }),
  }
}

const failedOf = (row: Row): CallLine => {
  const { id: _id, keyId: _key, at: _at, ...failure } = failureRows.read(row)
  return { ...calls.read(row), failure }
}

/** Where calls are read from. */
export type Source = {
  readonly table: string
  readonly ref: string
  readonly test: string
  /** Its rows name their organisation. */
  readonly byOrg?: true
  readonly lineOf: (row: Row) => CallLine
  /** What a line needs of the rows `n`, and what they are joined with. */
  readonly shows: (engine: Engine) => readonly [columns: string, joined: string]
}

export const charged: Source = {
  table: 'transfer',
  ref: 'ref',
  test: `t.kind = 'usage' and ${isPaid}`,
  lineOf: chargedOf,
  shows: ({ dialect }) => [
    `n.amount, n.month, ${DETAIL_COLUMNS},
     coalesce((select cast(sum(r.amount) as bigint) from transfer r where r.of_call = n.ref), 0) as refunded`,
    dialect.leftOne('usage_detail', 'd', 'call_id', 'n.ref'),
  ],
}

export const failed: Source = {
  table: 'failed_call',
  ref: 'call_id',
  test: '1 = 1',
  byOrg: true,
  lineOf: failedOf,
  shows: () => ['n.model, n.vendor, n.code, n.status, n.detail, 0 as amount, 0 as refunded', ''],
}

/** The ids of a tenant's keys, and of the keys below them. */
export const keysOfTenant = (tenant: string): string =>
  `select n.key_id from key_line n where n.owner_id = cast(${tenant} as text)
     or n.owner_id in (select j.key_id from key_note j where j.tenant_id = cast(${tenant} as text))`

/** Whether the row is that of one of the organisations. */
export const orgsTest = (row: string, orgs: Scope['orgs'], bind: Bind): readonly string[] =>
  orgs === 'all' ? [] : [`${row}.org_id in (${orgs.map(bind).join(', ') || 'null'})`]

/** The conditions on keys `k` and their notes `o` for whose they are: somebody's own or of teams that they lead, or a team's. */
export const ownerTests = (
  { madeBy, leads = [], team }: Pick<Scope, 'madeBy' | 'leads' | 'team'>,
  bind: Bind,
): readonly string[] => [
  ...(madeBy === undefined
    ? []
    : leads.length === 0
      ? [`o.made_by = ${bind(madeBy)}`]
      : [`(o.made_by = ${bind(madeBy)} or k.sub_id in (${leads.map(bind).join(', ')}))`]),
  ...(team === undefined ? [] : [`k.sub_id = ${bind(team)}`]),
]

/** The conditions on keys `k` and their notes `o` for a scope. */
export const scopeTests = (
  { orgs, keyId, tree, tenants, tenant, ...owner }: Scope,
  bind: Bind,
): readonly string[] => [
  ...orgsTest('k', orgs, bind),
  ...ownerTests(owner, bind),
  ...(keyId === undefined ? [] : [`k.id = ${bind(keyId)}`]),
  ...(tree === undefined
    ? []
    : [`k.id in (select n.key_id from key_line n where n.owner_id = ${bind(tree)})`]),
  ...(tenants === true ? ['k.parent_id is not null'] : []),
  ...(tenant === undefined ? [] : [`k.id in (${keysOfTenant(bind(tenant))})`]),
]

/** How many parts of a union one select has: SQLite takes at most 500. */
const UNION_MOST = 200

/** One look: the newest calls of a source before a place. */
export type Look = CallQuery & {
  readonly place: CallPlace | undefined
  /** Only among so many of the newest calls of all organisations. */
  readonly among?: number
}

const shown = (engine: Engine, { ref, shows }: Source, from: string, order: string): string => {
  const [columns, joined] = shows(engine)
  return `select n.${ref} as id, n.at, n.key_id, k.label, k.prefix, ${columns}
   from ${from} join api_key k on k.id = n.key_id ${joined} order by ${order}`
}

/** Calls before the place and within the span, where they are in the order of time. */
const within = ({ ref }: Source, { place, from }: Look, bind: Bind): string =>
  [
    '1 = 1',
    ...(place === undefined ? [] : [`(t.at, t.${ref}) < (${bind(place.at)}, ${bind(place.id)})`]),
    ...(from === undefined ? [] : [`t.at >= ${bind(from)}`]),
  ].join(' and ')

const newestFirst = (row: string, { ref }: Source): string => `${row}.at desc, ${row}.${ref} desc`

/** Whose calls can be on the page, keys or organisations, and the time before which none of its calls lies. */
type Busiest = {
  readonly by: 'key_id' | 'org_id'
  readonly ids: readonly string[]
  readonly since: number
}

/**
 * The keys with the newest last calls, at most as many as the page has rows. That is one look into the index of keys
 * and time per key, however many calls there are, of these keys or of others.
 */
export const busiest = (source: Source, look: Look): Statement => {
  const { params, bind } = binding()
  const { table, ref, test } = source
  const newest = `select cast(t.at as text) || ' ' || t.${ref} from ${table} t
    where t.key_id = k.id and ${test} and ${within(source, look, bind)} order by ${newestFirst('t', source)} limit 1`
  const tests = ['1 = 1', ...scopeTests(look, bind)].join(' and ')
  return statement(
    `select k.id, coalesce((${newest}), '') as place from api_key k left join key_note o on o.key_id = k.id
     where ${tests} order by place desc limit ${bind(look.most)}`,
    ...params,
  )
}

/** Organisations whose every call counts, for sources whose rows name them. */
export const wholeOrgs = (source: Source, { orgs, ...rest }: Look): Busiest | undefined => {
  const some = rest.keyId ?? rest.tree ?? rest.madeBy ?? rest.team ?? rest.tenant ?? rest.tenants
  return source.byOrg !== true || orgs === 'all' || some !== undefined
    ? undefined
    : { by: 'org_id', ids: orgs, since: 0 }
}

export const busiestIn = (rows: readonly Row[], { most }: Look): Busiest => {
  const used = rows.filter((row) => textOf(row, 'place') !== '')
  const last = used.length < most ? undefined : used.at(-1)
  return {
    by: 'key_id',
    ids: used.map((row) => textOf(row, 'id')),
    since: last === undefined ? 0 : Number(textOf(last, 'place').split(' ')[0]),
  }
}

const united = (parts: readonly string[]): string =>
  Array.from({ length: Math.ceil(parts.length / UNION_MOST) }, (_, at) =>
    parts.slice(at * UNION_MOST, (at + 1) * UNION_MOST),
  )
    .map((some) => `select * from (${some.join(' union all ')}) c`)
    .join(' union all ')

/** The newest calls of each, by the index of them and time; the newest of all of them are shown. */
export const ofEach = (
  engine: Engine,
  source: Source,
  look: Look,
  { by, ids, since }: Busiest,
): Statement => {
  const { params, bind } = binding()
  const { table, test } = source
  const [tests, from, most] = [within(source, look, bind), bind(since), bind(look.most)]
  const each = ids.map(
    (id) => `select * from (select t.* from ${table} t
      where t.${by} = ${bind(id)} and ${test} and t.at >= ${from} and ${tests}
      order by ${newestFirst('t', source)} limit ${most}) s`,
  )
  const newest = `(select * from (${united(each)}) t order by ${newestFirst('t', source)} limit ${most}) n`
  return statement(shown(engine, source, newest, newestFirst('n', source)), ...params)
}

/** A call is charged at most so long after its id was made, as far as a search for a time goes. */
const LATE_MS = 86_400_000

/**
 * One call by its id, those of a batch, or the newest calls of all organisations: ids grow with time, so they are read backwards from the
 * last. A cross join keeps SQLite from going by key, which would read all calls in order to sort them.
 */
export const ofAll = (engine: Engine, source: Source, look: Look): Statement => {
  const { params, bind } = binding()
  const { table, ref, test } = source
  const { place, from, id, batch, most, among } = look
  const tests = [
    test,
    ...(place === undefined ? [] : [`t.${ref} < ${bind(place.id)}`]),
    ...(from === undefined ? [] : [`t.${ref} >= ${bind(leastId(from - LATE_MS))}`]),
    ...(id === undefined ? [] : [`t.${ref} = ${bind(id)}`]),
    ...(batch === undefined
      ? []
      : [`t.${ref} in (select b.call_id from batch_line b where b.batch_id = ${bind(batch)})`]),
  ]
  const whose = ['k.id = t.key_id', ...scopeTests(look, bind)]
  const [rows, where] =
    among === undefined
      ? [`${table} t`, [...whose, ...tests]]
      : [
          `(select t.* from ${table} t where ${tests.join(' and ')} order by t.${ref} desc limit ${bind(among)}) t`,
          whose,
        ]
  const newest = `(select t.* from ${rows} cross join api_key k left join key_note o on o.key_id = k.id
    where ${where.join(' and ')} order by t.${ref} desc limit ${bind(most)}) n`
  return statement(shown(engine, source, newest, `n.${ref} desc`), ...params)
}
