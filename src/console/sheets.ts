/** What acts show as files of rows that spreadsheets read. */

import type { Sheet } from '../control/csv.ts'
import type { callList } from '../control/reports/calls.ts'
import type { usageReport } from '../control/reports/usage.ts'
import type { statementGet, tenantUse } from '../control/tenants/statements.ts'

type Shown<Act extends { does(...args: never[]): Promise<unknown> }> = Awaited<ReturnType<Act['does']>>

const counts = ['requests', 'input_tokens', 'output_tokens'] as const

/** A report of use: its groups, what keys are called, and the sums. */
export const usageSheet = ({ from, group_by, rows }: Shown<typeof usageReport>): Sheet => {
  const names = group_by.includes('key') ? (['label', 'reference'] as const) : []
  const head = [
    ...group_by,
    ...names,
    ...counts,
    'cost_usd',
    'cached_tokens',
    'cache_write_tokens',
    'cache_saved_usd',
  ] as const
  return {
    name: `usage-${from.slice(0, 10)}.csv`,
    head,
    rows: rows.map((row) => head.map((column) => row[column])),
  }
}

const ofCall = [
  'at',
  'id',
  'model',
  'vendor',
  'status',
  'http_status',
  'code',
  'limit',
  'param',
  'cost_usd',
  'refunded_usd',
  'first_byte_ms',
  'took_ms',
] as const

/** Calls, however they ended; the name says so if older ones were left out. */
export const callsSheet = ({ data, has_more }: Shown<typeof callList>): Sheet => ({
  name: has_more ? 'calls-newest.csv' : 'calls.csv',
  head: [...ofCall, 'key', 'label', 'units', 'failed_attempts', 'tags'],
  rows: data.map((call) => [
    ...ofCall.map((column) => call[column]),
    call.key.id,
    call.key.label,
    Object.entries(call.tokens)
      .map(([name, count]) => `${name} ${count}`)
      .join(' '),
    call.attempts.map((one) => `${one.vendor} ${one.http_status ?? one.outcome}`).join(' '),
    Object.entries(call.tags ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
  ]),
})

const ofTenant = ['month', 'tenant', 'reference', 'model', ...counts] as const

/** The lines of all tenants. */
export const statementSheet = ({ month, tenants }: Shown<typeof statementGet>): Sheet => ({
  name: `statement-${month}.csv`,
  head: [...ofTenant, 'cost_usd', 'margin_percent', 'billed_usd'],
  rows: tenants.flatMap(({ label, reference, margin_percent: percent, lines }) =>
    lines.map((line) => [
      month,
      label,
      reference,
      line.model,
      ...counts.map((count) => line[count]),
      line.cost_usd,
      percent,
      line.billed_usd,
    ]),
  ),
})

/** The lines of one tenant. */
export const useSheet = ({ month, label, reference, lines }: Shown<typeof tenantUse>): Sheet => ({
  name: `use-${month}.csv`,
  head: [...ofTenant, 'billed_usd'],
  rows: lines.map((line) => [
    month,
    label,
    reference,
    line.model,
    ...counts.map((count) => line[count]),
    line.billed_usd,
  ]),
})
