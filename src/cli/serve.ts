/** `turnpike serve`: makes the parts, listens, and drains on SIGTERM. */
import { createBook } from '../book/book.ts'
import { openNudge } from '../book/nudge.ts'
import { createLog } from '../core/log.ts'
import { systemClock } from '../core/time.ts'
import { createGateway } from '../gateway/gateway.ts'
import { createApp } from '../http/app.ts'
import type { Config } from './config.ts'
import { firstStart } from './first-start.ts'
import { awaitStore, openHash } from './parts.ts'
import { type Sold, soldBy } from './sold.ts'

/** A second signal ends the process after this long, whatever is open. */
const SECOND_SIGNAL_MS = 5_000

/** Serves until a signal. `shared` lets several processes listen on one port. */
export const serve = async (config: Config, shared: boolean): Promise<void> => {
  const log = createLog(config.logLevel, systemClock.now, (line) => process.stderr.write(`${line}\n`))
  const store = await awaitStore(config, (error) => log.warn('waiting for the database', { error }))
  const hash = await openHash(store, config)
  const token = await firstStart(store, config, hash)
  const sold = await soldBy(config)
  const instance = `${process.pid}-${Bun.randomUUIDv7().slice(-12)}`
  const nudge = await openNudge()
  const longestCallMs = config.gateway.timeouts.totalMs + 5_000
  const book = createBook({
    store,
    clock: systemClock,
    instance,
    random: Math.random,
    log,
    nudge,
    longestCallMs,
  })
  await book.start()
  const gateway = createGateway({
    store,
    book,
    catalogue: sold.catalogue,
    vendors: sold.vendors,
    options: config.gateway,
    clock: systemClock,
    log,
    instance,
    hash,
    newCallId: () => Bun.randomUUIDv7(),
    random: Math.random,
  })
  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    reusePort: shared,
    // Streams may be silent for long; the deadlines of a call are its own.
    idleTimeout: 0,
    maxRequestBodySize: config.gateway.bodyBytesMax + 1024,
    fetch: createApp(gateway).fetch,
    error: () =>
      Response.json(
        { error: { message: 'The server failed.', type: 'server_error', code: 'internal_error' } },
        { status: 500 },
      ),
  })
  log.info('listening', { instance })
  onFirstSignal(() => {
    log.info('draining', { instance })
    // New calls are refused from here on; those that run end well, and their leases go back.
    return book
      .drain(config.drainMs)
      .then(() => server.stop())
      .then(() => store.close())
  })
  // Said last: whoever reads it may send a signal at once.
  process.stdout.write(greeting(config, sold, `http://${config.host}:${server.port}`, token))
  await new Promise<never>(() => undefined)
}

/** The first signal drains and ends the process; a second one shortens the wait. */
const onFirstSignal = (drain: () => Promise<unknown>): void => {
  let signals = 0
  const take = () => {
    signals++
    if (signals === 1) void drain().finally(() => process.exit(0))
    else setTimeout(() => process.exit(0), SECOND_SIGNAL_MS)
  }
  process.on('SIGTERM', take)
  process.on('SIGINT', take)
}

/** What the operator reads first: the address, the key if it is new, a call to try, and what is on. */
const greeting = (config: Config, sold: Sold, address: string, token: string | undefined): string => {
  const shown = token ?? 'sk-…'
  const lines = [
    `Turnpike listens on ${address}  (ledger: ${config.databaseUrl.startsWith('sqlite:') ? config.databaseUrl : 'PostgreSQL'})`,
    '',
    token === undefined
      ? 'Your key was shown on the first start; `bin/turnpike key create --label NAME` makes another.'
      : `Your key, shown only now:  ${token}`,
    '',
    'Try it:',
    `  curl ${address}/v1/chat/completions -H 'Authorization: Bearer ${shown}' -H 'Content-Type: application/json' \\`,
    `    -d '{"model":"local/echo-1","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
    `Vendors on: ${[...sold.vendors.keys()].join(', ')}  (${sold.catalogue.list().length} models; local/ is a deterministic built-in, not an AI)`,
    `To turn on more, set: ${config.off.map(({ variable }) => variable).join(', ') || 'all are on'}`,
    '',
  ]
  return `${lines.join('\n')}\n`
}
