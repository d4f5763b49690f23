/**
 * `turnpike usage`, `audit`, `models` and `charge`: what was used, whether the books balance, what is sold, and what a
 * call cost.
 */
import type { Command } from 'commander'
import { perMillionFromPico, usdNumber } from '../core/money.ts'
import { DAY_MS, instantFrom } from '../core/time.ts'
import type { UsageClass } from '../core/usage.ts'
import { modelListing } from '../products/model-listing.ts'
import type { UsageOf } from '../store/accounts/tenancy-port.ts'
import type { CallLine } from '../store/reports/report-port.ts'
import { addModelCommand } from './add-model.ts'
import { readConfig } from './config.ts'
import { findKey } from './find-key.ts'
import { openCatalogue } from './open-catalogue.ts'
import { type Database, Failed, harmless, print, tableOf, withDatabase } from './run-command.ts'

const groups = ['day', 'model', 'key'] as const

type UsageOptions = { from?: string; to?: string; by: string; key?: string; own?: boolean; json?: boolean }

export const usageCommand = (program: Command): void => {
  program
    .command('usage')
    .description('what was used and what it cost')
    .option('--from <date>', 'first day, such as 2026-11-01 (default: 30 days before --to)')
    .option('--to <date>', 'up to this day, not including it (default: now)')
    .option('--by <groups>', 'day, model, key, or several', 'day,model')
    .option('--key <key>', 'only this key and all below it: id, prefix or token; deleted keys too')
    .option('--own', 'with --key: without the keys below it')
    .option('--json', 'for programs')
    .action((options: UsageOptions) => withDatabase((database) => usage(database, options)))
}

const usage = async (database: Database, options: UsageOptions): Promise<void> => {
  const names = options.by.split(',')
  const groupBy = groups.filter((group) => names.includes(group))
  if (groupBy.length !== names.length)
    throw new Failed(`--by is a list of ${groups.join(', ')}, not '${options.by}'`)
  const [from, to] = [dayOf('--from', options.from), dayOf('--to', options.to)]
  if (from !== undefined && to !== undefined && from > to)
    throw new Failed(`--from must not be after --to: '${options.from}' is after '${options.to}'`)
  const rows = await database.store.keys.usage({
    of: await usersOf(database, options),
    from: from ?? Math.min(to ?? Date.now(), Date.now()) - 30 * DAY_MS,
    to: to ?? Date.now() + 1,
    groupBy,
  })
  const shown = rows.map(({ cost, inputTokens, outputTokens, key, ...row }) => ({
    ...row,
    ...(key === undefined
      ? {}
      : { key: key.id, label: key.label, parent: key.parent ?? null, deleted: key.deleted }),
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost_usd: usdNumber(cost),
  }))
  print(options.json, shown, tableOf(shown))
}

const usersOf = async (database: Database, { key, own = false }: UsageOptions): Promise<UsageOf> => {
  if (key === undefined) {
    if (own) throw new Failed('--own needs --key')
    return 'everybody'
  }
  const { id } = await findKey(database, key, true)
  return own ? { only: id } : { from: id }
}

const dayOf = (option: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const instant = instantFrom(text)
  if (instant === undefined)
    throw new Failed(`${option} must be a date such as 2026-11-01 that there is, not '${text}'`)
  return instant
}

export const auditCommand = (program: Command): void => {
  program
    .command('audit')
    .description('check every invariant of the ledger; fails when one does not hold')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) =>
      withDatabase(async ({ store }) => {
        const rows = await store.ledger.audit()
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
      const { catalogue } = await openCatalogue(config)
      const listed = catalogue.list().map((model) => modelListing(model, config.gateway.creditNano))
      print(
        options.json,
        listed,
        tableOf(
          listed.map(
            ({ id, kind, cost, pricing, coming, context_length, max_output_tokens, ends, aliases }) => ({
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
              ends: ends ?? null,
              aliases: aliases?.join(', ') ?? null,
            }),
          ),
        ),
      )
    })
}

/** The price of a million tokens on one side; null if the model bills something else. */
const perMillion = (
  pricing: ReturnType<typeof modelListing>['pricing'],
  side: 'input' | 'output',
): string | null => {
  const prices: Readonly<Record<string, unknown>> = pricing
  const price = pricing.unit === 'token' ? prices[`per_1m_${side}_usd`] : undefined
  return typeof price === 'string' ? price : null
}

export const chargeCommand = (program: Command): void => {
  program
    .command('charge <request>')
    .description('a call and what was posted for it, by its X-Request-Id')
    .option('--json', 'for programs')
    .action((request: string, options: { json?: boolean }) =>
      withDatabase(({ store }) => charge(store, request, options)),
    )
}

const charge = async (store: Database['store'], request: string, { json }: { json?: boolean }) => {
  const [posted, [call]] = await Promise.all([
    store.ledger.transfersOf(request),
    store.reports.calls({ id: request, most: 1 }),
  ])
  const rows = posted.map(({ kind, debit, credit, amount, note }) => ({
    kind,
    from: debit,
    to: credit,
    usd: usdNumber(amount),
    note: note ?? '',
  }))
  if (rows.length === 0)
    throw new Failed(`nothing was posted for '${request}'; take the id from the answer's X-Request-Id`)
  const told = call === undefined ? [] : factsOf(call)
  const shown = told.map(([name, value]) => `${name.padEnd(FACT_WIDTH)}${harmless(value)}\n`).join('')
  print(
    json,
    call === undefined ? { posted: rows } : { ...Object.fromEntries(told), posted: rows },
    `${shown}${tableOf(rows)}`,
  )
}

const FACT_WIDTH = 8

/** What a call was: when, whose, which model of whom, what it used, and the unit prices of its receipt. */
const factsOf = ({ at, keyId, label, prefix, detail }: CallLine): readonly (readonly [string, string])[] => {
  const facts: [string, string][] = [
    ['time', new Date(at).toISOString()],
    ['key', `${keyId} (${prefix}, ${label})`],
  ]
  if (detail === undefined) return facts
  const { model, vendor, usage, receipt, ended, estimated } = detail
  facts.push(['model', `${model} of ${vendor}`], ['used', named(usage, String)])
  if (receipt !== undefined)
    facts.push(['prices', `${named(receipt.prices, perMillionFromPico)} USD a million`])
  facts.push(['ended', estimated ? `${ended}; its usage is estimated` : ended])
  return facts
}

const named = (counts: { readonly [Class in UsageClass]?: number }, written: (count: number) => string) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${written(count)}`)
    .join(', ')
