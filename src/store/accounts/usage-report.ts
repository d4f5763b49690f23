/** Reports of what keys used: money from the ledger, tokens and models from the details stored beside it. */
import { DAY_MS } from '../../core/time.ts'
import { integer, maybe, nano, rowsOf, text, truth } from '../engine/columns.ts'
import { type Engine, once, type Row, statement, type Value } from '../engine/engine.ts'
import { lessRefunds, withDetail } from '../ledger/sums.ts'
import { laterOf, prunedUntil } from '../prune/pruned-until.ts'
import type { UsageOf, UsageQuery, UsageRow } from './tenancy-port.ts'

const columns = {
  day: 'x.day as "day"',
  model: 'x.model as "model"',
  key: 'k.id as "key", k.label, k.parent_id, k.deleted',
} as const
/** How many columns each of them has. */
const widths = { day: 1, model: 1, key: 4 } as const

const usages = rowsOf({
  day: maybe(integer('day')),
  model: maybe(text('model')),
  requests: integer('requests'),
  inputTokens: integer('input_tokens'),
  outputTokens: integer('output_tokens'),
  cost: nano('amount'),
})

/** For reports by key: whose calls they are. */
const usingKeys = rowsOf({
  id: text('key'),
  label: text('label'),
  deleted: truth('deleted'),
  parent: maybe(text('parent_id')),
})

const rowOf = (row: Row): UsageRow => {
  const { day, ...usage } = usages.read(row)
  return {
    ...usage,
    ...(day === undefined ? {} : { day: new Date(day * DAY_MS).toISOString().slice(0, 10) }),
    ...(row.key === undefined ? {} : { key: usingKeys.read(row) }),
  }
}

/**
 * The keys `k` whose calls count, found through the requesting key's descendants so that no report reads the whole
 * ledger; a cross join keeps SQLite from beginning with the calls.
 */
const keysOf = (of: UsageOf): { readonly text: string; readonly params: readonly Value[] } => {
  if (of === 'everybody') return { text: 'api_key k', params: [] }
  if ('only' in of) return { text: '(select * from api_key where id = $3) k', params: [of.only] }
  return {
    text: '(select a.* from key_line n join api_key a on a.id = n.key_id where n.owner_id = $3) k',
    params: [of.from],
  }
}

const counted = ['requests', 'input_tokens', 'output_tokens', 'amount'] as const

/**
 * What counts, row by row: the ledger with its details and, before the mark up to which details may be gone, the sums
 * of whole days.
 */
const sourceOf = (engine: Engine, keys: string): string => {
  const ofUsage = (what: string) => `case t.kind when 'usage' then coalesce(${what}, 0) else 0 end`
  return `select t.key_id, t.at / ${DAY_MS} as day, coalesce(d.model, '') as model, ${ofUsage('1')} as requests,
      ${ofUsage('d.input_tokens')} as input_tokens, ${ofUsage('d.output_tokens')} as output_tokens, ${lessRefunds} as amount
    from ${keys} cross join transfer t ${withDetail(engine.dialect)}
    where t.key_id = k.id and t.kind in ('usage', 'refund') and t.at >= ${laterOf('$1', prunedUntil)} and t.at < $2
    union all
    select r.key_id, r.day / ${DAY_MS}, r.model, r.requests, r.input_tokens, r.output_tokens, r.amount
    from ${keys} cross join roll_up_day r
    where r.key_id = k.id and r.day >= ($1 / ${DAY_MS}) * ${DAY_MS} and r.day < $2 and r.day < ${prunedUntil}`
}

/**
 * Charges less refunds of the keys in `[from, to)`, grouped, as their caps count them; a recovered call has the empty
 * model name. Where details are deleted, whole UTC days count.
 */
export const usageOf = async (engine: Engine, query: UsageQuery): Promise<readonly UsageRow[]> => {
  const groups = (['day', 'model', 'key'] as const).filter((group) => query.groupBy.includes(group))
  const selected = groups.map((group) => `${columns[group]}, `).join('')
  const width = groups.reduce((sum, group) => sum + widths[group], 0)
  const places = Array.from({ length: width }, (_, place) => place + 1).join(', ')
  const keys = keysOf(query.of)
  const sums = counted.map((name) => `coalesce(cast(sum(x.${name}) as bigint), 0) as ${name}`).join(', ')
  const text = `select ${selected}${sums}
     from (${sourceOf(engine, keys.text)}) x join api_key k on k.id = x.key_id
     ${width > 0 ? `group by ${places} order by ${places}` : ''}${query.most === undefined ? '' : ` limit ${query.most}`}`
  const rows = await once(engine, 'reading', statement(text, query.from, query.to, ...keys.params))
  return rows.map(rowOf)
}
