/**
 * A history of batches: processes that share a ledger begin them, run their lines here or in the vendor's own batches, and
 * take them over from each other. They die between any two steps and lose touch, while caps are lowered, keys disabled,
 * batches cancelled and the month turns; the vendor loses, repeats and reorders lines, or never ends.
 *
 * The laws: each batch that began ends, with each of its lines in its files once, as a result or as an error; a result is
 * charged once, for what its vendor ran, and an error never; the sum is what the wallet lost; lines whose money was held
 * together never lack it; nothing is held at the end.
 */
import type { Book } from '../../src/book/contract.ts'
import { parseJson } from '../../src/core/json-body.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { Secret } from '../../src/core/secret.ts'
import { createBatch } from '../../src/gateway/batches/create-batch.ts'
import type { Gateway } from '../../src/gateway/parts/gateway.ts'
import { newTrace } from '../../src/gateway/parts/trace.ts'
import { WALLET_MINIMUM } from '../../src/ledger/lend.ts'
import type { Batch } from '../../src/store/batches/batch-port.ts'
import { StoreFault } from '../../src/store/faults.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import {
  batchesOfVendor,
  costOf,
  createBatchVendor,
  createFiles,
  handed,
  here,
  type LineOrder,
} from './batch-vendor.ts'
import type { Reached } from './law.ts'
import { oneModel } from './one-model.ts'
import { gatewayOf, hash, startProcess } from './process.ts'
import { createStage } from './stage.ts'

const WALLET = 'w'
const KEYS = ['k0', 'k1', 'k2']
const OTHER = 'other'
const PROCESSES = 3
const BATCHES = 5
const LOAD_MS = 20_000
const LIFE_MS = 40 * 60_000
/** Vendors have half an hour after that, and lines that were lost the time of their tries. */
const REST_MS = LIFE_MS + 50 * 60_000
/** How long lines may still be sent that were taken before their batch was stopped: the ways to the ledger and the file. */
const TAKEN_MS = 10_000
/** The most that a line of these histories may cost is about that. */
const LINE = 1_500_000n

type Process = {
  readonly book: Book
  readonly link: { partitioned: boolean }
  gateway: Gateway | undefined
  dead: boolean
}

/** A batch as its caller asked for it. */
type Asked = {
  readonly id: string
  readonly keyId: string
  readonly onCap: 'refuse' | 'run_what_fits'
  readonly orders: ReadonlyMap<string, { readonly order: LineOrder; readonly model: string }>
  readonly file: Uint8Array
  told: boolean
}

type Written = {
  readonly id: string
  readonly cost: bigint | undefined
  readonly said: string
  readonly call: string
}

/** The lines of a file, as callers read them. */
const linesOf = (file: Uint8Array | undefined): Written[] =>
  new TextDecoder()
    .decode(file ?? new Uint8Array())
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => {
      const { custom_id: id, response, error } = parseJson(text) as any
      const content = response?.body.choices?.[0]?.message.content
      const told = content === undefined ? undefined : response.body.usage.cost
      // A key whose reseller's choice cannot be read is not told it.
      const cost = told === undefined ? undefined : BigInt(Math.round(told * 1e9))
      return { id, cost, said: content ?? error?.code ?? '', call: response?.request_id ?? '' }
    })

export const runBatches = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  const { world, hit, fail, guard, sleep } = stage
  const { pick, random } = world.draws('scene')
  const { assets, files } = createFiles(world, hit)
  /** When keys were disabled and batches cancelled, once that was acknowledged. */
  const stoppedAt = new Map<string, number>()
  const sent = (line: string): void => {
    const it = all.find(({ orders }) => orders.has(line))
    for (const name of [it?.id ?? '', it?.keyId ?? ''])
      if (world.now() > (stoppedAt.get(name) ?? Number.POSITIVE_INFINITY) + TAKEN_MS)
        fail(`a line was sent long after ${name} was stopped`)
  }
  const vendor = createBatchVendor({ world, hit, fail, sent, hangs: random() < 0.1 })
  const deposit = BigInt(pick(10, 80)) * LINE
  const processes: Process[] = []
  const all: Asked[] = []
  /** Keys whose limits were lowered: their money may run out. */
  const lowered = new Set<string>()
  let store: Store
  let generation = 0
  let finished = false

  const begin = (slot: number): void => {
    const process = { dead: false, gateway: undefined as Gateway | undefined }
    const alive = () => !process.dead
    const link = { partitioned: false, slow: false, alive }
    const way = { name: `p${slot}.${generation++}`, link, refused: fail, longestCallMs: 3_000 }
    const running = startProcess(world, store, way)
    processes[slot] = Object.assign(process, { book: running.book, link })
    const sold = oneModel(here, {
      vendor: { batches: batchesOfVendor },
      secrets: [new Secret('house')],
      fetch: vendor.fetchOf(alive),
    })
    const find = (name: string) => (name === handed.id ? handed : sold.catalogue.find(name))
    const catalogue = { ...sold.catalogue, find, list: () => [here, handed] }
    const offering = { ...sold, catalogue }
    void gatewayOf(running, { offering, assets: () => assets, totalMs: 60_000, batchLifeMs: LIFE_MS }).then(
      (gateway) => {
        process.gateway = gateway
      },
    )
  }

  const newBatch = (n: number): Asked => {
    const orders = new Map<string, { order: LineOrder; model: string }>()
    const models = random() < 0.3 ? [here.id] : random() < 0.5 ? [handed.id] : [here.id, handed.id]
    const lines = Array.from({ length: pick(1, 12) }, (_, at) => {
      const name = `b${n} l${at}`
      const order = {
        name,
        input: pick(1, 30),
        output: pick(1, 100),
        ms: pick(1, 3_000),
        wrong: random() < 0.05,
      }
      const model = models[pick(0, models.length - 1)] ?? here.id
      orders.set(name, { order, model })
      const messages = [{ role: 'user', content: JSON.stringify(order) }]
      const body = { model, max_tokens: 100, messages }
      return JSON.stringify({ custom_id: name, method: 'POST', url: '/v1/chat/completions', body })
    })
    const file = new TextEncoder().encode(lines.join('\n'))
    files.set(`input ${n}`, file)
    const onCap = random() < 0.5 ? 'refuse' : 'run_what_fits'
    return { id: `batch${n}`, keyId: KEYS[pick(0, 2)] ?? '', onCap, orders, file, told: false }
  }

  /** Asks a process to begin the batch; says nothing if that dies. Returns whether it is to be asked again. */
  const ask = async (it: Asked, n: number): Promise<boolean> => {
    const process = processes[pick(0, PROCESSES - 1)]
    const key = await store.keys.key(it.keyId)
    if (process?.gateway === undefined || key === undefined) return true
    const input = { id: `input ${n}`, bytes: it.file.length }
    const { id, onCap } = it
    const asked = { endpoint: '/v1/chat/completions', mode: 'wallet' } as const
    const trace = newTrace(id, world.now())
    const begun = createBatch(process.gateway, { key, id, form: 'openai', asked, onCap, input, trace })
    const said = await Promise.race([
      begun.catch((thrown: unknown) => thrown),
      sleep(8_000).then(() => undefined),
    ])
    if (process.dead || said === undefined) return true
    if (said instanceof Refusal) {
      hit(`batches: ${said.code}`)
      return ['service_unavailable', 'idempotency_in_progress'].includes(said.code)
    }
    if (said instanceof StoreFault) return true
    if (said instanceof Error) fail(`a batch threw ${said}`)
    it.told = true
    hit('batches: begun')
    return false
  }

  const buy = async (n: number): Promise<void> => {
    await sleep(pick(500, LOAD_MS))
    const it = newBatch(n)
    all.push(it)
    for (let tries = 0; tries < 6 && (await ask(it, n)); tries++) await sleep(pick(10, 6_000))
    if (random() < 0.25) {
      await sleep(pick(0, 40_000))
      const by = { actor: byTest, subject: it.id }
      if (!(await store.batches.cancel(it.id, by))) return
      stoppedAt.set(it.id, world.now())
      hit('batches: cancelled')
    }
  }

  const lower = async ({ book }: Process, keyId: string, changed: object): Promise<void> => {
    lowered.add(keyId)
    await book.changeKey(keyId, { ...changed, byCreator: true }, byTest).then(
      () => 'disabledReason' in changed && stoppedAt.set(keyId, stoppedAt.get(keyId) ?? world.now()),
      () => undefined,
    )
  }

  const disturb = async (): Promise<void> => {
    while (world.now() < LOAD_MS + 60_000) {
      await sleep(pick(300, 6_000))
      const slot = pick(0, PROCESSES - 1)
      const process = processes[slot]
      if (process === undefined) continue
      const what = random()
      if (what < 0.4) {
        process.dead = true
        begin(slot)
        hit('batches: killed')
      } else if (what < 0.64) {
        process.link.partitioned = true
        hit('batches: partition')
        await sleep(pick(500, 25_000))
        process.link.partitioned = false
      } else if (what < 0.68) {
        hit('batches: key disabled')
        guard(lower(process, 'k1', { disabledReason: 'operator' }))
      } else if (what < 0.8) {
        hit('batches: cap lowered')
        guard(lower(process, 'k0', { spendCap: BigInt(pick(0, 20)) * LINE }))
      }
    }
  }

  /** Checks the files of a batch that has ended against what its vendor ran and what was charged. */
  const checkBatch = async (asked: Asked, batch: Batch): Promise<bigint> => {
    if (batch.state !== 'ended') fail(`a batch did not end: ${batch.state}`)
    const [results, errors] = [batch.output, batch.errors].map((id) => linesOf(files.get(id ?? '')))
    const names = [...(results ?? []), ...(errors ?? [])].map(({ id }) => id).sort()
    if (JSON.stringify(names) !== JSON.stringify([...asked.orders.keys()].sort()))
      fail(`a batch of ${[...asked.orders.keys()].length} lines wrote ${names.join(', ')}`)
    let charged = 0n
    for (const { id, cost, said, call } of results ?? []) {
      const { order, model } = asked.orders.get(id) ?? {}
      const due = order === undefined ? 0n : costOf(order, model ?? '')
      const posted = (await store.ledger.transfersOf(call)).filter(({ kind }) => kind === 'usage')
      if (posted.length !== 1 || posted[0]?.amount !== due || (cost ?? due) !== due)
        fail(`a line of ${due} says ${cost} and was charged ${posted.map(({ amount }) => amount).join(', ')}`)
      if (said !== id || !vendor.ran.has(id)) fail(`the line ${id} was answered with ${said}`)
      if (order?.wrong) fail('a line that its vendor refused has a result')
      charged += due
      hit(model === handed.id ? 'batches: result of a vendor’s batch' : 'batches: result')
    }
    for (const { said, call } of errors ?? []) {
      hit(`batches: error ${said}`)
      if (call !== '' && (await store.ledger.transfersOf(call)).length > 0)
        fail('a line without a result was charged')
      const mayLack = asked.onCap === 'run_what_fits' || lowered.has(asked.keyId)
      if (said === 'insufficient_credit' && !mayLack) fail('a line lacks money that was held for it')
    }
    if (batch.charged !== charged) fail(`a batch of ${charged} says ${batch.charged}`)
    return charged
  }

  const check = async (): Promise<void> => {
    for (const process of processes) process.dead = true
    let charged = 0n
    for (const asked of all) {
      const batch = await store.batches.batchFor(asked.id, asked.keyId)
      if (batch !== undefined) charged += await checkBatch(asked, batch)
      else if (asked.told) fail('a batch that its caller was told of is unknown')
    }
    const wallet = await store.wallets.wallet(WALLET)
    if (wallet?.held !== 0n) fail(`${wallet?.held} is held when all is over`)
    // All money is free for other keys again, of which a wallet lends no less than its least.
    const rest = wallet?.balance ?? 0n
    const ask = { instance: 'other', keyId: OTHER, leaseId: 'other', need: rest, want: rest, useful: rest }
    const lent = await store.ledger.lend({ ...ask, ttlMs: 1_000 })
    if (rest >= WALLET_MINIMUM && lent.outcome !== 'lent') fail(`of ${rest} not all is free when all is over`)
    const left = await store.ledger.balance(WALLET)
    if (left !== deposit - charged) fail(`the wallet lost ${deposit - left}, and lines cost ${charged}`)
    await stage.audit(store)
    finished = true
  }

  const run = async (): Promise<void> => {
    store = await stage.openLedger()
    await store.wallets.createWallet({ id: WALLET, orgId: 'o', name: WALLET }, byTest)
    await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: WALLET, amount: deposit })
    const caps = [{}, { dailyCap: BigInt(pick(2, 40)) * LINE }, { monthlyCap: BigInt(pick(2, 60)) * LINE }]
    for (const [n, id] of [...KEYS, OTHER].entries()) {
      const named = { orgId: 'o', walletId: WALLET, label: 'k', prefix: 'k', limits: caps[n] ?? {} }
      await store.keys.createKey({ id, hash: hash(id), ...named }, byTest)
    }
    for (let slot = 0; slot < PROCESSES; slot++) begin(slot)
    await Promise.all([disturb(), ...Array.from({ length: BATCHES }, (_, n) => buy(n))])
    for (const { link } of processes) link.partitioned = false
    const open = async (): Promise<boolean> => {
      const batches = await Promise.all(all.map(({ id, keyId }) => store.batches.batchFor(id, keyId)))
      const held = (await store.wallets.wallet(WALLET))?.held
      return held !== 0n || batches.some((batch) => batch !== undefined && batch.state !== 'ended')
    }
    const restFrom = world.now()
    await sleep(1_000)
    while ((await open()) && world.now() < restFrom + REST_MS) {
      await stage.audit(store)
      await sleep(30_000)
    }
    await check()
  }

  guard(run())
  stage.playUntil(LOAD_MS + 60_000 + 2 * REST_MS, () => finished)
  for (const process of processes) process.dead = true
  world.runUntil(world.now() + 4_000)
  stage.judge(finished, 'the batches')
}
