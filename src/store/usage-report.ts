/** Reports of what keys used: money from the ledger, tokens and models from the details kept beside it. */
import { DAY_MS } from '../core/time.ts'
import { type Engine, once, type Row, statement } from './engine.ts'
import { countOf, maybeCount, maybeText, nanoOf } from './row.ts'
import type { UsageQuery, UsageRow } from './tenancy-port.ts'

const columns = {
  day: `t.at / ${DAY_MS}`,
  model: `coalesce(d.model, '')`,
  key: 't.key_id',
} as const

const rowOf = (row: Row): UsageRow => {
  const day = maybeCount(row, 'day')
  const model = maybeText(row, 'model')
  const keyId = maybeText(row, 'key')
  return {
    requests: countOf(row, 'requests'),
    inputTokens: countOf(row, 'input_tokens'),
    outputTokens: countOf(row, 'output_tokens'),
    cost: nanoOf(row, 'cost'),
    ...(day === undefined ? {} : { day: new Date(day * DAY_MS).toISOString().slice(0, 10) }),
    ...(model === undefined ? {} : { model }),
    ...(keyId === undefined ? {} : { keyId }),
  }
}

/**
 * As many as the next power of two, so that few texts are prepared. The keys are parameters of their own, since a list
 * in JSON is taken for a hundred keys, and the whole ledger read for them.
 */
const padded = (keyIds: readonly string[]): readonly string[] => {
  const size = 2 ** Math.ceil(Math.log2(keyIds.length))
  return [...keyIds, ...Array<string>(size - keyIds.length).fill(keyIds[0] ?? '')]
}

/** Charged calls of the keys in `[from, to)`, grouped; a recovered call has the empty model name. At most 10 000 rows. */
export const usageOf = async (engine: Engine, query: UsageQuery): Promise<readonly UsageRow[]> => {
  if (query.keyIds.length === 0) return []
  const groups = (['day', 'model', 'key'] as const).filter((group) => query.groupBy.includes(group))
  const selected = groups.map((group) => `${columns[group]} as "${group}", `).join('')
  const keys = padded(query.keyIds)
  const places = groups.map((_, place) => place + 1).join(', ')
  const text = `select ${selected}cast(count(*) as bigint) as requests, coalesce(cast(sum(d.input_tokens) as bigint), 0) as input_tokens,
       coalesce(cast(sum(d.output_tokens) as bigint), 0) as output_tokens, coalesce(cast(sum(t.amount) as bigint), 0) as cost
     from transfer t left join usage_detail d on d.call_id = t.ref
     where t.key_id in (${keys.map((_, place) => `$${place + 3}`).join(', ')}) and t.kind = 'usage' and t.at >= $1 and t.at < $2
     ${groups.length > 0 ? `group by ${places} order by ${places}` : ''} limit 10000`
  const rows = await once(engine, 'reading', statement(text, query.from, query.to, ...keys))
  return rows.map(rowOf)
}
