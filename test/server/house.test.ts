/** The metrics tell what trials got today and when a backup was made last, as the ledger has it. */
import { expect, test } from 'bun:test'
import { noteBackup } from '../../src/backup/last-backup.ts'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { watchHouse } from '../../src/gateway/parts/watch-house.ts'
import { merged } from '../../src/metrics/snapshot.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import { startTestServer, USD } from './harness.ts'

const DAY_MS = 86_400_000
const MADE_AT = 1_790_000_000_000

for (const engine of serverEngines)
  test(`the trials of today and the last backup, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const trial = { amount: USD / 10n, dailyAmount: 2n * USD, lifeMs: 7 * DAY_MS, againMs: 30 * DAY_MS }
    const server = await startTestServer({ url: database.url, options: { trial } })
    const claim = new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST' })
    expect((await server.fetchFrom('192.0.2.1', claim)).status).toBe(201)
    const clock = { ...systemClock, sleep: () => Bun.sleep(5) }
    const house = watchHouse({ store: server.store, clock, log: silentLog, trialsDaily: trial.dailyAmount })
    const told = (id: string) => house.readings().find(([of]) => of === id)?.[1]
    await until(() => told('trialsToday') === USD / 10n)
    expect([told('trialsDaily'), told('backedUp')]).toEqual([2n * USD, 0])
    await noteBackup(server.store, MADE_AT)
    await until(() => told('backedUp') === MADE_AT / 1_000)
    house.stop()
    await stopSound(server, database)
  })

test('two processes that read the same money do not add it', () => {
  const of = (nano: bigint) => ({ trialsToday: [{ labels: [], nano: String(nano) }] })
  expect(merged([of(5n), of(3n)])).toEqual(of(5n))
  expect(merged([of(3n), of(5n)])).toEqual(of(5n))
  const held = (nano: bigint) => ({ held: [{ labels: [], nano: String(nano) }] })
  expect(merged([held(5n), held(3n)])).toEqual(held(8n))
})
