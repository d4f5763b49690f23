/** A server whose ledger on PostgreSQL can fall silent, for the tests of a file. */
import { afterAll, beforeAll } from 'bun:test'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { startOwnTime } from '../own-time.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { silentProxy } from '../store/silent-proxy.ts'
import { until } from '../until.ts'
import { startTestServer, type TestServer } from './harness.ts'

/** We promise two seconds; a busy machine gets four times that. */
export const BOUND_MS = 8_000

let ownTime: ReturnType<typeof startOwnTime> | undefined
const nowMs = () => ownTime?.nowMs() ?? 0

/** How long something took, in time during which this process ran. */
export const startTimer = (): (() => number) => {
  const startedMs = nowMs()
  return () => nowMs() - startedMs
}

/** The outcome, or `late` if there is none within twice the bound. */
export const inTime = <T, L>(answer: Promise<T>, late: L): Promise<T | L> => {
  const tookMs = startTimer()
  let over = false
  const end = () => {
    over = true
  }
  void answer.then(end, end)
  return Promise.race([answer, until(() => over || tookMs() > 2 * BOUND_MS).then(() => late)])
}

type Silent = {
  readonly server: TestServer
  readonly proxy: Awaited<ReturnType<typeof silentProxy>>
  /** The database without the proxy. */
  readonly url: string
  /** Goes round the proxy. */
  readonly store: Store
  /** The ledger speaks again; resolves when nothing of the server waits for it, and `over` holds. */
  backAgain(over: () => boolean): Promise<void>
}

/** Started before the file's first test and stopped after its last. */
export const silentServer = (options: Parameters<typeof startTestServer>[0]): Silent => {
  let database: TestDatabase
  let proxy: Silent['proxy']
  let server: TestServer
  let store: Store
  const speak = () => {
    proxy.silenceAfter(undefined)
    proxy.silence(false)
  }
  beforeAll(async () => {
    ownTime = startOwnTime()
    database = await postgresForTests()
    const url = new URL(database.url)
    url.port ||= '5432'
    url.hostname = '127.0.0.1'
    proxy = await silentProxy(url)
    store = await openStore({ url: database.url })
    server = await startTestServer({ ...options, url: proxy.url, ledgerFails: true })
  })
  afterAll(async () => {
    ownTime?.stop()
    speak()
    await server.stop()
    await store.close()
    proxy.stop()
    await database.stop()
  })
  return {
    get server() {
      return server
    },
    get proxy() {
      return proxy
    },
    get store() {
      return store
    },
    get url() {
      return database.url
    },
    backAgain: (over) => {
      speak()
      const { book } = server.gateway
      return until(() => book.health().fresh && book.health().queued === 0 && over())
    },
  }
}
