/** Brings a database to the schema of this code, once, however many processes start at the same time. */

import calls from '../migrations/0041-calls.sql' with { type: 'text' }
import funding from '../migrations/0041-funding.sql' with { type: 'text' }
import ledger from '../migrations/0041-ledger.sql' with { type: 'text' }
import people from '../migrations/0041-people.sql' with { type: 'text' }
import reports from '../migrations/0041-reports.sql' with { type: 'text' }
import postgres from '../migrations/0041-schema.postgres.sql' with { type: 'text' }
import sqlite from '../migrations/0041-schema.sqlite.sql' with { type: 'text' }
import rateShares from '../migrations/0042-rate-shares.sql' with { type: 'text' }
import batchParts from '../migrations/0043-batch-parts.sql' with { type: 'text' }
import logins from '../migrations/0044-logins.sql' with { type: 'text' }
import tagBudgets from '../migrations/0045-tag-budgets.sql' with { type: 'text' }
import teams from '../migrations/0046-teams.sql' with { type: 'text' }
import alerts from '../migrations/0047-alerts.sql' with { type: 'text' }
import brought from '../migrations/0048-brought.sql' with { type: 'text' }
import postingTimes from '../migrations/0049-posting-times.postgres.sql' with { type: 'text' }
import ownKeys from '../migrations/0050-own-keys.sql' with { type: 'text' }
import guardrails from '../migrations/0051-guardrails.sql' with { type: 'text' }
import conditions from '../migrations/0052-conditions.sql' with { type: 'text' }
import receiptLog from '../migrations/0053-receipt-log.sql' with { type: 'text' }
import eventExport from '../migrations/0054-event-export.sql' with { type: 'text' }
import channels from '../migrations/0055-channels.sql' with { type: 'text' }
import payers from '../migrations/0056-payers.sql' with { type: 'text' }
import askedAgain from '../migrations/0057-asked-again.sql' with { type: 'text' }
import budgetVersions from '../migrations/0058-budget-versions.sql' with { type: 'text' }
import cells from '../migrations/0059-cells.sql' with { type: 'text' }
import oneAlert from '../migrations/0060-one-alert.sql' with { type: 'text' }
import estimates from '../migrations/0061-estimates.sql' with { type: 'text' }
import moveNumbers from '../migrations/0062-move-numbers.sql' with { type: 'text' }
import heldAlong from '../migrations/0063-held-along.sql' with { type: 'text' }
import sessionEnds from '../migrations/0064-session-ends.sql' with { type: 'text' }
import shortDetails from '../migrations/0065-short-details.sql' with { type: 'text' }
import batchDetails from '../migrations/0066-batch-details.sql' with { type: 'text' }
import { type Engine, once, type Row, type Run } from './engine.ts'
import { countOf, textOf } from './row.ts'

export type Migration = {
  readonly version: number
  readonly name: string
  /** SQL that both engines understand; empty if only one has something to do. */
  readonly common: string
  /** SQL that only one engine understands, such as triggers; run after `common`. */
  readonly own: { readonly sqlite?: string; readonly postgres?: string }
  /**
   * It only adds what the previous version ignores, so that version can continue beside it, and can be started again.
   */
  readonly adds?: true
}

/**
 * The schema of a new ledger, whole. Before the first release it was made in 41 steps; a ledger that took them all has it,
 * which the checksum of the last one tells.
 */
const schema: Migration & { readonly lastStep: string } = {
  version: 41,
  name: 'schema',
  common: [ledger, calls, funding, people, reports].join('\n'),
  own: { sqlite, postgres },
  lastStep: 'ac9180b527276fdcdbdbab81975c1aa628af76956f21b2b8afe0aced5a6c2f5b',
}

/** The last commit whose program brings an older ledger to this schema. */
const LAST_WITH_STEPS = '469f87b'

/** In order, numbered without gaps. A released migration is never edited: a new one follows it. */
export const migrations: readonly Migration[] = [
  schema,
  { version: 42, name: 'rate-shares', common: rateShares, own: {}, adds: true },
  { version: 43, name: 'batch-parts', common: batchParts, own: {}, adds: true },
  { version: 44, name: 'logins', common: logins, own: {}, adds: true },
  { version: 45, name: 'tag-budgets', common: tagBudgets, own: {}, adds: true },
  { version: 46, name: 'teams', common: teams, own: {}, adds: true },
  { version: 47, name: 'alerts', common: alerts, own: {}, adds: true },
  { version: 48, name: 'brought', common: brought, own: {}, adds: true },
  { version: 49, name: 'posting-times', common: '', own: { postgres: postingTimes }, adds: true },
  { version: 50, name: 'own-keys', common: ownKeys, own: {}, adds: true },
  { version: 51, name: 'guardrails', common: guardrails, own: {}, adds: true },
  { version: 52, name: 'conditions', common: conditions, own: {}, adds: true },
  { version: 53, name: 'receipt-log', common: receiptLog, own: {}, adds: true },
  { version: 54, name: 'event-export', common: eventExport, own: {}, adds: true },
  { version: 55, name: 'channels', common: channels, own: {}, adds: true },
  { version: 56, name: 'payers', common: payers, own: {}, adds: true },
  { version: 57, name: 'asked-again', common: askedAgain, own: {}, adds: true },
  { version: 58, name: 'budget-versions', common: budgetVersions, own: {}, adds: true },
  { version: 59, name: 'cells', common: cells, own: {}, adds: true },
  { version: 60, name: 'one-alert', common: oneAlert, own: {}, adds: true },
  { version: 61, name: 'estimates', common: estimates, own: {}, adds: true },
  { version: 62, name: 'move-numbers', common: moveNumbers, own: {}, adds: true },
  { version: 63, name: 'held-along', common: heldAlong, own: {}, adds: true },
  { version: 64, name: 'session-ends', common: sessionEnds, own: {}, adds: true },
  { version: 65, name: 'short-details', common: shortDetails, own: {}, adds: true },
  { version: 66, name: 'batch-details', common: batchDetails, own: {}, adds: true },
]

/** The number of the last of them. */
export const newestOf = (known: readonly Migration[]): number => known.at(-1)?.version ?? 0

/** The text of a migration as an engine runs it. */
export const textFor = (migration: Migration, engine: Engine['name']): string =>
  `${engine === 'sqlite' ? migration.common.replaceAll('/*: without rowid */', 'WITHOUT ROWID') : migration.common}
${migration.own[engine] ?? ''}`

const checksumOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

type Applied = { readonly version: number; readonly name: string; readonly checksum: string }

/** This program cannot work with the database, however long it waits. */
export class Misfit extends Error {}

/** Throws Misfit if this program cannot work with the database; `leastSchema` is the schema of the oldest program that can. */
const check = (
  applied: Applied,
  engine: Engine['name'],
  known: readonly Migration[],
  leastSchema: number,
): void => {
  const migration = known.find(({ version }) => version === applied.version)
  if (migration === undefined) {
    if (newestOf(known) >= leastSchema) return
    throw new Misfit(
      `the database is newer than this program: it has migration ${applied.version} (${applied.name}), ` +
        `this program knows ${newestOf(known)}. Start a newer version of Turnpike.`,
    )
  }
  if (applied.version === schema.version && applied.checksum === schema.lastStep) return
  if (checksumOf(textFor(migration, engine)) !== applied.checksum) {
    throw new Misfit(
      `migration ${applied.version} (${applied.name}) was applied to the database in another form than this program has. ` +
        'A released migration must not be edited.',
    )
  }
}

/** What a database lacks to which these were applied, in order. Throws Misfit as `check` does. */
const lackOf = (
  applied: readonly Applied[],
  engine: Engine['name'],
  known: readonly Migration[],
  leastSchema: number,
): readonly Migration[] => {
  const at = applied.at(-1)?.version ?? 0
  if (at > 0 && at < schema.version)
    throw new Misfit(
      `the database has schema ${at}, from before the first release, which this program does not bring further: ` +
        `start Turnpike of commit ${LAST_WITH_STEPS} on it once, then this one.`,
    )
  for (const one of applied.filter(({ version }) => version >= schema.version))
    check(one, engine, known, leastSchema)
  return known.filter(({ version }) => version > at)
}

/** Whether the database already has a schema of ours. */
export const hasLedger = async (engine: Engine): Promise<boolean> => {
  const tables =
    engine.name === 'sqlite'
      ? `select name from sqlite_master where type = 'table' and name = 'schema_migration'`
      : `select c.relname as name from pg_class c where c.oid = to_regclass('schema_migration')`
  return (await once(engine, 'control', tables)).length > 0
}

const APPLIED = 'select version, name, checksum from schema_migration order by version'

const appliedTo = async (run: Run) => {
  await run(`create table if not exists schema_migration (
    version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
  return (await run(APPLIED)).map(appliedOf)
}

const appliedOf = (row: Row): Applied => ({
  version: countOf(row, 'version'),
  name: textOf(row, 'name'),
  checksum: textOf(row, 'checksum'),
})

const LEAST_SCHEMA = 'least_schema'
const READ_LEAST = `select value from setting where name = '${LEAST_SCHEMA}'`

/** The schema of the oldest program that works with the database; if the database does not say, its own version. */
const leastIn = ([row]: readonly Row[], applied: readonly Applied[]): number =>
  row === undefined ? (applied.at(-1)?.version ?? 0) : Number(textOf(row, 'value'))

/** The last migration that does more than add. */
const leastOf = (known: readonly Migration[]): number => known.findLast(({ adds }) => !adds)?.version ?? 0

/** The migrations that the database lacks. Throws as `migrate` does, and changes nothing. */
export const missingOf = async (
  engine: Engine,
  known: readonly Migration[],
): Promise<readonly Migration[]> => {
  const rows = (await hasLedger(engine)) ? await once(engine, 'control', APPLIED) : []
  const applied = rows.map(appliedOf)
  if (applied.length === 0) return known
  const least = leastIn(await once(engine, 'control', READ_LEAST), applied)
  return lackOf(applied, engine.name, known, least)
}

/**
 * Applies what is missing, under a lock that all processes share; either all of it or nothing. Throws if the database
 * is newer than `known` can work with, or was made from other text than `known` has.
 */
export const migrate = (engine: Engine, known: readonly Migration[] = migrations): Promise<number> =>
  engine.exclusive(async (run, script) => {
    const applied = await appliedTo(run)
    const least = applied.length === 0 ? 0 : leastIn(await run(READ_LEAST), applied)
    const missing = lackOf(applied, engine.name, known, least)
    for (const migration of missing) {
      const text = textFor(migration, engine.name)
      if (text.trim() !== '') await script(text)
      await run(
        `insert into schema_migration (version, name, checksum, applied_at) values ($1, $2, $3, ${engine.dialect.now})`,
        [migration.version, migration.name, checksumOf(text)],
      )
    }
    if (missing.length > 0)
      await run(
        `insert into setting (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
        [LEAST_SCHEMA, String(leastOf(known))],
      )
    return missing.length
  })
