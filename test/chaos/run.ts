/**
 * The kill -9 runner: real processes, a real PostgreSQL, faults on both wires; then the books are held against what the
 * callers saw. Options: --seconds N, --seed N, --mutate answerfirst (the run must then fail).
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startEmbedded } from '../postgres.ts'
import { auditSampler, checkBooks, untilRecovered } from './checks.ts'
import { startFacilitator } from './facilitator.ts'
import { command, environmentFor, startGateways, untilUp } from './gateways.ts'
import { type LoadKey, startLoad } from './load.ts'
import { startPayers } from './payers.ts'
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
  const end = '          else resolve({ charged: charge, remaining })\n        },\n      })'
  if (!after.includes(end)) throw new Error('the end of the text to mutate is not there')
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
    const facilitator = startFacilitator(random)
    undo.push(upstream.stop, facilitator.stop)
    const database = new URL(postgres.url)
    const databaseProxy = await startProxy(Number(database.port))
    const upstreamProxy = await startProxy(upstream.port)
    undo.push(databaseProxy.stop, upstreamProxy.stop)
    database.port = String(databaseProxy.port)
    const direct = environmentFor(postgres.url, upstreamProxy.port, facilitator.section)
    const proxied = environmentFor(database.href, upstreamProxy.port, facilitator.section)
    undo.push(direct.remove, proxied.remove)
    // Below the ports that a system gives to outgoing connections.
    const base = pick(20_000, 30_000)
    const gateways = await startGateways(product, proxied.environment, [base, base + 1, base + 2])
    undo.push(gateways.stop)
    const money = await setUpKeys(product, direct.environment, gateways.addresses[0]!)
    const sampler = auditSampler(postgres.url)
    undo.push(sampler.stop)
    const load = startLoad(gateways.addresses, money.keys, random, 64)
    const payers = startPayers(gateways.addresses, money.payers, load.seen, random)
    const revocations = startRevocations(gateways.addresses, money.revocable, random)
    const chaos = await misbehave({ gateways, databaseProxy, upstreamProxy, crashDatabase: postgres.crash })
    await revocations.stop()
    facilitator.calm()
    await Promise.all([load.stop(), payers.stop()])
    const memory = gateways.memory()
    await Promise.all(gateways.addresses.map((address) => untilUp(address, 30)))
    await untilRecovered(postgres.url)
    await gateways.stop()
    await sampler.stop()
    return await checkBooks({
      postgresUrl: postgres.url,
      load,
      payers,
      settled: facilitator.settled,
      revocations,
      sampler,
      upstreamCalls: upstream.calls(),
      kills: gateways.kills(),
      chaos,
      memory,
      journals: proxied.journals,
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

/** Says a request of the set-up through a gateway; nothing is broken yet. */
const say = async (url: string, method: string, token: string, body: object): Promise<any> => {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/**
 * Nine keys on three wallets: one wallet nearly empty, one key with each limit; two of them have a credit line, a daily
 * limit and a sub-wallet that one key is bound to and others name. One key for revocations, two for payers by x402.
 */
const setUpKeys = async (product: string, environment: Record<string, string>, address: string) => {
  const run = (...args: string[]) => command(product, environment, ...args)
  const wallets = await Promise.all(
    (
      [
        ['rich', '50'],
        ['middle', '5'],
        ['poor', '0.05'],
      ] as const
    ).map(async ([name, usd]) => {
      const { id } = await run('wallet', 'create', '--name', name)
      await run('wallet', 'fund', '--wallet', id, '--usd', usd)
      if (name !== 'poor') await run('credit', 'grant', '--usd', '0.5', '--wallet', id)
      return id as string
    }),
  )
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
  const create = async (label: string, wallet: string, ...more: string[]) => {
    const made = await run('key', 'create', '--label', label, '--wallet', wallet, ...more)
    return { token: made.key as string, id: made.id as string }
  }
  const load = (index: number, ...more: string[]) =>
    create(`load ${index}`, wallets[index % 3]!, ...(limits[index] ?? []), ...more)
  const free = await Promise.all([0, 1, 2, 3, 4, 5].map((index) => load(index, '--can-manage', 'on')))
  const subs: string[] = []
  for (const place of [0, 1]) {
    const { token } = free[place]!
    const sub = { label: 's', budget_usd: 0.4 }
    subs[place] = (await say(`${address}/api/wallet/sub-wallets`, 'POST', token, sub)).id
    // The day of the middle wallet ends before its money does.
    const rules = { daily_limit_usd: place === 0 ? 20 : 1.5 }
    await say(`${address}/api/wallet/rules`, 'PUT', token, rules)
  }
  const [payer, claimant, revocable, ...bound] = await Promise.all([
    create('payer', wallets[0]!),
    create('claimant', wallets[0]!),
    create('revocations', wallets[0]!),
    ...[6, 7].map((index) => load(index, '--sub-wallet', subs[index % 3]!)),
    load(8),
  ])
  const keys: LoadKey[] = [...free, ...bound].map((key, index) => ({
    ...key,
    onCredit: index % 3 < 2,
    sub: index < 6 ? subs[index % 3] : undefined,
  }))
  const payers = [payer!, claimant!] as const
  return { keys, payers, revocable: revocable!.token, rpmKey: keys[3]!.id, rpm: 30 }
}

process.exit(await main())
