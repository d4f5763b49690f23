/** Brings a database to the schema of this code, once, however many processes start at the same time. */

import ledgerPostgres from '../migrations/0001-ledger.postgres.sql' with { type: 'text' }
import ledger from '../migrations/0001-ledger.sql' with { type: 'text' }
import ledgerSqlite from '../migrations/0001-ledger.sqlite.sql' with { type: 'text' }
import funding from '../migrations/0002-funding.sql' with { type: 'text' }
import receipts from '../migrations/0003-receipts.sql' with { type: 'text' }
import x402 from '../migrations/0004-x402.sql' with { type: 'text' }
import helpers from '../migrations/0005-helpers.sql' with { type: 'text' }
import takenBack from '../migrations/0006-taken-back.sql' with { type: 'text' }
import autoTopUp from '../migrations/0007-auto-top-up.sql' with { type: 'text' }
import schemes from '../migrations/0008-x402-schemes.sql' with { type: 'text' }
import attempts from '../migrations/0009-attempts.sql' with { type: 'text' }
import responses from '../migrations/0010-responses.sql' with { type: 'text' }
import tenancy from '../migrations/0011-tenancy.sql' with { type: 'text' }
import rates from '../migrations/0012-rates.sql' with { type: 'text' }
import keyAliases from '../migrations/0013-key-aliases.sql' with { type: 'text' }
import oldRates from '../migrations/0014-old-rates.sql' with { type: 'text' }
import postingStatePostgres from '../migrations/0015-posting-state.postgres.sql' with { type: 'text' }
import postingState from '../migrations/0015-posting-state.sql' with { type: 'text' }
import postingStateSqlite from '../migrations/0015-posting-state.sqlite.sql' with { type: 'text' }
import assets from '../migrations/0016-assets.sql' with { type: 'text' }
import uploads from '../migrations/0017-uploads.sql' with { type: 'text' }
import runs from '../migrations/0018-runs.sql' with { type: 'text' }
import consolePostgres from '../migrations/0019-console.postgres.sql' with { type: 'text' }
import people from '../migrations/0019-console.sql' with { type: 'text' }
import consoleSqlite from '../migrations/0019-console.sqlite.sql' with { type: 'text' }
import walletReports from '../migrations/0020-wallet-reports.sql' with { type: 'text' }
import smallAssets from '../migrations/0021-small-assets.sql' with { type: 'text' }
import tenants from '../migrations/0022-tenants.sql' with { type: 'text' }
import passkeys from '../migrations/0023-passkeys.sql' with { type: 'text' }
import hashedBy from '../migrations/0024-hashed-by.sql' with { type: 'text' }
import monthSumsPostgres from '../migrations/0025-month-sums.postgres.sql' with { type: 'text' }
import monthSums from '../migrations/0025-month-sums.sql' with { type: 'text' }
import monthSumsSqlite from '../migrations/0025-month-sums.sqlite.sql' with { type: 'text' }
import detailMonths from '../migrations/0026-detail-months.postgres.sql' with { type: 'text' }
import replacedKeys from '../migrations/0027-replaced-keys.sql' with { type: 'text' }
import place from '../migrations/0028-place.sql' with { type: 'text' }
import proof from '../migrations/0029-proof.sql' with { type: 'text' }
import forgetPostgres from '../migrations/0030-forget.postgres.sql' with { type: 'text' }
import forgetSqlite from '../migrations/0030-forget.sqlite.sql' with { type: 'text' }
import actors from '../migrations/0031-actors.sql' with { type: 'text' }
import machines from '../migrations/0032-machines.sql' with { type: 'text' }
import keyLimitsPostgres from '../migrations/0033-key-limits.postgres.sql' with { type: 'text' }
import keyLimits from '../migrations/0033-key-limits.sql' with { type: 'text' }
import keyLimitsSqlite from '../migrations/0033-key-limits.sqlite.sql' with { type: 'text' }
import machineHashedBy from '../migrations/0034-machine-hashed-by.sql' with { type: 'text' }
import keptLeases from '../migrations/0035-kept-leases.sql' with { type: 'text' }
import cacheSumsPostgres from '../migrations/0036-cache-sums.postgres.sql' with { type: 'text' }
import cacheSums from '../migrations/0036-cache-sums.sql' with { type: 'text' }
import cacheSumsSqlite from '../migrations/0036-cache-sums.sqlite.sql' with { type: 'text' }
import background from '../migrations/0037-background.sql' with { type: 'text' }
import failedCalls from '../migrations/0038-failed-calls.sql' with { type: 'text' }
import billers from '../migrations/0039-billers.sql' with { type: 'text' }
import bills from '../migrations/0040-bills.sql' with { type: 'text' }
import batches from '../migrations/0041-batches.sql' with { type: 'text' }
import logins from '../migrations/0042-logins.sql' with { type: 'text' }
import { type Engine, once, type Row, type Run, statement } from './engine.ts'
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

/** In order, numbered from 1 without gaps. A released migration is never edited: a new one follows it. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'ledger', common: ledger, own: { sqlite: ledgerSqlite, postgres: ledgerPostgres } },
  { version: 2, name: 'funding', common: funding, own: {} },
  { version: 3, name: 'receipts', common: receipts, own: {} },
  { version: 4, name: 'x402', common: x402, own: {} },
  { version: 5, name: 'helpers', common: helpers, own: {} },
  { version: 6, name: 'taken-back', common: takenBack, own: {} },
  { version: 7, name: 'auto-top-up', common: autoTopUp, own: {} },
  { version: 8, name: 'x402-schemes', common: schemes, own: {} },
  { version: 9, name: 'attempts', common: attempts, own: {} },
  { version: 10, name: 'responses', common: responses, own: {} },
  { version: 11, name: 'tenancy', common: tenancy, own: {} },
  { version: 12, name: 'rates', common: rates, own: {} },
  { version: 13, name: 'key-aliases', common: keyAliases, own: {} },
  { version: 14, name: 'old-rates', common: oldRates, own: {} },
  {
    version: 15,
    name: 'posting-state',
    common: postingState,
    own: { sqlite: postingStateSqlite, postgres: postingStatePostgres },
  },
  { version: 16, name: 'assets', common: assets, own: {} },
  { version: 17, name: 'uploads', common: uploads, own: {} },
  { version: 18, name: 'runs', common: runs, own: {} },
  {
    version: 19,
    name: 'console',
    common: people,
    own: { sqlite: consoleSqlite, postgres: consolePostgres },
  },
  { version: 20, name: 'wallet-reports', common: walletReports, own: {} },
  { version: 21, name: 'small-assets', common: smallAssets, own: {} },
  { version: 22, name: 'tenants', common: tenants, own: {} },
  { version: 23, name: 'passkeys', common: passkeys, own: {} },
  { version: 24, name: 'hashed-by', common: hashedBy, own: {} },
  {
    version: 25,
    name: 'month-sums',
    common: monthSums,
    own: { sqlite: monthSumsSqlite, postgres: monthSumsPostgres },
    adds: true,
  },
  { version: 26, name: 'detail-months', common: '', own: { postgres: detailMonths }, adds: true },
  { version: 27, name: 'replaced-keys', common: replacedKeys, own: {}, adds: true },
  { version: 28, name: 'place', common: place, own: {}, adds: true },
  { version: 29, name: 'proof', common: proof, own: {}, adds: true },
  {
    version: 30,
    name: 'forget',
    common: '',
    own: { sqlite: forgetSqlite, postgres: forgetPostgres },
    adds: true,
  },
  { version: 31, name: 'actors', common: actors, own: {}, adds: true },
  { version: 32, name: 'machines', common: machines, own: {}, adds: true },
  {
    version: 33,
    name: 'key-limits',
    common: keyLimits,
    own: { sqlite: keyLimitsSqlite, postgres: keyLimitsPostgres },
  },
  { version: 34, name: 'machine-hashed-by', common: machineHashedBy, own: {}, adds: true },
  { version: 35, name: 'kept-leases', common: keptLeases, own: {}, adds: true },
  {
    version: 36,
    name: 'cache-sums',
    common: cacheSums,
    own: { sqlite: cacheSumsSqlite, postgres: cacheSumsPostgres },
    adds: true,
  },
  { version: 37, name: 'background', common: background, own: {}, adds: true },
  { version: 38, name: 'failed-calls', common: failedCalls, own: {}, adds: true },
  { version: 39, name: 'billers', common: billers, own: {}, adds: true },
  { version: 40, name: 'bills', common: bills, own: {}, adds: true },
  { version: 41, name: 'batches', common: batches, own: {}, adds: true },
  { version: 42, name: 'logins', common: logins, own: {}, adds: true },
]

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
    if (known.length >= leastSchema) return
    throw new Misfit(
      `the database is newer than this program: it has migration ${applied.version} (${applied.name}), ` +
        `this program knows ${known.length}. Start a newer version of Turnpike.`,
    )
  }
  if (checksumOf(textFor(migration, engine)) !== applied.checksum) {
    throw new Misfit(
      `migration ${applied.version} (${applied.name}) was applied to the database in another form than this program has. ` +
        'A released migration must not be edited.',
    )
  }
}

/** Whether the database already has a schema of ours. */
export const hasLedger = async (engine: Engine): Promise<boolean> => {
  const tables =
    engine.name === 'sqlite'
      ? `select name from sqlite_master where type = 'table' and name = 'schema_migration'`
      : `select c.relname as name from pg_class c where c.oid = to_regclass('schema_migration')`
  return (await once(engine, 'control', statement(tables))).length > 0
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
  row === undefined ? applied.length : Number(textOf(row, 'value'))

/** The last migration that does more than add. */
const leastOf = (known: readonly Migration[]): number => known.findLast(({ adds }) => !adds)?.version ?? 0

/** The migrations that the database lacks. Throws as `migrate` does, and changes nothing. */
export const missingOf = async (
  engine: Engine,
  known: readonly Migration[],
): Promise<readonly Migration[]> => {
  const rows = (await hasLedger(engine)) ? await once(engine, 'control', statement(APPLIED)) : []
  const applied = rows.map(appliedOf)
  if (applied.length === 0) return known
  const least = leastIn(await once(engine, 'control', statement(READ_LEAST)), applied)
  for (const one of applied) check(one, engine.name, known, least)
  return known.slice(applied.length)
}

/**
 * Applies what is missing, under a lock that all processes share; either all of it or nothing. Throws if the database
 * is newer than `known` can work with, or was made from other text than `known` has.
 */
export const migrate = (engine: Engine, known: readonly Migration[] = migrations): Promise<number> =>
  engine.exclusive(async (run, script) => {
    const applied = await appliedTo(run)
    const least = applied.length === 0 ? 0 : leastIn(await run(READ_LEAST), applied)
    for (const one of applied) check(one, engine.name, known, least)
    const missing = known.slice(applied.length)
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
