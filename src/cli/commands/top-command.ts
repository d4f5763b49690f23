/** `turnpike top`: a live view of a server on a terminal, from its metrics. */
import type { Command } from 'commander'
import { messageOf } from '../../core/message-of.ts'
import { overviewOf, type Samples, samplesIn, vendorRowsOf } from '../../metrics/top.ts'
import { type Config, readConfig } from '../config/config.ts'
import { addressAt, ownAddress, toOwn } from '../config/own-address.ts'
import { hashOfSettings, metricsToken } from '../config/parts.ts'
import { counted, Failed, print, tableOf, under, withDatabase } from '../run/run-command.ts'

type TopOptions = { address?: string; token?: string; every: string; once?: boolean; json?: boolean }

const ANSWER_MS = 5_000
const SECOND_MS = 1_000
const CLEAR = '\x1b[H\x1b[2J'

/** The server may answer the next time, as when it is started again. */
class Away extends Failed {}

export const topCommand = (program: Command): void => {
  under(program, 'top', 'show rates, latency, spend and vendors of the running server, kept up to date')
    .option('--address <url>', 'of the server (default: that of HOST and PORT, or of METRICS)')
    .option('--token <token>', 'METRICS_TOKEN (default: that of the settings or of the ledger)')
    .option('--every <seconds>', 'how long to measure', '2')
    .option('--once', 'show it once, then exit')
    .option('--json', 'for programs; once')
    .action(top)
}

const top = async (options: TopOptions): Promise<void> => {
  const seconds = Number(options.every)
  if (!(seconds >= 0.1 && seconds <= 3_600))
    throw new Failed('--every must be a number of seconds from 0.1 to 3600')
  const read = await readerOf(options)
  const once = options.once === true || options.json === true
  const clear = once || !process.stdout.isTTY ? '' : CLEAR
  let before = { samples: await read(), atMs: performance.now() }
  for (;;) {
    await Bun.sleep(seconds * SECOND_MS)
    const samples = await read().catch((error: unknown) => {
      if (once || !(error instanceof Away)) throw error
      process.stderr.write(`${clear}${error.message}; asking again\n`)
      return undefined
    })
    if (samples === undefined) continue
    const after = { samples, atMs: performance.now() }
    const span = {
      before: before.samples,
      after: after.samples,
      seconds: (after.atMs - before.atMs) / SECOND_MS,
    }
    const [overview, vendors] = [overviewOf(span), vendorRowsOf(span)]
    print(options.json, { ...overview, vendors }, `${clear}${textOf(overview)}\n${tableOf(vendors)}`)
    if (once) return
    before = after
  }
}

const textOf = (it: ReturnType<typeof overviewOf>): string => {
  const { calls_per_second, refusals_per_second, usd_per_minute, added_ms_p50, added_ms_p99 } = it
  return `${[
    `${calls_per_second.toFixed(1)} calls/s   ${refusals_per_second.toFixed(1)} refused/s   ${usd_per_minute.toFixed(4)} USD/min`,
    `added ${added_ms_p50} ms (p50)  ${added_ms_p99} ms (p99)   ledger: ${it.in_touch ? 'in touch' : 'OUT OF TOUCH'}, queue ${it.queue_ms} ms`,
    `${counted(it.open_calls, 'call')} open, ${counted(it.open_streams, 'stream')}   ${counted(it.processes, 'process', 'processes')}, ${it.memory_mb} MB`,
  ].join('\n')}\n`
}

/** Reads the metrics once. Throws Failed if they cannot be read. */
const readerOf = async (options: TopOptions): Promise<() => Promise<Samples>> => {
  const config = readConfig(process.env)
  const { metrics } = config.watch
  if (metrics === 'off' && options.address === undefined)
    throw new Failed('METRICS is off: there is nothing to show')
  const own = typeof metrics === 'object' ? addressAt(metrics.host, metrics.port) : ownAddress()
  const address = (options.address ?? own).replace(/\/$/, '')
  const token = options.token ?? (metrics === 'token' ? await tokenOf(config) : undefined)
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const ask = async () => {
    const answer = await fetch(`${address}/metrics`, {
      headers,
      signal: AbortSignal.timeout(ANSWER_MS),
      ...(options.address === undefined ? toOwn : {}),
    })
    return { status: answer.status, text: await answer.text() }
  }
  return async () => {
    const { status, text } = await ask().catch((error: unknown) => {
      throw new Away(`no server answers at ${address}: ${messageOf(error)}`)
    })
    if (status === 401)
      throw new Failed(`the server at ${address} has another METRICS_TOKEN; give it with --token`)
    const why = `the server at ${address} gives no metrics: ${status}`
    if (status !== 200) throw status < 500 ? new Failed(why) : new Away(why)
    return samplesIn(text)
  }
}

/** From the settings where they have it, because a server is looked at also while its database is away. */
const tokenOf = async (config: Config): Promise<string> => {
  const set = config.watch.metricsToken?.reveal()
  if (set !== undefined) return set
  const hash = hashOfSettings(config)
  if (hash !== undefined) return metricsToken(config, hash)
  return withDatabase(async (database) => metricsToken(config, database.hash), config).catch((error) => {
    throw new Failed(`${messageOf(error)}; while the database is away, give the METRICS_TOKEN of the server`)
  })
}
