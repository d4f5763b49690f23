/** `turnpike calls`: what callers asked, and how it ended: charged, refused and failed calls. */

import type { Command } from 'commander'
import { callsSheet } from '../../console/sheets.ts'
import { csvOf } from '../../control/csv.ts'
import { callList } from '../../control/reports/calls.ts'
import { present } from '../../core/json-body.ts'
import { usdNumber } from '../../core/money.ts'
import { performAs } from '../run/control.ts'
import { findKey } from '../run/find-key.ts'
import { type Database, onLedger, print, tableOf } from '../run/run-command.ts'

const filters = {
  organisation: 'of this organisation',
  tenant: 'of this tenant',
  model: 'of this model',
  vendor: 'for which this vendor was asked',
  status: 'that ended so: ok, refused, failed, client_gone, vendor_failed, or not_ok',
  code: 'with this error code or HTTP status',
  tag: 'with this tag (team) or for this value of it (team=red)',
  from: 'from this day or moment on',
  to: 'before this day or moment',
  id: 'with this request id',
  batch: 'of lines of this batch',
  before: 'before this place: next of a page, or a request id',
} as const

type Options = { key?: string; own?: boolean; limit?: string; json?: boolean; csv?: boolean } & {
  readonly [Name in keyof typeof filters]?: string
}

export const callsCommand = (program: Command): void => {
  const command = program
    .command('calls')
    .description('calls, newest first: charged, refused and failed ones')
    .option('--key <key>', 'only this key and all below it: id, prefix or token; deleted keys too')
    .option('--own', 'with --key: without the keys below it')
    .option('--cost-from-usd <usd>', 'only calls that cost at least so much')
    .option('--cost-to-usd <usd>', 'only calls that cost at most so much')
    .option('--limit <n>', 'the most rows', '50')
    .option('--json', 'for programs')
    .option('--csv', 'for spreadsheets')
    .action(onLedger(calls))
  for (const [name, what] of Object.entries(filters))
    command.option(`--${name} <${name}>`, `only calls ${what}`)
}

const calls = async (database: Database, { key, own = false, json, csv, ...rest }: Options) => {
  const { costFromUsd, costToUsd, ...more } = rest as Record<string, string | undefined>
  const input = {
    ...more,
    ...present({ cost_from_usd: costFromUsd, cost_to_usd: costToUsd }),
    ...(own ? { own } : {}),
    ...(key === undefined ? {} : { key: (await findKey(database, key, true)).id }),
  }
  const list = await performAs('calls', database, callList, input)
  const end = list.has_more ? `older ones: --before ${list.next}\n` : ''
  if (csv === true) {
    // A file says nothing of what it lacks.
    process.stderr.write(end)
    return print(false, list, csvOf(callsSheet(list)).text)
  }
  const shown = list.data.map(({ cost_usd: cost, refunded_usd: refunded, ...call }) => ({
    ...call,
    cost_usd: usdNumber(cost),
    refunded_usd: usdNumber(refunded),
  }))
  const rows = shown.map(
    ({ at, id, key: of, model, vendor, status, code, limit, param, cost_usd, took_ms }) => ({
      at,
      key: of.label,
      model,
      vendor,
      status,
      why: (limit ?? param) === null ? code : `${code} (${limit ?? param})`,
      cost_usd,
      took_ms,
      id,
    }),
  )
  print(json, { ...list, data: shown }, `${tableOf(rows)}${end}`)
}
