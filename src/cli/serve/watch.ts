/**
 * How a server is monitored: what it counts, at which address it reports that, and figures that only the process itself
 * knows.
 */

import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { version } from '../../../package.json'
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { systemClock } from '../../core/time.ts'
import { type Exporting, keepExporting } from '../../export/keep-exporting.ts'
import { sinkOf } from '../../export/sinks.ts'
import { callSource, eventSource } from '../../export/sources.ts'
import type { MetricsAccess, Present } from '../../gateway/parts/gateway.ts'
import { watchReplica, watchStandby } from '../../gateway/parts/watch-standby.ts'
import { ownMetrics } from '../../gateway/read-metrics.ts'
import { listenForMetrics } from '../../http/listen/listen-metrics.ts'
import { type Meters, newMeters } from '../../metrics/meters.ts'
import { newRegistry } from '../../metrics/registry.ts'
import type { Reading } from '../../metrics/snapshot.ts'
import { fileOf } from '../../store/ledger-file.ts'
import type { Store } from '../../store/port.ts'
import { openTraces } from '../../transport/open-traces.ts'
import type { Config } from '../config/config.ts'
import { type KeyHash, metricsToken } from '../config/parts.ts'
import { askParent } from './worker-metrics.ts'

type Watched = { readonly meters?: Meters; readonly metrics?: MetricsAccess }

/**
 * The parts of a gateway that count and report; none if METRICS is off. `shared`: one of several processes on a port.
 */
export const watchedBy = (config: Config, hash: KeyHash, shared: boolean): Watched => {
  const { metrics } = config.watch
  if (metrics === 'off') return {}
  const disks = watchDisks(config)
  return {
    meters: newMeters(newRegistry(), config.watch.metricsTags),
    metrics: {
      tokenHash: metrics === 'token' ? hash(metricsToken(config, hash)) : undefined,
      ofProcess: () => [...ofProcess(config), ...disks()],
      together: shared ? askParent() : undefined,
    },
  }
}

/** Begins to export calls and events, if the settings say so; else charges stop recording calls for it. */
export const startExport = async (
  { exporting }: Config,
  store: Store,
  log: Log,
): Promise<(Exporting & { readonly stop: () => void }) | undefined> => {
  await store.exports.noteExports(exporting?.calls !== undefined)
  const kinds = [
    { to: exporting?.calls, source: callSource(store.exports) },
    { to: exporting?.events, source: eventSource(store.chain) },
  ]
  const running = kinds.flatMap(({ to, source }) =>
    to === undefined
      ? []
      : [keepExporting({ source, sink: sinkOf(to.sink), clock: systemClock, log, everyMs: to.everyMs })],
  )
  if (running.length === 0) return undefined
  return {
    lagMs: () => Math.max(...running.map(({ lagMs }) => lagMs())),
    failures: () => Math.max(...running.map(({ failures }) => failures())),
    stop: () => {
      for (const { stop } of running) stop()
    },
  }
}

/** Begins to watch the standby that the settings require, and the replica of reports. Throws if there is no standby now. */
export const standbysFor = async ({ sync, replicaUrl, replicaLagMs }: Config, store: Store, log: Log) => {
  const parts = { clock: systemClock, log }
  if (sync === 'require' && !(await store.synchronous()))
    throw new Error(
      'SYNC=require, and the ledger has no synchronous standby: set synchronous_standby_names there (Patroni: synchronous_mode) and see that one is connected, or set SYNC=any',
    )
  return {
    standby: sync === 'require' ? watchStandby(store, parts) : undefined,
    replica: replicaUrl === undefined ? undefined : watchReplica(store, replicaLagMs, parts),
  }
}

type OpenTraces = Awaited<ReturnType<typeof openTraces>>

/** Where traces go, if anywhere. Without the packages a server still starts, and says what is missing. */
export const tracesOf = async ({ watch: { traces } }: Config, log: Log): Promise<OpenTraces | undefined> => {
  const { endpoint, ...options } = traces
  if (endpoint === undefined) return undefined
  try {
    const instance = `${process.pid}`
    return await openTraces({ endpoint, ...options, version, instance, random: Math.random, log })
  } catch (error) {
    log.error(
      'no traces: install the packages of OpenTelemetry (npm run add -- traces), or leave out their endpoint',
      {
        error: messageOf(error),
      },
    )
    return undefined
  }
}

/** Opens the port of the metrics if they have one, and measures the event loop; returns how to end both. */
export const startWatch = (present: Present, { watch }: Config, shared: boolean): (() => void) => {
  const { meters, metrics: access } = present.gateway.watch
  if (meters === undefined) return () => undefined
  const timer = timeLoop(meters)
  const reportLast = access?.together?.register(() => ownMetrics(present.gateway))
  const { metrics } = watch
  const stop =
    typeof metrics === 'object'
      ? listenForMetrics(present, {
          ...{ hostname: metrics.host, port: metrics.port, shared },
          allowed: watch.metricsAddresses,
        })
      : undefined
  return () => {
    clearInterval(timer)
    reportLast?.()
    stop?.()
  }
}

const LOOP_MS = 100

const timeLoop = (meters: Meters) => {
  let dueMs = systemClock.monotonicMs() + LOOP_MS
  return setInterval(() => {
    const nowMs = systemClock.monotonicMs()
    meters.loopDelayed(Math.max(0, nowMs - dueMs))
    dueMs = nowMs + LOOP_MS
  }, LOOP_MS)
}

const SECOND_MS = 1_000
const SECOND_US = 1_000_000
const startedS = (systemClock.now() - systemClock.monotonicMs()) / SECOND_MS

const ofProcess = ({ databaseUrl }: Config): readonly Reading[] => {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return [
    ['info', 1, [version, databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres']],
    ['processes', 1],
    ['memory', rss],
    ['heap', heapUsed],
    ['cpu', (user + system) / SECOND_US],
    ['started', startedS],
  ]
}

const EVERY_MS = 15_000

/** The folders that the settings name, by what is in them. */
const placesOf = ({ databaseUrl, journal, assets: { place } }: Config): ReadonlyMap<string, string> => {
  const ledger = fileOf(databaseUrl)
  return new Map([
    ...(ledger === undefined ? [] : ([['ledger', dirname(ledger)]] as const)),
    ...(journal === undefined ? [] : ([['journal', journal]] as const)),
    ...('folder' in place ? ([['assets', place.folder]] as const) : []),
  ])
}

/** The disk of a folder, or of the nearest one above it that exists. */
const diskOf = async (folder: string): Promise<{ readonly free: number; readonly size: number }> => {
  for (let at = resolve(folder); ; at = dirname(at))
    try {
      const { bavail, blocks, bsize } = await statfs(at)
      return { free: bavail * bsize, size: blocks * bsize }
    } catch (error) {
      if (at === dirname(at)) throw error
    }
}

/** Looks until the process ends. Returns how to read what was found last; a disk that cannot be read is left out. */
const watchDisks = (config: Config): (() => readonly Reading[]) => {
  const places = placesOf(config)
  let found: readonly Reading[] = []
  let looking = false
  const look = async (): Promise<void> => {
    if (looking) return
    looking = true
    const disks = await Promise.all(
      [...places].map(async ([of, folder]): Promise<readonly Reading[]> => {
        const disk = await diskOf(folder).catch(() => undefined)
        if (disk === undefined) return []
        return [
          ['diskFree', disk.free, [of]],
          ['diskSize', disk.size, [of]],
        ]
      }),
    )
    found = disks.flat()
    looking = false
  }
  void look()
  setInterval(look, EVERY_MS).unref()
  return () => found
}
