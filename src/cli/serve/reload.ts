/**
 * Reads the configuration again while the server runs. turnpike.yaml and the files of secrets are read and checked as a
 * whole, and then take effect. An invalid configuration changes nothing; log, status and answer report it.
 */
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { type Clock, systemClock } from '../../core/time.ts'
import type {
  ConfigAction,
  ConfigControl,
  ConfigReport,
  ConfigStatus,
  Offering,
  Reloaded,
  Setup,
  VendorKeys,
} from '../../gateway/parts/gateway.ts'
import type { Environment } from '../../settings/bad-setting.ts'
import { addedKeys, addKey, keyFolderOf, removeKeys } from '../config/added-keys.ts'
import { type Config, readConfig } from '../config/config.ts'
import { dropsBetween } from '../config/config-drops.ts'
import { changesBetween, fingerprintOf, type Summary, summaryOf } from '../config/config-summary.ts'
import { offSetup } from '../config/config-vendors.ts'
import { type OpenCatalogue, openCatalogue } from '../config/open-catalogue.ts'
import type { KeyHash } from '../config/parts.ts'
import { secretFiles } from '../config/secret-files.ts'
import { askAllConfigs } from './worker-config.ts'

type ReloadTrigger = 'signal' | 'file' | 'command'

type Start = {
  readonly config: Config
  readonly opened: OpenCatalogue
  readonly environment: Environment
  readonly hash: KeyHash
  readonly log: Log
  /** Whether others listen on the same port. */
  readonly shared: boolean
  /** Logs what an operator should know about what is sold. */
  readonly warn: (config: Config, opened: OpenCatalogue) => void
  readonly setupOf: (config: Config) => Setup
}

type Reloading = {
  readonly control: ConfigControl
  /** From now on a reload takes effect through `sell`; returns how to stop watching the files. */
  readonly begin: (changeOffering: (offering: Offering) => void) => () => void
}

/** A log line names at most this many changes. */
const LOGGED_MAX = 20

export const newReloading = (start: Start): Reloading => {
  const { hash, log } = start
  const clock: Clock = systemClock
  let changeOffering: (offering: Offering) => void = () => undefined
  let now: { readonly summary: Summary; readonly config: Config } = {
    summary: summaryOf(start.config, start.opened, hash),
    config: start.config,
  }
  let hadFile = existsSync(start.config.configFile)
  let status: ConfigStatus = statusOf(now.summary, { hash, at: clock.now(), reloads: 0, needsRestart: [] })

  const refused = (error: unknown, dryRun: boolean): Reloaded => {
    const errors = messageOf(error).split('\n')
    if (!dryRun) {
      status = { ...status, refused: { at: clock.now(), errors } }
      log.error('the configuration cannot be used; the previous one stays in use', {
        error: errors.join('; '),
      })
    }
    return { outcome: 'refused', errors, changes: [], needsRestart: [] }
  }

  const read = async (why: ReloadTrigger, dryRun: boolean): Promise<Reloaded> => {
    let config: Config
    let opened: OpenCatalogue
    try {
      const hasFile = existsSync(start.config.configFile)
      if (hadFile && !hasFile)
        throw new Error(
          `${start.config.configFile} is gone; an empty one would sell what the environment says`,
        )
      config = readConfig(start.environment)
      opened = await openCatalogue(config)
      hadFile ||= hasFile && !dryRun
    } catch (error) {
      return refused(error, dryRun)
    }
    const summary = summaryOf(config, opened, hash)
    const drops = dropsBetween(now, { summary, config })
    if (why === 'file' && drops.length > 0) return refused(new Error(heldBack(drops)), dryRun)
    const changes = changesBetween(now.summary, summary)
    const needsRestart = otherwise(start.config.fixed, config.fixed)
    if (dryRun) return { outcome: 'checked', errors: [], changes, needsRestart }
    changeOffering({ ...opened, setup: start.setupOf(config) })
    now = { summary, config }
    status = statusOf(summary, { hash, at: clock.now(), reloads: status.reloads + 1, needsRestart })
    log.info('the configuration was read again', {
      kind: why,
      ops: changes.length,
      outcome: changes.slice(0, LOGGED_MAX).join(' | '),
      ...(needsRestart.length === 0 ? {} : { setting: `needs a restart: ${needsRestart.join(', ')}` }),
    })
    start.warn(config, opened)
    return { outcome: 'applied', errors: [], changes, needsRestart }
  }

  let last: Promise<unknown> = Promise.resolve()
  /** One reload at a time, each with the files as they are when its turn comes. */
  const inTurn = (why: ReloadTrigger, dryRun: boolean): Promise<Reloaded> => {
    const turn = last.then(() => read(why, dryRun))
    last = turn.catch(() => undefined)
    return turn
  }

  const own = async (action: ConfigAction): Promise<ConfigReport> => {
    const reloaded = action === 'status' ? undefined : await inTurn('command', action === 'check')
    return { process: `${process.pid}`, status, reloaded }
  }
  const folder = keyFolderOf(start.environment)
  const askAll = start.shared ? askAllConfigs(own) : async (action: ConfigAction) => [await own(action)]
  return {
    control: {
      status: () => status,
      ask: askAll,
      settings: Object.fromEntries(
        Object.entries(start.config.fixed).map(([name, value]) => [
          name,
          fingerprintOf(hash, value.reveal()),
        ]),
      ),
      keys: folder === undefined ? undefined : keysIn(folder, start.environment, () => now.config),
    },
    begin: (sells) => {
      changeOffering = sells
      process.on('SIGHUP', () => void inTurn('signal', false))
      if (!start.config.configWatch) return () => undefined
      const secrets = secretFiles(start.environment).map(({ path }) => path)
      const files = [start.config.configFile, ...secrets, ...(folder === undefined ? [] : [folder])]
      return watchFiles(files, clock, () => inTurn('file', false))
    },
  }
}

/** The keys of the folder, for vendors of the configuration as it is. */
const keysIn = (folder: string, environment: Environment, config: () => Config): VendorKeys => ({
  offSetup: (id) => offSetup(id, config().file, environment),
  added: (variable) =>
    addedKeys(folder).flatMap((one) => (one.variable === variable ? [one.key.slice(-4)] : [])),
  add: (variable, key) => addKey(folder, variable, key),
  remove: (variable, end) => removeKeys(folder, variable, end),
})

/** Nobody has asked for it, so it may be an accident. */
const heldBack = (drops: readonly string[]): string =>
  [
    ...drops.slice(0, LOGGED_MAX).map((drop) => `${drop} is gone`),
    ...(drops.length > LOGGED_MAX ? [`${drops.length - LOGGED_MAX} more are gone`] : []),
    'what takes something away takes effect by `turnpike config apply` only',
  ].join('\n')

const VERSION = 12

const statusOf = (
  summary: Summary,
  it: {
    readonly hash: KeyHash
    readonly at: number
    readonly reloads: number
    readonly needsRestart: readonly string[]
  },
): ConfigStatus => ({
  version: it.hash(`configuration ${JSON.stringify([...summary])}`).slice(0, VERSION),
  appliedAt: it.at,
  reloads: it.reloads,
  needsRestart: it.needsRestart,
})

const otherwise = (before: Config['fixed'], after: Config['fixed']): readonly string[] =>
  Object.keys(before).filter((name) => before[name]?.reveal() !== after[name]?.reveal())

const LOOK_MS = 1_000

/**
 * Calls `changed` when a file differs from before and has stayed the same for two looks, so that no file is read while
 * it is being written. Returns how to stop it.
 */
const watchFiles = (
  files: readonly string[],
  clock: Pick<Clock, 'sleep'>,
  changed: () => Promise<unknown>,
): (() => void) => {
  let stopped = false
  const watch = async (): Promise<void> => {
    let applied = await stateOf(files)
    let seen = applied
    while (!stopped) {
      await clock.sleep(LOOK_MS)
      const now = await stateOf(files)
      if (now !== applied && now === seen && !stopped) {
        applied = now
        await changed()
      }
      seen = now
    }
  }
  void watch()
  return () => {
    stopped = true
  }
}

const stateOf = async (files: readonly string[]): Promise<string> =>
  (
    await Promise.all(
      files.map((file) =>
        stat(file).then(
          ({ ino, size, mtimeMs, ctimeMs }) => `${ino} ${size} ${mtimeMs} ${ctimeMs}`,
          () => 'none',
        ),
      ),
    )
  ).join('\n')
