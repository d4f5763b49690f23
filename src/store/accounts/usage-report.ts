/** Reports of what keys used: money from the ledger, tokens and models from the details kept beside it. */
import { DAY_MS } from '../../core/time.ts'
import { integer, maybe, nano, rowsOf, text, truth } from '../engine/columns.ts'
import { type Engine, once, type Row, statement, type Value } from '../engine/engine.ts'
import { lessRefunds } from '../ledger/sums.ts'
import type { UsageOf, UsageQuery, UsageRow } from './tenancy-port.ts'

const columns = {
  day: `t.at / ${DAY_MS} as "day"`,
  model: `coalesce(d.model, '') as "model"`,
  key: 'k.id as "key", k.label, k.parent_id, k.deleted',
} as const
/** How many columns each of them is. */
const widths = { day: 1, model: 1, key: 4 } as const

const usages = rowsOf({
  day: maybe(integer('day')),
  model: maybe(text('model')),
  requests: integer('requests'),
  inputTokens: integer('input_tokens'),
  outputTokens: integer('output_tokens'),
  cost: nano('cost'),
})

/** Of reports by key: whose calls they are. */
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
 * The keys `k` whose calls count, found by the line of the key that asks so that no report reads the whole ledger; a cross
 * join keeps SQLite from beginning with the calls.
 */
const keysOf = (of: UsageOf): { readonly text: string; readonly params: readonly Value[] } => {
  if (of === 'everybody') return { text: 'api_key k', params: [] }
  if ('only' in of) return { text: '(select * from api_key where id = $3) k', params: [of.only] }
  return {
    text: '(select a.* from key_line n join api_key a on a.id = n.key_id where n.owner_id = $3) k',
    params: [of.from],
  }
}

/**
 * Charges less refunds of the keys in `[from, to)`, grouped, as their caps count them; a recovered call has the empty
 * model name.
 */
export const usageOf = async (engine: Engine, query: UsageQuery): Promise<readonly UsageRow[]> => {
  const groups = (['day', 'model', 'key'] as const).filter((group) => query.groupBy.includes(group))
  const selected = groups.map((group) => `${columns[group]}, `).join('')
  const width = groups.reduce((sum, group) => sum + widths[group], 0)
  const places = Array.from({ length: width }, (_, place) => place + 1).join(', ')
  const keys = keysOf(query.of)
  const ofUsage = (what: string) =>
    `coalesce(cast(sum(case t.kind when 'usage' then ${what} else 0 end) as bigint), 0)`
  const text = `select ${selected}${ofUsage('1')} as requests, ${ofUsage('d.input_tokens')} as input_tokens,
       ${ofUsage('d.output_tokens')} as output_tokens,
       coalesce(cast(sum(${lessRefunds}) as bigint), 0) as cost
     from ${keys.text} cross join transfer t
       left join usage_detail d on d.call_id = coalesce(t.of_call, t.ref)
     where t.key_id = k.id and t.kind in ('usage', 'refund') and t.at >= $1 and t.at < $2
     ${width > 0 ? `group by ${places} order by ${places}` : ''}${query.most === undefined ? '' : ` limit ${query.most}`}`
  const rows = await once(engine, 'reading', statement(text, query.from, query.to, ...keys.params))
  return rows.map(rowOf)
}
