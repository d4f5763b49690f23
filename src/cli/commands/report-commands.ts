/**
 * `turnpike usage`, `audit`, `models` and `charge`: what was used, whether the books balance, what is sold, and what a
 * call cost.
 */
import type { Command } from 'commander'
import { eventAudit } from '../../control/house/event-chain.ts'
import { auditRun } from '../../control/house/system.ts'
import { type CallShown, callCharge } from '../../control/reports/calls.ts'
import { ROWS_MOST, usageReport } from '../../control/reports/usage.ts'
import { usdNumber } from '../../core/money.ts'
import { harmless } from '../../core/storable.ts'
import { modelListing } from '../../products/model-listing.ts'
import { usageGroups } from '../../store/reports/report-port.ts'
import { readConfig } from '../config/config.ts'
import { openCatalogue } from '../config/open-catalogue.ts'
import { performAs } from '../run/control.ts'
import { findKey } from '../run/find-key.ts'
import { type Database, Failed, onLedger, print, tableOf, under } from '../run/run-command.ts'
import { addModelCommand } from './add-model.ts'

const filters = ['organisation', 'tenant', 'model', 'vendor', 'status', 'tag'] as const

type UsageOptions = { by: string; key?: string; own?: boolean; json?: boolean } & {
  readonly [Name in 'from' | 'to' | (typeof filters)[number]]?: string
}

export const usageCommand = (program: Command): void => {
  const command = program
    .command('usage')
    .description('what was used and what it cost')
    .option('--from <date>', 'first day, such as 2026-11-01 (default: 30 days before --to)')
    .option('--to <date>', 'up to this day, not including it (default: now)')
    .option('--by <groups>', `${usageGroups.join(', ')}, or several`, 'day,model')
    .option('--key <key>', 'only this key and all below it: id, prefix or token; deleted keys too')
    .option('--own', 'with --key: without the keys below it')
    .option('--json', 'for programs')
    .action(onLedger(usage))
  for (const one of filters) command.option(`--${one} <${one}>`, 'only what is of this one')
}

const usage = async (database: Database, { by, key, own = false, json, ...rest }: UsageOptions) => {
  const input = {
    ...rest,
    group_by: by,
    ...(own ? { own } : {}),
    ...(key === undefined ? {} : { key: (await findKey(database, key, true)).id }),
    limit: ROWS_MOST,
  }
  const { rows } = await performAs('usage', database, usageReport, input)
  const shown = rows.map(({ cost_usd: cost, cache_saved_usd: saved, ...row }) => ({
    ...row,
    cache_saved_usd: usdNumber(saved),
    cost_usd: usdNumber(cost),
  }))
  print(json, shown, tableOf(shown))
}

const auditEvents = async (database: Database, json: boolean | undefined) => {
  const found = await performAs('audit', database, eventAudit, {})
  print(json, found, tableOf([{ ...found, wrong: found.wrong ?? 'nothing' }]))
  if (found.wrong !== null) throw new Failed(`the record of events is not what it was: ${found.wrong}`)
}

export const auditCommand = (program: Command): void => {
  under(program, 'audit', 'check every invariant of the ledger; fails when one does not hold')
    .option('--events', 'check the chain of events instead')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, options: { json?: boolean; events?: boolean }) => {
        if (options.events === true) return auditEvents(database, options.json)
        const { data } = await performAs('audit', database, auditRun, { all: true })
        const rows = data.map(({ detail, ...law }) => ({ ...law, ...(detail === null ? {} : { detail }) }))
        print(
          options.json,
          rows,
          tableOf(
            rows.map(({ check, ok, detail }) => ({ check, holds: ok ? 'yes' : 'NO', detail: detail ?? '' })),
          ),
        )
        const broken = rows.filter(({ ok }) => !ok)
        if (broken.length > 0)
          throw new Failed(
            `${broken.length} of ${rows.length} invariants do not hold; stop serving and read docs/operations.md`,
          )
      }),
    )
}

export const modelsCommand = (program: Command): void => {
  const models = program.command('models')
  addModelCommand(models)
  models
    .description('what is sold with the present settings')
    .option('--json', 'for programs')
    .action(async (options: { json?: boolean }) => {
      const config = readConfig(process.env)
      const { catalogue, vendors } = await openCatalogue(config)
      const listed = catalogue
        .list()
        .map((model) => modelListing(model, config.gateway.creditNano, vendors.get(model.vendor)))
      print(
        options.json,
        listed,
        tableOf(
          listed.map(
            ({
              id,
              kind,
              cost,
              pricing,
              coming,
              context_length,
              max_output_tokens,
              ends,
              aliases,
              handling,
            }) => ({
              id,
              kind,
              usd_per_1m_input: perMillion(pricing, 'input'),
              usd_per_1m_output: perMillion(pricing, 'output'),
              credits: cost,
              context: context_length,
              output: max_output_tokens,
              from: coming?.from ?? null,
              then_input: coming === undefined ? null : perMillion(coming.pricing, 'input'),
              then_output: coming === undefined ? null : perMillion(coming.pricing, 'output'),
              zdr: handling.zdr,
              no_training: handling.no_training,
              region: handling.region,
              ends: ends ?? null,
              aliases: aliases?.join(', ') ?? null,
            }),
          ),
        ),
      )
    })
}

/** The price of a million tokens on one side; null if the model bills something else. */
const perMillion = (pricing: ReturnType<typeof modelListing>['pricing'], side: 'input' | 'output') => {
  const prices: Readonly<Record<string, unknown>> = pricing
  const price = pricing.unit === 'token' ? prices[`per_1m_${side}_usd`] : undefined
  return typeof price === 'string' ? price : null
}

export const chargeCommand = (program: Command): void => {
  under(program, 'charge <request>', 'a call and what was posted for it, by its X-Request-Id')
    .option('--json', 'for programs')
    .action(onLedger(charge))
}

const charge = async (database: Database, request: string, { json }: { json?: boolean }) => {
  const { call, prices, posted } = await performAs('charge', database, callCharge, {
    call: request,
  })
  const rows = posted.map(({ amount_usd: amount, kind, from, to, note }) => ({
    kind,
    from,
    to,
    usd: usdNumber(amount),
    note: note ?? '',
  }))
  const told = call === null ? [] : factsOf(call, prices)
  const shown = told.map(([name, value]) => `${name.padEnd(FACT_WIDTH)}${harmless(value)}\n`).join('')
  print(
    json,
    call === null ? { posted: rows } : { ...Object.fromEntries(told), posted: rows },
    `${shown}${tableOf(rows)}`,
  )
}

const FACT_WIDTH = 8

type Prices = Readonly<Record<string, string>> | null

/** What a call was: when, whose, which model of whom, what it used, and the unit prices of its receipt. */
const factsOf = ({ at, key, model, vendor, tokens, status, estimated }: CallShown, prices: Prices) => {
  const facts: [string, string][] = [
    ['time', at],
    ['key', `${key.id} (${key.prefix}, ${key.label})`],
  ]
  if (model === null || vendor === null || status === null) return facts
  facts.push(['model', `${model} of ${vendor}`], ['used', named(tokens)])
  if (prices !== null) facts.push(['prices', `${named(prices)} USD a million`])
  facts.push(['ended', estimated ? `${status}; its usage is estimated` : status])
  return facts
}

const named = (counts: Readonly<Record<string, string | number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
