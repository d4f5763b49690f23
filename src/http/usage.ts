/** GET /v1/usage: what the calling key used; a reseller's key sees its children with `group_by=key`. */
import { usdNumber } from '../core/money.ts'
import { invalid, must, type Refusal } from '../core/refusal.ts'
import { DAY_MS, type Instant } from '../core/time.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { UsageQuery, UsageRow } from '../store/tenancy-port.ts'
import { anyCallerOf } from './caller.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'

const groups = ['day', 'model', 'key'] as const
type Group = (typeof groups)[number]

export const getUsage = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await anyCallerOf(gateway, call)
  const query = new URLSearchParams(call.query)
  const now = gateway.clock.now()
  const groupBy = must(readGroups(query.get('group_by')))
  const from = must(readInstant('from', query.get('from'), now - 30 * DAY_MS))
  const to = must(readInstant('to', query.get('to'), now + 1))
  const children = groupBy.includes('key') ? await gateway.store.keys({ parentId: caller.id }) : []
  const range: Omit<UsageQuery, 'groupBy'> = {
    keyIds: [caller.id, ...children.map((key) => key.id)],
    from,
    to,
  }
  const [total] = await gateway.store.usage({ ...range, groupBy: [] })
  const rows = await gateway.store.usage({ ...range, groupBy })
  const labels = new Map([caller, ...children].map((key) => [key.id, key.label]))
  return json({
    data: {
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      group_by: groupBy,
      total: shown(total ?? { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0n }),
      rows: rows.map((row) => ({
        ...(row.day === undefined ? {} : { day: row.day }),
        ...(row.model === undefined ? {} : { model: row.model }),
        ...(row.keyId === undefined ? {} : { key: row.keyId, label: labels.get(row.keyId) ?? null }),
        ...shown(row),
      })),
    },
  })
}

const shown = (row: UsageRow) => ({
  requests: row.requests,
  input_tokens: row.inputTokens,
  output_tokens: row.outputTokens,
  cost_usd: usdNumber(row.cost),
})

const readGroups = (text: string | null): readonly Group[] | Refusal => {
  if (text === null) return ['day', 'model']
  const names = text === '' ? [] : text.split(',')
  const read = groups.filter((group) => names.includes(group))
  return read.length === names.length
    ? read
    : invalid('group_by', `'group_by' is a list of ${groups.join(', ')}, each at most once.`)
}

/** A day (`2026-11-21`) or a moment in ISO 8601, in UTC where it names no offset. */
const readInstant = (name: string, text: string | null, otherwise: Instant): Instant | Refusal => {
  if (text === null) return otherwise
  const instant = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2})?)?$/.test(text)
    ? Date.parse(zoned(text))
    : Number.NaN
  return Number.isNaN(instant)
    ? invalid(name, `'${name}' must be a date such as 2026-11-21, or a moment in ISO 8601.`)
    : instant
}

const zoned = (text: string): string =>
  text.includes('T') && !/(Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text
