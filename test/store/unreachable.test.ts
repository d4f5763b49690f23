/** A PostgreSQL that falls silent: every call is answered within its deadline, and the store works again afterwards. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openStore } from '../../src/store/open-store.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { BUSY_MS, until } from '../until.ts'
import { silentProxy } from './silent-proxy.ts'
import { CENT, createOneKey } from './world.ts'

/** Each has some seconds, and a busy machine may lose a few of them. */
const TRIES = 8

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
    const outcomes = await Promise.allSettled([
      store.ping(),
      store.ledger.commit(empty),
      store.instances.beat('i', undefined),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(performance.now() - started).toBeLessThan(BUSY_MS)
    proxy.silence(false)
    await store.ledger.commit(empty)
    await store.instances.beat('i', undefined)
    await store.close()
    proxy.stop()
  })

  test('leaves no lock behind: another process spends from the same wallet within seconds', async () => {
    const proxy = await silentProxy(new URL(database.url))
    const [dying, living] = [await openStore({ url: proxy.url }), await openStore({ url: database.url })]
    await createOneKey(living)
    const ask = { keyId: 'k', need: CENT, want: CENT, useful: 1n, ttlMs: 10_000 }
    proxy.silenceAfter('insert into budget')
    const lost = dying.ledger.lend({ ...ask, instance: 'dying', leaseId: 'dying:1' }).then(
      () => 'lent',
      () => 'lost',
    )
    await until(proxy.hasLostAnAnswer)
    const isLent = async () => {
      const answer = await living.ledger
        .lend({ ...ask, instance: 'living', leaseId: 'living:1' })
        .catch(() => undefined)
      return answer?.outcome === 'lent'
    }
    // The lock lasts as long as an abandoned transaction may, and not until the network gives up, which takes minutes.
    const tries: boolean[] = []
    while (tries.length < TRIES && tries.at(-1) !== true) tries.push(await isLent())
    expect(tries.at(-1)).toBe(true)
    expect(await lost).toBe('lost')
    await living.close()
    proxy.stop()
  })

  test('refuses to open within seconds when nothing answers from the start', async () => {
    const proxy = await silentProxy(new URL(database.url))
    proxy.silence(true)
    const started = performance.now()
    await expect(openStore({ url: proxy.url })).rejects.toThrow()
    expect(performance.now() - started).toBeLessThan(BUSY_MS)
    proxy.stop()
  })

  test('is waited for as long as the address says', async () => {
    const proxy = await silentProxy(new URL(database.url))
    proxy.silence(true)
    const started = performance.now()
    await expect(openStore({ url: `${proxy.url}?connect_timeout=4` })).rejects.toThrow()
    expect(performance.now() - started).toBeGreaterThan(3_900)
    proxy.stop()
  })
})
