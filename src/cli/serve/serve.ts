/** `turnpike serve`: builds the parts, listens, and drains on SIGTERM. */
import { openNudge } from '../../book/nudge.ts'
import { openDirectory } from '../../cells/directory.ts'
import { Places } from '../../cells/places.ts'
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { systemClock } from '../../core/time.ts'
import { openGateway } from '../../gateway/open-gateway.ts'
import type { GatewayParts, Setup } from '../../gateway/parts/gateway.ts'
import { watchCells } from '../../gateway/watch-cells.ts'
import { listen } from '../../http/listen/listen.ts'
import { listenEarly } from '../../http/listen/listen-early.ts'
import type { Environment } from '../../settings/bad-setting.ts'
import { settings } from '../../settings/index.ts'
import { shownSettings } from '../../settings/shown.ts'
import { lockForServing, Served } from '../../store/engine/serving-lock.ts'
import { moveSecrets, noteSecret, warnOfStrangers } from '../commands/secret-commands.ts'
import { assetsFor } from '../config/assets-config.ts'
import type { Config } from '../config/config.ts'
import { whyNotOpen } from '../config/database-place.ts'
import { firstKey, openAccount } from '../config/first-start.ts'
import { keptEndOf } from '../config/kept-end.ts'
import { unpricedLines } from '../config/offered-models.ts'
import { modelWarnings, type OpenCatalogue, openCatalogue } from '../config/open-catalogue.ts'
import { addressAt } from '../config/own-address.ts'
import { awaitStore, openHash, openOutbox } from '../config/parts.ts'
import { strayNames } from '../config/stray-names.ts'
import { readTls } from '../config/tls-files.ts'
import { keepOnce, onceFile, whyNotKept } from '../run/shown-once.ts'
import { warnOfClock } from './clock-check.ts'
import { keepCollecting } from './collect.ts'
import { firstLink, preparePages } from './console-start.ts'
import { greeting, headline, onceLines, shown } from './greeting.ts'
import { logTo } from './log-to.ts'
import { readyToAsk, warnOfFiles } from './open-files.ts'
import { newReloading } from './reload.ts'
import { standbysFor, startExport, startWatch, tracesOf, watchedBy } from './watch.ts'
import { watchTls } from './watch-tls.ts'

/**
 * What comes so soon after the first signal is the same one again: Ctrl-C signals all processes of a terminal, and npm, or
 * the parent of workers, passes it on.
 */
const SAME_SIGNAL_MS = 1_000
/** A second signal ends the process after this time, whatever is open. */
const SECOND_SIGNAL_MS = 5_000
/** After this time we give up on a database that does not answer, without closing the connection. */
const CLOSE_MS = 500

/** One of several processes on a port, one of which prints the greeting for all. */
type ProcessRole = { readonly shared: boolean; readonly greets: boolean }

/**
 * Serves until a signal. `shared` lets several processes listen on one port; the one that greets shows the first key.
 */
export const serve = async (environment: Environment, config: Config, { shared, greets }: ProcessRole) => {
  const log = logTo(config.logLevel)
  const ending = listenForEnd(shared, log)
  const lock = lockFor(config.databaseUrl)
  const place = { hostname: config.host, port: config.port, shared, tls: readTls(config.tls) }
  const early = listenEarly(place)
  // Other workers may take calls on a shared port, which must not come here, unless none of them has its database.
  if (!shared) early.begin()
  const { store, hash } = await openLedger(config, log, early.begin)
  const opened = await openCatalogue(config)
  warnOf(config, opened, log)
  warnOfFiles(config.gateway.openCallsMax, log)
  tellOfMemory(config.smaller, log)
  const reloading = newReloading({
    config,
    opened,
    environment,
    hash,
    log,
    shared,
    warn: (now, offering) => warnOf(now, offering, log),
    setupOf,
  })
  const traces = await tracesOf(config, log)
  const standbys = await standbysFor(config, store, log)
  const exporting = await startExport(config, store, log)
  const { others, cells } = await cellsFor(config, { store, hash, log })
  const { gateway, present, changeOffering, stopChores } = await openGateway({
    store,
    hash,
    log,
    offering: { ...opened, setup: setupOf(config) },
    watch: { ...watchedBy(config, hash, shared), traces, exporting, ...standbys, cells },
    options: config.gateway,
    console: config.console,
    nudge: await openNudge(),
    outbox: (who) => openOutbox(store, config, who),
    keptEnd: await keptEndOf(store, config),
    ...{ stripe: config.stripe, x402: config.x402, cells: others },
    publicUrl: config.publicUrl,
    receipts: receiptsOf(config),
    config: reloading.control,
    assets: (own) => assetsFor(config.assets, { ...own, hash, log, port: () => server.port }),
    chores: true,
  })
  const stopCollecting = keepCollecting(gateway.watch.meters)
  const stopWatch = startWatch(present, config, shared)
  await readyToAsk()
  await early.stop()
  const server = listen(present, { ...place, ...edgeOf(config), others })
  const stopReading = [reloading.begin(changeOffering), renewing(config, server, log)]
  log.info('listening', { instance: gateway.instance })
  ending.drainsBy(async () => {
    log.info('draining: open calls end first; a second signal ends them in a few seconds', {
      instance: gateway.instance,
      ops: gateway.book.health().openCalls,
    })
    for (const stop of stopReading) stop()
    for (const watch of [exporting, standbys.standby, standbys.replica, cells]) watch?.stop()
    stopCollecting()
    server.goAway()
    // From here on new calls are refused; running ones end normally, and their leases are given back.
    await gateway.book.drain(config.drainMs, {
      cut: server.stop,
      others: (forMs) => Promise.all([stopChores(forMs), server.answered(forMs)]),
    })
    server.stop()
    stopWatch()
    await traces?.close()
    await Promise.race([store.close(), systemClock.sleep(CLOSE_MS)])
    lock.release()
  })
  // The greeting comes last, because whoever reads it may send a signal at once.
  if (greets) {
    preparePages(config, log)
    await greet(config, opened, { store, hash, log, port: server.port })
  }
  await new Promise<never>(() => undefined)
}

/** Where the other cells are, if this server knows, and what they say of its organisations. */
const cellsFor = async (
  { gateway: { cell } }: Config,
  parts: Pick<GatewayParts, 'store' | 'hash' | 'log'>,
) => {
  if (cell.own === undefined || cell.directory === undefined) return {}
  const others = {
    own: cell.own,
    directory: openDirectory(cell.directory, { clock: systemClock, log: parts.log }),
    places: new Places(systemClock.monotonicMs),
  }
  return { others, cells: await watchCells({ ...parts, others, clock: systemClock, random: Math.random }) }
}

/** From which addresses the server takes connections. */
const edgeOf = ({ listenAddresses }: Config) => ({
  allowed: listenAddresses.length === 0 ? undefined : listenAddresses,
})

/** Keeps the certificate that of its files; returns how to stop. */
const renewing = (config: Config, { renew }: Pick<ReturnType<typeof listen>, 'renew'>, log: Log) => {
  const tls = readTls(config.tls)
  if (tls === undefined) return () => undefined
  return watchTls(tls, { clock: systemClock, log, read: () => readTls(config.tls), renew })
}

/** Opens the ledger, which may take a while, and makes it that of these settings. */
const openLedger = async (config: Config, log: Log, onWait: () => void) => {
  const store = await awaitStore(config, (error) => {
    log.warn('waiting for the database', { error })
    onWait()
  })
  await warnOfClock(store, log)
  const hash = await openHash(store, config)
  await moveSecrets({ store, hash, config }, log)
  await warnOfStrangers({ store, hash }, log)
  await noteSecret({ store, hash })
  await openAccount(store, config)
  return { store, hash }
}

/** The lock of a ledger that only one server may serve. */
const lockFor = (url: string): ReturnType<typeof lockForServing> => {
  try {
    return lockForServing(url)
  } catch (error) {
    throw error instanceof Served
      ? error
      : new Error(`the ledger cannot be opened: ${whyNotOpen(url, error)}`)
  }
}

const setupOf = ({ markup, discount, overrides, models, off, journal, smaller }: Config): Setup => ({
  settings: shownSettings(settings, process.env, smaller),
  markup,
  discount,
  overridden: [...Object.keys(overrides), ...models.map(({ id }) => id)],
  off,
  journal,
})

/**
 * Shows the operator what is on, with the first key if this start made it. Without a reader it makes neither key nor
 * link, which could be shown only once.
 */
const greet = async (
  config: Config,
  opened: OpenCatalogue,
  {
    store,
    hash,
    log,
    port,
  }: Pick<GatewayParts, 'store' | 'hash' | 'log'> & { readonly port: number | undefined },
): Promise<void> => {
  const address = addressAt(config.host, port, config.tls.cert !== undefined)
  if (!(await shown(headline(config, address)))) {
    log.warn('nobody reads standard output: a first key is made by the next start that can show it')
    return
  }
  const file = process.stdout.isTTY ? undefined : onceFile(config)
  const wrong = file === undefined ? undefined : await whyNotKept(file)
  if (wrong !== undefined)
    log.warn('a first key and link are made by the next start that can show or write them', {
      error: `${file}: ${messageOf(wrong)}`,
    })
  const [token, link] =
    wrong === undefined
      ? [await firstKey(store, hash, config.gateway.cell.own), await firstLink(store, config, address)]
      : []
  const kept = file !== undefined && (token !== undefined || link !== undefined)
  if (kept) await keepOnce(file, [headline(config, address), ...onceLines({ token, link })])
  await shown(greeting(config, opened, { address, token, link, file: kept ? file : undefined }))
}

const warnOf = (config: Config, opened: OpenCatalogue, log: Log): void => {
  for (const { what, models } of modelWarnings(config, opened, systemClock.now()))
    log.warn(what, { model: models })
  for (const line of unpricedLines(opened.unpriced)) log.warn('a vendor sells nothing yet', { error: line })
  for (const { name, meant } of strayNames(process.env))
    log.warn(`a variable is no setting; did you mean ${meant}?`, { setting: name })
  if (config.strayAddresses.length > 0)
    log.warn('no vendor has these addresses; docs/vendors.md names the variables', {
      setting: config.strayAddresses.join(', '),
    })
}

const tellOfMemory = (smaller: Config['smaller'], log: Log): void => {
  const bounds = Object.entries(smaller).map(([name, value]) => `${name}=${value}`)
  if (bounds.length > 0)
    log.info('the memory is small, and so are the defaults of these settings (MEMORY_MAX)', {
      setting: bounds.join(' '),
    })
}

const receiptsOf = ({ receipts: { mode, issuers } }: Config) =>
  mode === 'off' ? undefined : { issuers, inAnswers: mode === 'header' }

/**
 * From now on the first signal ends the process: at once while it starts, and later once it has drained; a second one
 * shortens the wait. A worker also ends when its parent has, however the parent died. Closing the terminal ends nothing.
 */
const listenForEnd = (worker: boolean, log: Log) => {
  let signals = 0
  let firstMs = 0
  let drain: () => Promise<unknown> = async () => undefined
  const take = () => {
    const nowMs = systemClock.monotonicMs()
    if (signals === 1 && nowMs - firstMs < SAME_SIGNAL_MS) return
    signals++
    if (signals === 1) {
      firstMs = nowMs
      void drain().finally(() => process.exit(0))
    } else {
      if (signals === 2) log.info(`a second signal: ending in ${SECOND_SIGNAL_MS / 1000} s, whatever is open`)
      setTimeout(() => process.exit(0), SECOND_SIGNAL_MS)
    }
  }
  process.on('SIGTERM', take)
  process.on('SIGINT', take)
  // Once the server listens, the signal also reads the configuration again; see reload.ts.
  process.on('SIGHUP', () => undefined)
  if (worker) process.stdin.on('end', take).resume()
  return {
    /** Says how the process drains, once there is something to drain. */
    drainsBy: (how: () => Promise<unknown>) => {
      drain = how
    },
  }
}
