/** `turnpike route`: the router of cells, which needs the directory of cells and nothing else. */
import type { Command } from 'commander'
import { openDirectory } from '../../cells/directory.ts'
import { Places } from '../../cells/places.ts'
import { systemClock } from '../../core/time.ts'
import { listenAsRouter } from '../../http/cells/listen-router.ts'
import { keepLooking } from '../../http/cells/look.ts'
import { listenForFigures } from '../../http/listen/listen-metrics.ts'
import { contentTypes } from '../../metrics/render.ts'
import { BadSetting } from '../../settings/bad-setting.ts'
import { settings } from '../../settings/index.ts'
import { readSettings } from '../../settings/setting.ts'
import { addressAt } from '../config/own-address.ts'
import { readTls } from '../config/tls-files.ts'
import { under } from '../run/run-command.ts'
import { logTo } from './log-to.ts'
import { readyToAsk } from './open-files.ts'
import { watchTls } from './watch-tls.ts'

export const routeCommand = (program: Command): void => {
  under(program, 'route', 'pass each call to the cell that its key names, until SIGTERM').action(start)
}

const start = async (): Promise<void> => {
  const { server, calls, watch } = readSettings(settings, process.env)
  const path = calls.cell.directory
  if (path === undefined) throw new BadSetting('CELLS must name the file of the cells (docs/scaling.md)')
  const log = logTo(server.logLevel)
  const directory = openDirectory(path, { clock: systemClock, log })
  const places = new Places(systemClock.monotonicMs)
  await readyToAsk()
  const stopLooking = keepLooking({ directory, places, clock: systemClock, log })
  const tls = readTls(server.tls)
  const router = listenAsRouter(
    { directory, places },
    {
      hostname: server.host,
      port: server.port,
      tls,
      allowed: server.listenAddresses,
      trusted: calls.trustedProxies,
      connectionSeconds: calls.connectionSeconds,
      socketBytesMax: calls.socketBytesMax,
      socketIdleSeconds: calls.socketIdleSeconds,
    },
  )
  const stopRenewing =
    tls === undefined
      ? () => undefined
      : watchTls(tls, {
          ...{ clock: systemClock, log, renew: router.renew },
          read: () => readTls(server.tls),
        })
  const { metrics } = watch
  if (typeof metrics === 'object')
    listenForFigures(
      async () => ({
        body: new TextEncoder().encode(router.figures.text(directory.now(), places)),
        headers: { 'content-type': contentTypes.prometheus },
      }),
      {
        ...{ hostname: metrics.host, port: metrics.port, shared: false },
        allowed: watch.metricsAddresses,
      },
    )
  const end = (): void => {
    log.info('draining: open requests end first')
    stopLooking()
    stopRenewing()
    directory.stop()
    void router.drain(server.drainMs).finally(() => process.exit(0))
  }
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
  const address = addressAt(server.host, router.port, server.tls.cert !== undefined)
  process.stdout.write(`Turnpike routes at ${address} to ${[...directory.now().cells.keys()].join(', ')}\n`)
  await new Promise<never>(() => undefined)
}
