/** `turnpike config`: checks the settings, shows those of the running server, and applies changes. */
import type { Command } from 'commander'
import type { ConfigReloaded, ConfigShown } from '../../control/house/config.ts'
import { messageOf } from '../../core/message-of.ts'
import { systemClock } from '../../core/time.ts'
import { configToken } from '../../http/account/config.ts'
import { BadSetting } from '../../settings/bad-setting.ts'
import { readConfig } from '../config/config.ts'
import { fingerprintOf } from '../config/config-summary.ts'
import { unpricedLines } from '../config/offered-models.ts'
import { modelWarnings, openCatalogue } from '../config/open-catalogue.ts'
import { ownAddress, toOwn } from '../config/own-address.ts'
import { strayNames } from '../config/stray-names.ts'
import { type Database, Failed, print, tableOf, under, withDatabase } from '../run/run-command.ts'

type Options = { readonly address?: string; readonly dryRun?: boolean; readonly json?: boolean }

/** Reading asks servers on this machine for their models, in each process. */
const ANSWER_MS = 45_000

export const configCommands = (program: Command): void => {
  const config = program.command('config').description('settings')
  under(config, 'check', 'read the environment and turnpike.yaml, and say what is wrong').action(check)
  config
    .command('apply')
    .description(
      'make the running server read turnpike.yaml and the files of secrets again, and say what changes',
    )
    .option('--dry-run', 'only say what would change')
    .option('--address <url>', 'of the server (default: that of HOST and PORT)')
    .option('--json', 'for programs')
    .action((options: Options) => withServer((database) => apply(database, options)))
  config
    .command('status')
    .description('show which configuration the running server has, and what is wrong with the newest')
    .option('--address <url>', 'of the server (default: that of HOST and PORT)')
    .option('--json', 'for programs')
    .action((options: Options) => withServer((database) => status(database, options)))
}

/**
 * The environment has what is needed to reach the server. turnpike.yaml is read by the server, and may be the thing
 * that is wrong.
 */
const withServer = (work: (database: Database) => Promise<void>): Promise<void> =>
  withDatabase(work, readConfig(process.env, {}))

/** Everything that a start derives from the settings before it needs a database or a port. */
const check = async (): Promise<void> => {
  const config = readConfig(process.env)
  const opened = await openCatalogue(config)
  const { vendors, catalogue, unpriced } = opened
  for (const { what, models } of modelWarnings(config, opened, systemClock.now()))
    process.stdout.write(`Note: ${what}: ${models}\n`)
  for (const line of unpricedLines(unpriced)) process.stdout.write(`Note: ${line}\n`)
  for (const name of config.strayAddresses)
    process.stdout.write(`Note: no vendor has the address ${name}; docs/vendors.md names the variables\n`)
  const stray = strayNames(process.env)
  if (stray.length > 0)
    throw new BadSetting(
      stray.map(({ name, meant }) => `${name} is no setting; did you mean ${meant}?`).join('\n'),
    )
  process.stdout.write(
    `The settings are valid. Vendors on: ${[...vendors.keys()].join(', ')}  (${catalogue.list().length} models)\n`,
  )
}

const apply = async (database: Database, options: Options): Promise<void> => {
  const dryRun = options.dryRun === true
  const before: ConfigShown = await askServer(database, options)
  const done: ConfigReloaded = await askServer(database, options, { dry_run: dryRun })
  if (done.outcome === 'refused' && options.json !== true)
    throw new BadSetting([...done.errors, 'Nothing has changed.'].join('\n'))
  const here = setHere(database, before)
  const needs_restart = [...new Set([...done.needs_restart, ...here.names])]
  print(options.json, { ...done, needs_restart }, textOf({ ...done, needs_restart }) + here.note)
  if (done.outcome === 'refused') process.exitCode = 2
}

const textOf = ({ outcome, processes, changes, needs_restart }: ConfigReloaded): string => {
  const [done, nothing] =
    outcome === 'checked'
      ? ['The settings are valid. To be changed', 'The settings are valid; they change nothing']
      : ['Applied', 'Applied; nothing is different']
  const many = processes === 1 ? '' : ` by ${processes} processes`
  return `${[
    changes.length === 0 ? `${nothing}${many}.` : `${done}${many}:`,
    ...changes.map((line) => `  ${line}`),
    ...needs_restart.map((name) => `Needs a restart: ${name}`),
  ].join('\n')}\n`
}

const status = async (database: Database, options: Options): Promise<void> => {
  const shown: ConfigShown = await askServer(database, options)
  const rows = shown.processes.map(({ refused, needs_restart, ...one }) => ({
    ...one,
    state: refused === null ? 'good' : 'the newest cannot be used',
  }))
  const refused = shown.processes.flatMap((one) => one.refused?.errors ?? [])
  const here = setHere(database, shown)
  const restart = shown.processes.flatMap((one) => one.needs_restart)
  const needs_restart = [...new Set([...restart, ...here.names])]
  const lines = [...new Set(refused), ...needs_restart.map((name) => `Needs a restart: ${name}`)]
  print(
    options.json,
    { ...shown, needs_restart },
    tableOf(rows) + lines.map((line) => `${line}\n`).join('') + here.note,
  )
  if (refused.length > 0) process.exitCode = 1
}

/**
 * Settings in this command's environment that differ from the server's. Fingerprints that another secret made cannot be
 * compared: while a secret is being replaced, the server also takes the command of the other one.
 */
const setHere = ({ config, hash }: Database, { settings, hashed_by }: ConfigShown) => {
  if (hashed_by !== (hash.id ?? null))
    return {
      names: [],
      note: 'This command has another TURNPIKE_SECRET than the server; give it the same one to see what else differs.\n',
    }
  const names = Object.entries(config.fixed).flatMap(([name, value]) => {
    const set = (process.env[name] ?? process.env[`${name}_FILE`] ?? '') !== ''
    const there = settings[name]
    return set && there !== undefined && there !== fingerprintOf(hash, value.reveal()) ? [name] : []
  })
  return { names, note: '' }
}

/** Throws Failed if no server answers, or it does not accept the command of this ledger. */
const askServer = async <Answer>({ hash }: Database, { address }: Options, body?: object) => {
  const base = (address ?? ownAddress()).replace(/\/$/, '')
  const answer = await fetch(`${base}/api/config`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${configToken(hash)}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(ANSWER_MS),
    ...(address === undefined ? toOwn : {}),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new Failed(`no server answers at ${base}: ${messageOf(error)}`)
  })
  if (answer.status === 401) throw new Failed(`the server at ${base} has another ledger or TURNPIKE_SECRET`)
  if (!answer.ok) throw new Failed(`the server at ${base} answers ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}
