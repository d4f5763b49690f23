/** Reports of what keys used: money from the ledger, tokens and models from the details kept beside it. */
import { DAY_MS } from '../core/time.ts'
import type { Row, Run } from './engine.ts'
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

/** Charged calls of the keys in `[from, to)`, grouped; a recovered call has the empty model name. At most 10 000 rows. */
export const usageOf = async (
  run: Run,
  each: (param: string) => string,
  query: UsageQuery,
): Promise<readonly UsageRow[]> => {
  const groups = (['day', 'model', 'key'] as const).filter((group) => query.groupBy.includes(group))
  const selected = groups.map((group) => `${columns[group]} as "${group}", `).join('')
  const places = groups.map((_, place) => place + 1).join(', ')
  const rows = await run(
    `select ${selected}cast(count(*) as bigint) as requests, coalesce(cast(sum(d.input_tokens) as bigint), 0) as input_tokens,
       coalesce(cast(sum(d.output_tokens) as bigint), 0) as output_tokens, coalesce(cast(sum(t.amount) as bigint), 0) as cost
     from ${each('$1')} e join transfer t on t.key_id = e.value->>'k' left join usage_detail d on d.call_id = t.ref
     where t.kind = 'usage' and t.at >= $2 and t.at < $3
     ${groups.length > 0 ? `group by ${places} order by ${places}` : ''} limit 10000`,
    [JSON.stringify(query.keyIds.map((k) => ({ k }))), query.from, query.to],
  )
  return rows.map(rowOf)
}
