/** One process of a history: its way to the database, its book, and the gateway that sells over both. */
import { createBook } from '../../src/book/book.ts'
import type { Book } from '../../src/book/contract.ts'
import type { Outbox } from '../../src/book/outbox.ts'
import type { Act } from '../../src/book/went-back.ts'
import { Lately } from '../../src/core/lately.ts'
import { silentLog } from '../../src/core/log.ts'
import type { Nano } from '../../src/core/money.ts'
import type { Clock } from '../../src/core/time.ts'
import { openGateway } from '../../src/gateway/open-gateway.ts'
import type { Gateway } from '../../src/gateway/parts/gateway.ts'
import { remembering } from '../../src/gateway/remember-acts.ts'
import type { X402Options } from '../../src/payment/x402/offer.ts'
import { callSettings } from '../../src/settings/calls.ts'
import { readSettings } from '../../src/settings/setting.ts'
import type { Store } from '../../src/store/port.ts'
import { type Connection, overNetwork } from './network.ts'
import type { World } from './world.ts'

/** Under the server's secret, the same in every process. */
export const hash = (text: string | Uint8Array): string =>
  new Bun.CryptoHasher('sha256', 'simulated').update(text).digest('hex')

export type Running = {
  /** Its name, which is never used again. */
  readonly instance: string
  readonly alive: () => boolean
  readonly clock: Clock
  readonly random: () => number
  /** The database as this process sees it. */
  readonly store: Store
  readonly book: Book
  readonly longestCallMs: number
}

type Start = Connection & {
  readonly longestCallMs: number
  /** By default one that runs at a rate of its own, until the process dies. */
  readonly clock?: Clock
  readonly outbox?: (instance: string) => Outbox
  readonly keptMost?: number
}

/** Starts a process; its book serves as soon as it has reached the ledger. */
export const startProcess = (
  world: World,
  ledger: Store,
  { longestCallMs, outbox, clock: given, keptMost, ...connection }: Start,
): Running => {
  const { name: instance } = connection
  const { alive } = connection.link
  const clock = given ?? world.clock(alive)
  const { random } = world.draws(instance)
  const store = overNetwork(ledger, world, connection)
  const acts = new Lately<Act>()
  const book = createBook({
    store,
    clock,
    instance,
    random,
    log: silentLog,
    outbox: outbox?.(instance),
    longestCallMs,
    keptMost,
    acts,
  })
  void book.start()
  const made = remembering(store, acts, clock)
  return { instance, alive, clock, random, store: made, book, longestCallMs }
}

/** Nano-USD in a unit of the token. */
export const UNIT: Nano = 1_000n

/** The payments that every process takes. */
export const x402Options: X402Options = {
  facilitatorUrl: 'http://facilitator.invalid',
  offers: [
    {
      network: 'eip155:84532',
      v1Network: 'base-sepolia',
      asset: `0x${'a'.repeat(40)}`,
      name: 'USDC',
      version: '2',
      nanoPerUnit: UNIT,
      payTo: `0x${'7'.repeat(40)}`,
    },
  ],
  timeoutSeconds: 60,
  settleMs: 400,
  outputTokens: 100,
  upto: { most: 1_000_000_000n },
}

type Sells = Pick<Parameters<typeof openGateway>[0], 'offering' | 'rail' | 'assets'> & {
  /** What it takes over the rail. */
  readonly takes?: X402Options | undefined
  /** How long a caller may wait for its answer; by default as long as a call may run. */
  readonly totalMs?: number
  /** How long lines of batches may wait. */
  readonly batchLifeMs?: number
}

const AGAIN_MS = 100

/** Opens the gateway of a process, as a server's is opened, and tries again until the ledger has answered. */
export const gatewayOf = async (
  { store, clock, book, instance, random, longestCallMs }: Running,
  { totalMs = longestCallMs, batchLifeMs, takes = x402Options, ...sells }: Sells,
): Promise<Gateway> => {
  const settings = readSettings(callSettings, {})
  const options = {
    ...settings,
    batchLifeMs: batchLifeMs ?? settings.batchLifeMs,
    planRpm: 1_000_000,
    guestRpm: 1_000_000,
    keySharePercent: 100,
    overloadMs: 250,
    // No caller here asks for anything that is kept.
    responsesKeptMs: 0,
    // Real timers never fire in virtual time; the vendor ends every request itself.
    timeouts: { firstByteMs: 60_000, idleMs: 60_000, totalMs },
  }
  for (;;) {
    const opened = await openGateway({
      ...sells,
      store,
      clock,
      book,
      instance,
      random,
      log: silentLog,
      hash,
      options,
      x402: sells.rail && takes,
    }).catch(() => undefined)
    if (opened !== undefined) return opened.gateway
    await clock.sleep(AGAIN_MS)
  }
}
