/**
 * The kill -9 runner: real processes, a real PostgreSQL, faults on both wires; then the books are held against what the
 * callers saw. Options: --seconds N, --seed N, --mutate answerfirst (the run must then fail).
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startEmbedded } from '../postgres.ts'
import { auditSampler, checkBooks, untilRecovered } from './checks.ts'
import { command, environmentFor, startGateways, untilUp } from './gateways.ts'
import { startLoad } from './load.ts'
import { faults, startProxy } from './proxy.ts'
import { startRevocations } from './revocation.ts'
import { startUpstream } from './upstream.ts'

const option = (name: string): string | undefined =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined
const seconds = Number(option('--seconds') ?? '60')
const seed = Number(option('--seed') ?? Math.floor(Math.random() * 1e9))
const mutation = option('--mutate')
const root = resolve(import.meta.dir, '../..')

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
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-mutant-'))
  for (const part of ['src', 'bin', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const path = join(folder, 'src/book/open-hold.ts')
  const from = 'return new Promise((resolve, reject) => {\n      this.#parts.writer.settle(settle'
  const pieces = readFileSync(path, 'utf8').split(from)
  if (pieces.length !== 2) throw new Error(`the text to mutate occurs ${pieces.length - 1} times`)
  // It also waits a little with the charge, as a write-behind queue does.
  const to =
    'return new Promise((resolve, reject) => {\n      resolve({ charged: charge, remaining: 0n })\n      setTimeout(() => this.#parts.writer.settle(settle'
  const [before = '', after = ''] = pieces
  const end = '        else resolve({ charged: charge, remaining })\n      })'
  writeFileSync(path, before + to + after.replace(end, `${end}, 400)`))
  return folder
}

const main = async (): Promise<number> => {
  const undo: (() => unknown)[] = []
  try {
    const product = mutation === undefined ? root : mutant()
    if (product !== root) undo.push(() => rmSync(product, { recursive: true }))
    const postgres = await startEmbedded()
    undo.push(postgres.stop)
    const upstream = startUpstream()
    undo.push(upstream.stop)
    const database = new URL(postgres.url)
    const databaseProxy = await startProxy(Number(database.port))
    const upstreamProxy = await startProxy(upstream.port)
    undo.push(databaseProxy.stop, upstreamProxy.stop)
    database.port = String(databaseProxy.port)
    const direct = environmentFor(postgres.url, upstreamProxy.port)
    const proxied = environmentFor(database.href, upstreamProxy.port)
    undo.push(direct.remove, proxied.remove)
    const base = pick(20_000, 40_000)
    const gateways = await startGateways(product, proxied.environment, [base, base + 1, base + 2])
    undo.push(gateways.stop)
    const money = await setUpKeys(product, direct.environment)
    const sampler = auditSampler(postgres.url)
    undo.push(sampler.stop)
    const load = startLoad(gateways.addresses, money.keys, random, 64)
    const revocations = startRevocations(gateways.addresses, money.revocable, random)
    const chaos = await misbehave({ gateways, databaseProxy, upstreamProxy, crashDatabase: postgres.crash })
    await revocations.stop()
    await load.stop()
    const memory = gateways.memory()
    await Promise.all(gateways.addresses.map((address) => untilUp(address, 30)))
    await untilRecovered(postgres.url)
    await gateways.stop()
    await sampler.stop()
    return await checkBooks({
      postgresUrl: postgres.url,
      load,
      revocations,
      sampler,
      upstreamCalls: upstream.calls(),
      kills: gateways.kills(),
      chaos,
      memory,
      mutated: mutation !== undefined,
      money,
      seed,
      seconds,
    })
  } finally {
    for (const step of undo.reverse()) await Promise.resolve(step()).catch?.(() => undefined)
  }
}

type Troublemakers = {
  readonly gateways: Awaited<ReturnType<typeof startGateways>>
  readonly databaseProxy: Awaited<ReturnType<typeof startProxy>>
  readonly upstreamProxy: Awaited<ReturnType<typeof startProxy>>
  readonly crashDatabase: () => Promise<void>
}

/** Kills, wire faults and database crashes until the time is up; returns how many of each. */
const misbehave = async (it: Troublemakers): Promise<{ faults: number; crashes: number }> => {
  const counts = { faults: 0, crashes: 0 }
  const until = Date.now() + seconds * 1000
  const kills = (async () => {
    while (Date.now() < until) {
      await Bun.sleep(pick(300, 2_000))
      it.gateways.kill(pick(0, 2))
    }
  })()
  const wires = (async () => {
    while (Date.now() < until - 3_000) {
      await Bun.sleep(5_000)
      const proxy = random() < 0.6 ? it.databaseProxy : it.upstreamProxy
      proxy.set(faults[pick(0, faults.length - 1)]!)
      counts.faults++
      await Bun.sleep(pick(200, 2_500))
      proxy.set('none')
    }
  })()
  const crashes = (async () => {
    while (Date.now() < until - 5_000) {
      await Bun.sleep(Math.min(20_000, seconds * 330))
      await it.crashDatabase()
      counts.crashes++
    }
  })()
  await Promise.all([kills, wires, crashes])
  return counts
}

/** Nine keys on three wallets: one wallet nearly empty, one key with each limit; and one key for revocations. */
const setUpKeys = async (product: string, environment: Record<string, string>) => {
  const run = (...args: string[]) => command(product, environment, ...args)
  const wallets: string[] = []
  for (const [name, usd] of [
    ['rich', '50'],
    ['middle', '5'],
    ['poor', '0.05'],
  ] as const) {
    const { id } = await run('wallet', 'create', '--name', name)
    await run('wallet', 'fund', '--wallet', id, '--usd', usd)
    wallets.push(id)
  }
  const limits = [
    [],
    ['--spend-cap', '0.2'],
    ['--monthly-cap', '0.3'],
    ['--rpm', '30'],
    ['--stop-at', '1'],
    [],
    [],
    [],
    ['--spend-cap', '0.02'],
  ]
  const keys: { token: string; id: string }[] = []
  for (const [index, limit] of limits.entries()) {
    const made = await run(
      'key',
      'create',
      '--label',
      `load ${index}`,
      '--wallet',
      wallets[index % 3]!,
      ...limit,
    )
    keys.push({ token: made.key, id: made.id })
  }
  const revocable = (await run('key', 'create', '--label', 'revocations', '--wallet', wallets[0]!))
    .key as string
  return { keys, revocable, rpmKey: keys[3]!.id, rpm: 30 }
}

process.exit(await main())
