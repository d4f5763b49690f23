/** A PostgreSQL that falls silent: every call is answered within its deadline, and the store works again afterwards. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { openStore } from '../../src/store/open-store.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { CENT, createOneKey } from './world.ts'

/** Passes bytes both ways until it is told to be silent; what was connected then stays silent for good. */
const silentProxy = async (
  target: URL,
): Promise<{
  url: string
  silence: (on: boolean) => void
  /** Falls silent for good once a client has sent this. */
  silenceAfter: (text: string) => void
  stop: () => void
}> => {
  let silent = false
  let last: string | undefined
  const sockets = new Set<Socket>()
  const server: Server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let dead = silent
    const forward = (from: Socket, to: Socket): void => {
      sockets.add(from)
      from.on('data', (bytes) => {
        dead ||= silent
        if (!dead) to.write(bytes)
        if (last !== undefined && from === client && bytes.includes(last)) silent = true
      })
      from.on('error', () => undefined)
      // A network that went away tells the other side nothing.
      from.on('close', () => dead || to.destroy())
    }
    forward(client, upstream)
    forward(upstream, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(target)
  url.port = String(typeof address === 'object' ? address?.port : '')
  const stop = (): void => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    silence: (on) => {
      silent = on
    },
    silenceAfter: (text) => {
      last = text
    },
    stop,
  }
}

describe('a PostgreSQL that falls silent', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await postgresForTests()
  })
  afterAll(() => database.stop())

  test('is a rejected promise within seconds and not a hang, and is used again when it answers again', async () => {
    const proxy = await silentProxy(new URL(database.url))
    const store = await openStore({ url: proxy.url })
    await store.ping()
    proxy.silence(true)
    const started = performance.now()
    const empty = { instance: 'i', intents: [], progress: [], settles: [], voids: ['nothing'] }
    const outcomes = await Promise.allSettled([store.ping(), store.flush(empty), store.beat('i', undefined)])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(performance.now() - started).toBeLessThan(6_000)
    proxy.silence(false)
    await store.flush(empty)
    await store.beat('i', undefined)
    await store.close()
    proxy.stop()
  }, 20_000)

  test('leaves no lock behind: another process spends from the same wallet within seconds', async () => {
    const proxy = await silentProxy(new URL(database.url))
    const [dying, living] = [await openStore({ url: proxy.url }), await openStore({ url: database.url })]
    await createOneKey(living)
    const ask = { keyId: 'k', need: CENT, want: CENT, useful: 1n, ttlMs: 10_000 }
    proxy.silenceAfter('insert into budget')
    const lost = dying.grant({ ...ask, instance: 'dying', leaseId: 'dying:1' }).then(
      () => 'granted',
      () => 'lost',
    )
    await Bun.sleep(200)
    const granted = async () => {
      const answer = await living
        .grant({ ...ask, instance: 'living', leaseId: 'living:1' })
        .catch(() => undefined)
      return answer?.outcome === 'granted'
    }
    // The lock lasts as long as an abandoned transaction may, and not until the network gives up, which takes minutes.
    const tries: boolean[] = []
    while (tries.length < 8 && tries.at(-1) !== true) tries.push(await granted())
    expect(tries.at(-1)).toBe(true)
    expect(await lost).toBe('lost')
    await living.close()
    proxy.stop()
  }, 120_000)

  test('refuses to open within seconds when nothing answers from the start', async () => {
    const proxy = await silentProxy(new URL(database.url))
    proxy.silence(true)
    const started = performance.now()
    await expect(openStore({ url: proxy.url })).rejects.toThrow()
    expect(performance.now() - started).toBeLessThan(6_000)
    proxy.stop()
  }, 20_000)
})
