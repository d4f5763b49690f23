/**
 * Reloads under load: `bun bench/reload.ts [--engine postgres] [--workers N] [--streams 500] [--rate 1000] [--seconds
 * 30] [--changes 10]`. Streams stay open while calls come at a rate and prices and keys change again and again. Prints
 * what was lost, what was charged by other prices than those it began with, and how long calls took while nothing
 * changed and while something did. Fails if anything is lost or wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openStore } from '../src/store/open-store.ts'
import { freePort } from '../test/free-port.ts'
import { postgresForTests } from '../test/postgres.ts'
import { COST, isExact, type Paid, startReloading } from '../test/reload-load.ts'
import { quantile } from './measure.ts'

const MANY = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
if (process.env[MANY] === undefined) {
  // Bun's fetch allows 256 requests at once unless this is set before the process starts.
  const again = Bun.spawn([process.execPath, ...process.argv.slice(1)], {
    env: { ...process.env, [MANY]: '65336' },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.exit(await again.exited)
}

const { values } = parseArgs({
  options: {
    engine: { type: 'string' },
    workers: { type: 'string' },
    streams: { type: 'string' },
    rate: { type: 'string' },
    seconds: { type: 'string' },
    changes: { type: 'string' },
  },
})
const STREAMS = Number(values.streams ?? '500')
const RATE = Number(values.rate ?? '1000')
const SECONDS = Number(values.seconds ?? '30')
const CHANGES = Number(values.changes ?? '10')
const processes = Number(values.workers ?? '1')

const home = mkdtempSync(join(tmpdir(), 'turnpike-reload-'))
const database =
  values.engine === 'postgres' || processes > 1
    ? await postgresForTests()
    : { url: `sqlite:${join(home, 'ledger.db')}`, stop: async () => undefined }
const server = await startReloading(
  home,
  {
    DATABASE_URL: database.url,
    FIRST_FUND_USD: '1000000',
    OPEN_CALLS_MAX: '20000',
    ...(processes > 1 ? { WORKERS: String(processes), PORT: String(await freePort()) } : {}),
  },
  { processes, keepalive: true },
)

const paid: Paid[] = []
const lost: string[] = []
const [quiet, changing]: [number[], number[]] = [[], []]
const open = await Promise.all(Array.from({ length: STREAMS }, server.stream))

const one = async (): Promise<void> => {
  const from = performance.now()
  try {
    const call = await server.call()
    paid.push(call)
    ;(call.times === undefined ? changing : quiet).push(performance.now() - from)
  } catch (error) {
    lost.push(String(error))
  }
}
const calls: Promise<void>[] = []
const started = performance.now()
const changes = (async () => {
  for (let change = 0; change < CHANGES; change++) {
    const due = started + ((change + 1) * SECONDS * 1000) / (CHANGES + 1)
    await Bun.sleep(Math.max(0, due - performance.now()))
    await server.change(change % 2 === 0 ? 'SIGHUP' : 'apply')
  }
})()
for (let sent = 0; performance.now() - started < SECONDS * 1000; await Bun.sleep(1))
  for (const due = ((performance.now() - started) * RATE) / 1000; sent < due; sent++) calls.push(one())
await changes
await Promise.all(calls)
const tookS = (performance.now() - started) / 1000
server.vendor.release()
const streams = await Promise.all(open.map(({ ended }) => ended))

server.child.kill('SIGTERM')
await server.child.exited
const store = await openStore({ url: database.url })
const charged = [...paid, ...streams].reduce((sum, { cost }) => sum + cost, 0n)
const revenue = await store.ledger.balance('revenue')
const broken = (await store.ledger.audit()).filter(({ ok }) => !ok)
await store.close()
await server.vendor.stop()
await database.stop()
rmSync(home, { recursive: true })

const wrong = [
  ...paid.filter((call) => !isExact(call)),
  ...streams.filter(({ cost, times }) => cost !== COST || times !== 1),
].length
const ms = (times: number[], q: number) =>
  times.length === 0
    ? '-'
    : quantile(
        times.toSorted((a, b) => a - b),
        q,
      ).toFixed(1)
process.stdout.write(
  `${[
    `${paid.length} calls (${(paid.length / tookS).toFixed(0)} a second), ${streams.length} streams, ${server.state.changes} changes, ${processes} processes`,
    `lost ${lost.length}, charged by other prices ${wrong}, charges ${charged === revenue ? 'equal' : 'NOT equal'} to the ledger's, broken laws ${broken.length}`,
    `took while nothing changed: p50 ${ms(quiet, 0.5)} ms, p99 ${ms(quiet, 0.99)} ms; while it changed: p50 ${ms(changing, 0.5)} ms, p99 ${ms(changing, 0.99)} ms`,
    ...lost.slice(0, 3),
  ].join('\n')}\n`,
)
process.exit(lost.length + wrong + broken.length > 0 || charged !== revenue ? 1 : 0)
