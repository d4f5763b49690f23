/**
 * GET /v1/usage: what the calling key and all keys below it used, or the key alone with `own=true`; deleted keys count
 * too.
 */
import { usdNumber } from '../core/money.ts'
import { invalid, must, type Refusal } from '../core/refusal.ts'
import { DAY_MS, type Instant, instantFrom } from '../core/time.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { takeReportTurn } from '../gateway/report-turn.ts'
import type { UsageRow } from '../store/accounts/tenancy-port.ts'
import { anyCallerOf } from './caller.ts'
import { readQuery, readTruth } from './query.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'

const groups = ['day', 'model', 'key'] as const
type UsageGroup = (typeof groups)[number]

const ROWS_MAX = 10_000

export const usageQuery = ['from', 'to', 'group_by', 'own'] as const

export const getUsage = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await anyCallerOf(gateway, call)
  const query = must(readQuery(call.query, usageQuery))
  const now = gateway.clock.now()
  const groupBy = must(readGroups(query.get('group_by')))
  const to = must(readInstant('to', query.get('to'), now + 1))
  const from = must(readInstant('from', query.get('from'), Math.min(to, now) - 30 * DAY_MS))
  if (query.has('from') && query.has('to') && from > to)
    throw invalid('from', "'from' must not be after 'to'.")
  const own = must(readTruth('own', query.get('own')))
  const range = { of: own ? { only: caller.id } : { from: caller.id }, from, to }
  takeReportTurn(gateway, caller.id)
  const [total] = await gateway.store.keys.usage({ ...range, groupBy: [] })
  const rows = await gateway.store.keys.usage({ ...range, groupBy, most: ROWS_MAX + 1 })
  return json({
    data: {
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      group_by: groupBy,
      own,
      total: shown(total ?? { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0n }),
      rows: rows.slice(0, ROWS_MAX).map((row) => ({ ...labelsOf(row), ...shown(row) })),
      // The total includes what the rows leave out.
      has_more: rows.length > ROWS_MAX,
    },
  })
}

const labelsOf = ({ day, model, key }: UsageRow) => ({
  ...(day === undefined ? {} : { day }),
  ...(model === undefined ? {} : { model }),
  ...(key === undefined
    ? {}
    : { key: key.id, label: key.label, parent: key.parent ?? null, deleted: key.deleted }),
})

const shown = (row: UsageRow) => ({
  requests: row.requests,
  input_tokens: row.inputTokens,
  output_tokens: row.outputTokens,
  cost_usd: usdNumber(row.cost),
})

const readGroups = (text: string | undefined): readonly UsageGroup[] | Refusal => {
  if (text === undefined) return ['day', 'model']
  const names = text === '' ? [] : text.split(',')
  const read = groups.filter((group) => names.includes(group))
  return read.length === names.length
    ? read
    : invalid('group_by', `'group_by' is a list of ${groups.join(', ')}, each at most once.`)
}

const readInstant = (name: string, text: string | undefined, otherwise: Instant): Instant | Refusal => {
  if (text === undefined) return otherwise
  return (
    instantFrom(text) ??
    invalid(
      name,
      `'${name}' must be a day such as 2026-11-21 that there is, or a moment in ISO 8601 (in an address, its + is written %2B).`,
    )
  )
}
