/** `turnpike serve`: makes the parts, listens, and drains on SIGTERM. */
import { createBook } from '../book/book.ts'
import { openNudge } from '../book/nudge.ts'
import { createLog, type Log } from '../core/log.ts'
import { systemClock } from '../core/time.ts'
import { createGateway, type Parts } from '../gateway/gateway.ts'
import { openReceiptKeys } from '../gateway/receipt-keys.ts'
import { keepAlerting } from '../gateway/wallet-alerts.ts'
import { watchBooks } from '../gateway/watch-books.ts'
import { listen } from '../http/listen.ts'
import { keepMonthsClosed } from '../payment/close-months.ts'
import { keepToppingUp } from '../payment/top-ups.ts'
import { systemWebhooks } from '../transport/webhook.ts'
import { keepCollecting } from './collect.ts'
import type { Config } from './config.ts'
import { firstKey, openAccount } from './first-start.ts'
import { greeting } from './greeting.ts'
import { awaitStore, openHash, openJournal, stripeFor, x402For } from './parts.ts'
import { dearerEquals, endingModels, type Sold, soldBy } from './sold.ts'

/** A second signal ends the process after this long, whatever is open. */
const SECOND_SIGNAL_MS = 5_000
/** A database that does not answer is left without a word. */
const CLOSE_MS = 500

/** One of several processes on a port, of which one speaks for all. */
type Part = { readonly shared: boolean; readonly greets: boolean }

/** Serves until a signal. `shared` lets several processes listen on one port; who greets shows the first key. */
export const serve = async (config: Config, { shared, greets }: Part): Promise<void> => {
  const log = createLog(config.logLevel, systemClock.now, (line) => process.stderr.write(`${line}\n`))
  const store = await awaitStore(config, (error) => log.warn('waiting for the database', { error }))
  const hash = await openHash(store, config)
  await openAccount(store, config)
  const sold = await openSold(config, log)
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
    journal: await openJournal(store, config, { instance, log }),
    longestCallMs,
  })
  await book.start()
  const stripe = await stripeFor(config, store, log)
  const x402 = await x402For(config, { store, log, hash })
  const books = watchBooks({ store, clock: systemClock, log })
  const gateway = createGateway({
    store,
    books,
    book,
    catalogue: sold.catalogue,
    vendors: sold.vendors,
    failover: sold.failover,
    stripe,
    x402,
    options: config.gateway,
    clock: systemClock,
    log,
    instance,
    hash,
    ...(await receiptsOf(config, { store, hash, clock: systemClock, log })),
    newCallId: () => Bun.randomUUIDv7(),
    random: Math.random,
  })
  const stopChores = startChores({ store, hash, log, stripe })
  const server = listen(gateway, { hostname: config.host, port: config.port, shared })
  log.info('listening', { instance })
  onEnd(shared, log, async () => {
    log.info('draining', { instance })
    stopChores()
    books.stop()
    x402?.stop()
    server.goAway()
    // New calls are refused from here on; those that run end well, and their leases go back.
    await book.drain(config.drainMs, server.stop)
    server.stop()
    await Promise.race([store.close(), systemClock.sleep(CLOSE_MS)])
  })
  // Said last: whoever reads it may send a signal at once.
  if (greets) await greet(config, sold, { store, hash, port: server.port })
  await new Promise<never>(() => undefined)
}

/** Tells the operator what there is, with the first key where this start makes it. */
const greet = async (
  config: Config,
  sold: Sold,
  { store, hash, port }: Pick<Parts, 'store' | 'hash'> & { readonly port: number | undefined },
): Promise<void> => {
  const token = await firstKey(store, hash)
  process.stdout.write(greeting(config, sold, `http://${config.host}:${port}`, token))
}

/** What is sold; the operator is told which equals cost more than what their calls bring, and which models end. */
const openSold = async (config: Config, log: Log): Promise<Sold> => {
  const sold = await soldBy(config)
  const dearer = dearerEquals(sold)
  if (dearer.length > 0)
    log.warn('failover to dearer models is charged at the price asked for', { model: dearer.join(', ') })
  const ending = endingModels(config, sold.catalogue, systemClock.now())
  if (ending.length > 0)
    log.warn('turnpike.yaml names models that their vendors end', { model: ending.join(', ') })
  if (sold.leftOut.length > 0)
    log.warn(
      'dearer equals are not used; list one as { model: …, dearer: true } to bear what it costs more',
      {
        model: sold.leftOut.join(', '),
      },
    )
  return sold
}

/** What a server does beside its calls: memory, invoices, alerts, top-ups. Tells how to stop it. */
const startChores = ({
  store,
  log,
  hash,
  stripe,
}: Pick<Parts, 'store' | 'hash' | 'log' | 'stripe'>): (() => void) => {
  const [clock, random] = [systemClock, Math.random]
  const chores = [
    keepCollecting(),
    keepMonthsClosed({ store, clock, log }),
    keepAlerting({ store, clock, log, hash, webhooks: systemWebhooks }, random),
    ...(stripe === undefined
      ? []
      : [keepToppingUp({ store, stripe, log, clock, random, newId: () => Bun.randomUUIDv7() })]),
  ]
  return () => {
    for (const stop of chores) stop()
  }
}

/** The gateway's part that issues receipts, or nothing when they are off. */
const receiptsOf = async (
  { receipts: { mode, issuers } }: Config,
  parts: Parameters<typeof openReceiptKeys>[0],
): Promise<Pick<Parts, 'receipts'>> =>
  mode === 'off'
    ? {}
    : { receipts: { keys: await openReceiptKeys(parts), issuers, inAnswers: mode === 'header' } }

/**
 * The first signal drains and ends the process; a second one shortens the wait. A worker also ends when its parent has,
 * however that died. A terminal that is closed ends nothing.
 */
const onEnd = (worker: boolean, log: Log, drain: () => Promise<unknown>): void => {
  let signals = 0
  const take = () => {
    signals++
    if (signals === 1) void drain().finally(() => process.exit(0))
    else setTimeout(() => process.exit(0), SECOND_SIGNAL_MS)
  }
  process.on('SIGTERM', take)
  process.on('SIGINT', take)
  process.on('SIGHUP', () => log.info('SIGHUP changes nothing; SIGTERM ends the server'))
  if (worker) process.stdin.on('end', take).resume()
}
