/**
 * The kill -9 runner: real processes, a real database, faults on every wire; processes are killed, paused and asked to
 * end. Then the books are compared with what the vendor gave and the callers got.
 *
 * Options: --seconds N (and longer until enough has happened), --seed N, --engine sqlite (one process), --batches yes (also batches, whose
 * callers wait minutes for their end), --mutate answerfirst (the run must then fail).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyProduct, replaceOnce } from '../copy-product.ts'
import { startEmbedded } from '../embedded-postgres.ts'
import { noteNow } from '../now.ts'
import { ownProgram } from '../program.ts'
import { startBatchCallers } from './batches.ts'
import { auditSampler, checkBooks, untilRecovered } from './checks.ts'
import { isEnough } from './enough.ts'
import { startFacilitator } from './facilitator.ts'
import { environmentFor, startGateways, untilUp } from './gateways.ts'
import { startJobCallers } from './jobs.ts'
import { setUpKeys } from './keys.ts'
import { startLoad } from './load.ts'
import { misbehave } from './misbehave.ts'
import { startPayers } from './payers.ts'
import { type FaultProxy, startProxy } from './proxy.ts'
import { startRevocations } from './revocation.ts'
import { startUpstream } from './upstream.ts'

const option = (name: string): string | undefined =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined
const seconds = Number(option('--seconds') ?? '60')
const seed = Number(option('--seed') ?? Math.floor(Math.random() * 1e9))
const mutation = option('--mutate')
const engine = option('--engine') ?? 'postgres'
if (engine !== 'postgres' && engine !== 'sqlite') throw new Error('--engine is postgres or sqlite')

let state = seed | 0
const random = (): number => {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}
const pick = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))

/** A copy of the product that answers before the charge is durable. */
const mutant = (): string => {
  const folder = copyProduct('mutant')
  const settles = 'this.#parts.writer.settle(settle, settling)'
  // It also waits a little with the charge, as a write-behind queue does.
  replaceOnce(
    join(folder, 'src/book/open-holds.ts'),
    settles,
    `settling.settled.resolve({ charged: charge, remaining: 0n })\n    setTimeout(() => ${settles}, 400)`,
  )
  return folder
}

type Place = {
  /** The database as the runner reaches it. */
  readonly url: string
  /** As each process does. */
  readonly urls: readonly string[]
  readonly proxies: readonly FaultProxy[]
  readonly crash: (() => Promise<void>) | undefined
  readonly stop: () => Promise<void>
}

/** Three processes on PostgreSQL, each behind a wire of its own; or one on SQLite. */
const openPlace = async (): Promise<Place> => {
  if (engine === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-chaos-'))
    const url = `sqlite:${join(folder, 'ledger.db')}`
    const stop = async () => rmSync(folder, { recursive: true })
    return { url, urls: [url], proxies: [], crash: undefined, stop }
  }
  const postgres = await startEmbedded()
  const database = new URL(postgres.url)
  const target = Number(database.port)
  const proxies = await Promise.all([0, 1, 2].map(() => startProxy(target)))
  const urls = proxies.map(({ port }) => {
    database.port = String(port)
    return database.href
  })
  const stop = async () => {
    for (const proxy of proxies) proxy.stop()
    await postgres.stop()
  }
  return { url: postgres.url, urls, proxies, crash: postgres.crash, stop }
}

const main = async (): Promise<number> => {
  const undo: (() => unknown)[] = []
  try {
    const product = mutation === undefined ? undefined : mutant()
    if (product !== undefined) undo.push(() => rmSync(product, { recursive: true }))
    const program = product === undefined ? ownProgram : join(product, 'bin/turnpike')
    noteNow('making the database')
    const place = await openPlace()
    undo.push(place.stop)
    const upstream = startUpstream()
    const facilitator = startFacilitator(random)
    undo.push(upstream.stop, facilitator.stop)
    const upstreamProxy = await startProxy(upstream.port)
    undo.push(upstreamProxy.stop)
    const { environment, journals, remove } = environmentFor(
      place.url,
      upstreamProxy.port,
      facilitator.section,
    )
    undo.push(remove)
    // Below the ports that a system gives to outgoing connections.
    const base = pick(20_000, 30_000)
    const environments = place.urls.map((url) => ({ ...environment, DATABASE_URL: url }))
    noteNow('starting the gateways')
    const gateways = await startGateways(program, environments, base)
    undo.push(gateways.stop)
    const { addresses } = gateways
    const money = await setUpKeys({ program, environment, address: addresses[0]! })
    const sampler = auditSampler(place.url)
    undo.push(sampler.stop)
    const { notes } = upstream
    const load = startLoad({ addresses, ...money, notes, random, connections: 64 })
    const jobs = startJobCallers(addresses, money.jobs, random)
    const batches =
      option('--batches') === 'yes' ? startBatchCallers(addresses, money.batches, random) : undefined
    const payers = startPayers(addresses, money.payers, load.seen, random)
    const revocations = startRevocations(addresses, money.revocable, random)
    const { proxies: databaseProxies, crash: crashDatabase } = place
    const share = engine === 'sqlite' ? 0.2 : 1
    const mutated = mutation !== undefined
    const counted = {
      seconds,
      share,
      mutated,
      load,
      payers,
      signals: gateways.counts,
      killed: gateways.killed,
      revocations,
    }
    const chaos = await misbehave({
      gateways,
      databaseProxies,
      upstreamProxy,
      crashDatabase,
      seconds,
      isEnough: () => isEnough(counted),
      random,
    })
    await revocations.stop()
    noteNow('waiting until all calls have ended and all is recovered')
    facilitator.calm()
    await Promise.all([load.stop(), payers.stop(), jobs.stop(), batches?.stop()])
    const memory = gateways.memory()
    await Promise.all(addresses.map((address) => untilUp(address)))
    await untilRecovered(place.url)
    await gateways.stop()
    await sampler.stop()
    noteNow('checking the books')
    return await checkBooks({
      ...counted,
      databaseUrl: place.url,
      notes,
      jobs,
      batches,
      settled: facilitator.settled,
      sampler,
      upstreamCalls: upstream.calls(),
      chaos,
      memory,
      journals,
      money,
      seed,
    })
  } finally {
    for (const step of undo.reverse()) await Promise.resolve(step()).catch?.(() => undefined)
  }
}

process.exit(await main())
