/**
 * `bun bench/jobs.ts`: the cost of 1,000 open jobs to a process, while their vendor, another process, says that they
 * run.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { systemClock } from '../src/core/time.ts'
import { openGateway } from '../src/gateway/open-gateway.ts'
import { modelOf } from '../src/media/models.ts'
import type { MediaModel } from '../src/media/product.ts'
import { usd } from '../src/media/rate-card.ts'
import { callSettings } from '../src/settings/calls.ts'
import { readSettings } from '../src/settings/setting.ts'
import { openStore } from '../src/store/open-store.ts'
import { byTest } from '../test/by-test.ts'
import { oneModel } from '../test/simulation/one-model.ts'

const JOBS = 1_000
const SECONDS = 20
const HOUR_MS = 3_600_000

const vendor = Bun.spawn(
  [
    process.execPath,
    '-e',
    'const s = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json({ id: "j", status: "RUNNING", progress: 0.4 }) }); console.log(s.port)',
  ],
  { stdout: 'pipe' },
)
const first = await vendor.stdout.getReader().read()
const port = Number(new TextDecoder().decode(first.value).trim())

const record: MediaModel = {
  name: 'film',
  category: 'video',
  title: 'Film',
  description: 'Takes its time.',
  inputs: z.strictObject({ prompt: z.string() }),
  example: { prompt: 'a fox' },
  shape: {
    flow: 'job',
    ask: () => ({ method: 'POST', path: '/jobs' }),
    readRef: () => ({ ref: { id: 'j' } }),
    poll: ({ id }) => ({ method: 'GET', path: `/jobs/${id}` }),
    readPoll: () => ({ pending: true, progress: 0.4 }),
    onCancel: 'billed',
    everyMs: 1_000,
    deadlineMs: 24 * HOUR_MS,
  },
  card: { rows: [{ rates: { video_ms: usd('0.1', 1_000) } }], most: { video_ms: () => 5_000 } },
  source: 'bench',
}
const model = modelOf('mock', record)
const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-jobs-'))
// Jobs of an hour: young ones are polled more often, for a minute and a half.
const store = await openStore({ url: `sqlite:${join(folder, 'ledger.db')}`, now: () => Date.now() - HOUR_MS })
await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
await store.ledger.post({ kind: 'topup', ref: 'f', debit: 'cash', credit: 'w', amount: 10_000_000_000_000n })
const key = { id: 'k', hash: 'h', orgId: 'o', walletId: 'w', label: 'k', prefix: 'k', limits: {} }
await store.keys.createKey(key, byTest)
for (let index = 0; index < JOBS; index++) {
  const id = Bun.randomUUIDv7()
  const run = { id, keyId: 'k', walletId: 'w', model: model.id, amount: 500_000_000n, useful: 1n }
  await store.runs.begin({ ...run, owner: 'gone', ownerMs: 1, deadlineMs: 24 * HOUR_MS })
  const price = { rates: model.price.rates, tiers: [], version: 'bench' }
  const call = { modelName: model.id, style: 'run', payment: { mode: 'wallet' }, requestHash: '' } as const
  const facts = {
    ref: { id: 'j' },
    vendor: 'mock',
    deployment: 'mock#0',
    price,
    most: { video_ms: 5_000 },
    ...call,
  }
  await store.runs.began(id, { facts })
}
await store.close()

const open = await openStore({ url: `sqlite:${join(folder, 'ledger.db')}` })
const rss = () => Math.round(process.memoryUsage.rss() / 1e6)
/** CPU of this process over some seconds, in percent of a core. */
const spent = async (seconds: number): Promise<number> => {
  const before = process.cpuUsage()
  await Bun.sleep(seconds * 1000)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (seconds * 10_000)
}
const gatewayWith = (media: readonly MediaModel[]) =>
  openGateway({
    store: open,
    hash: (text) => new Bun.CryptoHasher('sha256', 's').update(text).digest('hex'),
    log: { call: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    clock: systemClock,
    offering: oneModel(model, {
      vendor: { media: { models: media } },
      baseUrl: `http://127.0.0.1:${port}`,
      secrets: [],
    }),
    options: readSettings(callSettings, {}),
  })
const idle = await gatewayWith([])
await Bun.sleep(2_000)
Bun.gc(true)
const before = { cpu: await spent(SECONDS), mb: rss() }
await idle.stopChores(0)
const { gateway, stopChores } = await gatewayWith([record])
while (gateway.memory.jobs.open.size < JOBS) await Bun.sleep(100)
await Bun.sleep(12_000)
Bun.gc(true)
const askedBefore = [...gateway.memory.jobs.open.values()].reduce((sum, { askedMs }) => sum + askedMs, 0)
const cpu = await spent(SECONDS)
const polls =
  [...gateway.memory.jobs.open.values()].reduce((sum, { askedMs }) => sum + askedMs, 0) > askedBefore
process.stdout.write(
  `${JOBS} open jobs: ${(cpu - before.cpu).toFixed(2)} % of a core (idle ${before.cpu.toFixed(2)} %), ${rss() - before.mb} MB${polls ? '' : ', and nothing was asked'}\n`,
)
await stopChores(0)
vendor.kill()
rmSync(folder, { recursive: true })
process.exit(0)
