/**
 * A history of jobs: processes that share a ledger submit them and go on with each other's. They die between any two
 * steps and lose touch for longer than their jobs wait for them, while caps are lowered, keys disabled and the month
 * turns.
 *
 * The laws: no job is taken by its vendor twice; one is charged if and only if it delivered and all its results are
 * kept, for what it delivered; a caller who was answered was charged; nothing is held once all deadlines are past.
 */

import type { Book } from '../../src/book/contract.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { Secret } from '../../src/core/secret.ts'
import { runCall } from '../../src/gateway/call/run-call.ts'
import { cancelRun } from '../../src/gateway/jobs/cancel-run.ts'
import type { Gateway } from '../../src/gateway/parts/gateway.ts'
import { newTrace } from '../../src/gateway/parts/trace.ts'
import { decodeRun } from '../../src/http/calls/media-calls.ts'
import { GUESTS_KEY } from '../../src/payment/x402.ts'
import type { Run } from '../../src/store/calls/run-port.ts'
import { StoreFault } from '../../src/store/faults.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { CHANGE_MS, CHANGE_WALLET, createJobPayers, type JobAnswer, type JobRequest } from './job-payers.ts'
import { createJobVendor, createKept, DEADLINE_MS, film, filmMedia, PICTURE } from './job-vendor.ts'
import type { Reached } from './law.ts'
import { oneModel } from './one-model.ts'
import { createOwnJobs, usagesOf } from './own-jobs.ts'
import { gatewayOf, hash, startProcess } from './process.ts'
import { createStage } from './stage.ts'

const WALLET = 'w'
const PROCESSES = 3
/** How far the clocks of processes are apart. */
const CLOCKS_MS = 3_000
const LOAD_MS = 14_000
const CALLERS = 10
/** Past the last deadline, and the time that a lease still lives after it. */
const REST_MS = DEADLINE_MS + 20 * 60_000
const tokenOf = (key: number): string => `sk-${`job${key}`.repeat(8)}`

type Process = {
  readonly book: Book
  readonly instance: string
  readonly link: { partitioned: boolean }
  /** Undefined until it can take payments. */
  gateway: Gateway | undefined
  dead: boolean
}
const KEYS = ['k0', 'k1', GUESTS_KEY]

export const runJobs = (seed: number, reached: Reached): void => playJobs(seed, reached, false)

/** The same with more who pay for their jobs, all of them by card. */
export const runJobsByCard = (seed: number, reached: Reached): void => playJobs(seed, reached, true)

const playJobs = (seed: number, reached: Reached, byCard: boolean): void => {
  const stage = createStage(seed, reached)
  const { world, fail, guard, sleep } = stage
  const hit = (what: string) => stage.hit(byCard ? what.replace('jobs:', 'jobs by card:') : what)
  const { after } = world
  const { pick, random } = world.draws('scene')
  const vendor = createJobVendor(world)
  const { assets, isKept } = createKept(world, hit)
  const own = createOwnJobs({ ...stage, hit }, WALLET)
  const deposit = BigInt(pick(10, 60)) * PICTURE
  const processes: Process[] = []
  /** The process that began a run. */
  const beganBy = new Map<string, string>()
  let store: Store
  let generation = 0
  let serial = 0
  let finished = false

  const begin = (slot: number): void => {
    const process = { dead: false, gateway: undefined as Gateway | undefined }
    const alive = () => !process.dead
    const link = { partitioned: false, slow: false, alive }
    const way = { name: `p${slot}.${generation++}`, link, refused: fail, longestCallMs: 3_000 }
    const running = startProcess(world, store, way)
    processes[slot] = Object.assign(process, { book: running.book, instance: running.instance, link })
    const offering = oneModel(film, {
      vendor: { media: filmMedia },
      secrets: [new Secret('house')],
      fetch: vendor.fetchOf(alive),
    })
    const opened = gatewayOf(running, {
      offering,
      assets: () => assets,
      rail: payers.railOf(alive),
      totalMs: 60_000,
    })
    void opened.then((gateway) => {
      process.gateway = gateway
    })
  }

  const living = (): { process: Process; gateway: Gateway } | undefined => {
    const process = processes[pick(0, PROCESSES - 1)]
    return process?.gateway === undefined ? undefined : { process, gateway: process.gateway }
  }

  /** What the caller gets: nothing from a process that died, and nothing after its patience. */
  const ask = (inputs: object, it: JobRequest) =>
    new Promise<JobAnswer | undefined>((resolve) => {
      after(it.waitS * 1000 + 4_000, () => resolve(undefined))
      const { process, gateway } = living() ?? {}
      if (process === undefined || gateway === undefined) return
      const body = { model: film.id, inputs }
      const trace = newTrace(`c${serial++}`, world.now())
      beganBy.set(trace.callId, process.instance)
      const answered = (status: number, cost: string | undefined): void => {
        const { 'payment-required': quote, 'www-authenticate': challenges } = trace.headers
        if (!process.dead) resolve({ status, id: trace.callId, cost, quote, challenges })
      }
      const prefer = new Headers({ prefer: `wait=${it.waitS}` })
      runCall(
        gateway,
        {
          endpoint: 'run',
          authorization: it.key === undefined ? null : `Bearer ${tokenOf(it.key)}`,
          maxCostUsd: undefined,
          subWallet: undefined,
          paymentProtocol: it.payment === undefined ? undefined : 'x402',
          payment: it.payment && {
            origin: () => 'nobody',
            url: 'http://turnpike.invalid/v1/run',
            v1: undefined,
            v2: it.payment.header,
            mpp: it.payment.mpp,
            headers: new Headers(),
            remade: true,
          },
          idempotencyKey: it.idempotencyKey,
          readBody: async () => new TextEncoder().encode(JSON.stringify(body)),
          decode: (read, named) => decodeRun(read, named, prefer),
          signal: new AbortController().signal,
        },
        trace,
      ).then(
        ({ status, headers }) => {
          Object.assign(trace.headers, headers)
          answered(status, headers['x-cost-usd'])
        },
        (thrown: unknown) => {
          if (!(thrown instanceof Refusal) && !(thrown instanceof StoreFault)) fail(`a call threw ${thrown}`)
          answered(thrown instanceof Refusal ? thrown.status : 500, undefined)
        },
      )
    })

  /** The process may die meanwhile, and then says nothing. */
  const cancel = async (runId: string): Promise<void> => {
    const { gateway } = living() ?? {}
    await Promise.race([gateway && cancelRun(gateway, runId).catch(() => undefined), sleep(3_000)])
  }
  const payers = createJobPayers({ ...stage, hit, store: () => store, ask, cancel, byCard })

  const buy = async (): Promise<void> => {
    await sleep(pick(0, LOAD_MS))
    const n = pick(1, 4)
    const late = random() < 0.06
    const inputs = {
      ms: late ? 1e9 : pick(100, 9_000),
      n,
      made: pick(1, n),
      outcome: random() < 0.15 ? 'failed' : 'done',
    }
    if (late) hit('jobs: overdue')
    const idempotencyKey = random() < 0.6 ? `key ${++serial}` : undefined
    const it = { key: pick(0, 1), waitS: pick(0, 6), idempotencyKey }
    if (random() < (byCard ? 0.8 : 0.3)) return payers.buy(inputs)
    const first = await ask(inputs, it)
    check200(first, inputs.made)
    if (first?.status === 202) hit('jobs: accepted')
    if (first?.status === 202 && random() < 0.2) {
      await sleep(pick(0, 2_000))
      await cancel(first.id)
    }
    for (let tries = 0; idempotencyKey !== undefined && tries < 3; tries++) {
      await sleep(pick(10, 6_000))
      const again = await ask(inputs, it)
      if (again !== undefined && first !== undefined && first.status === 202 && again.status < 300) {
        hit('jobs: repeated')
        if (again.id !== first.id) fail('a repeat got another run')
      }
      check200(again, inputs.made)
    }
  }

  const check200 = (heard: JobAnswer | undefined, made: number): void => {
    if (heard?.status !== 200) return
    hit('jobs: answered')
    if (heard.cost !== `0.0${made}`) fail(`an answer of ${made} says it cost ${heard.cost}`)
    void usagesOf(store, heard.id).then(
      (usages) => usages.length === 1 || fail('an answered job was not charged once'),
    )
  }

  const disturb = async (): Promise<void> => {
    while (world.now() < LOAD_MS + DEADLINE_MS / 2) {
      await sleep(pick(300, 3_000))
      const slot = pick(0, PROCESSES - 1)
      const process = processes[slot]
      if (process === undefined) continue
      const what = random()
      if (what < 0.4) {
        process.dead = true
        begin(slot)
        hit('jobs: killed')
      } else if (what < 0.64) {
        process.link.partitioned = true
        hit('jobs: partition')
        await sleep(pick(500, 18_000))
        process.link.partitioned = false
      } else if (what < 0.72) {
        hit('jobs: key disabled')
        await process.book
          .changeKey('k1', { disabledReason: 'operator', byCreator: true }, byTest)
          .catch(() => undefined)
      } else if (what < 0.8) {
        hit('jobs: cap lowered')
        await process.book
          .changeKey('k0', { spendCap: BigInt(pick(1, 20)) * PICTURE, byCreator: true }, byTest)
          .catch(() => undefined)
      }
    }
  }

  const checkRun = async (run: Run): Promise<bigint> => {
    const usages = await usagesOf(store, run.id)
    if (run.endedAt === undefined) fail(`a run did not end: ${run.state}`)
    await own.check(store, run)
    const { result } = run
    if (run.state !== 'done') {
      hit(run.state === 'cancelled' ? 'jobs: cancelled' : 'jobs: failed')
      const early = run.endedAt !== undefined && run.endedAt < run.deadline - CLOCKS_MS
      const why = result !== undefined && 'error' in result ? result.error.message : ''
      if (early && run.state === 'cancelled' && !run.cancel)
        fail('a job was cancelled that nobody asked to cancel')
      if (early && /in time/.test(why)) fail('the money of a job was taken away before its deadline')
      if (run.facts === undefined) hit('jobs: lost while submitted')
      if (usages.length > 0) fail('a run that delivered nothing was charged')
      return 0n
    }
    hit('jobs: done')
    if (run.owner !== beganBy.get(run.id)) hit('jobs: taken up')
    if (usages.length !== 1 || result === undefined || 'error' in result)
      fail(`a run was charged ${usages.length} times`)
    else {
      result.outputs.forEach((_, index) => {
        if (!isKept(run.id, index)) fail('a result of a charged run is not kept')
      })
      const due = BigInt(result.outputs.length) * PICTURE
      if (usages[0]?.amount !== due) fail(`a run of ${due} was charged ${usages[0]?.amount}`)
    }
    // What a payment pays is checked with it.
    return run.payer === WALLET ? (usages[0]?.amount ?? 0n) : 0n
  }

  const check = async (): Promise<void> => {
    let charged = 0n
    for (const process of processes) process.dead = true
    const change = await payers.finish(deposit)
    for (const key of KEYS)
      for (const run of await store.runs.runsOf(key, { most: 1_000 })) charged += await checkRun(run)
    for (const [call, times] of vendor.taken)
      if (times > 1) fail(`the job of ${call} was taken ${times} times`)
    const wallet = await store.wallets.wallet(WALLET)
    if (wallet?.held !== 0n) fail(`${wallet?.held} is held when all is over`)
    if ((await store.ledger.balance(WALLET)) !== deposit - charged + change.bearers)
      fail('the wallet is not what is left of it')
    if ((await store.ledger.balance(CHANGE_WALLET)) !== change.guests) fail('guests did not get their change')
    await stage.audit(store)
    finished = true
  }

  const run = async (): Promise<void> => {
    store = await stage.openLedger()
    own.through(store)
    for (const id of [WALLET, CHANGE_WALLET])
      await store.wallets.createWallet({ id, orgId: 'o', name: id }, byTest)
    await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: WALLET, amount: deposit })
    for (const key of [0, 1]) {
      const named = { orgId: 'o', walletId: WALLET, label: 'k', prefix: 'k', limits: {} }
      await store.keys.createKey({ id: `k${key}`, hash: hash(tokenOf(key)), ...named }, byTest)
    }
    for (let slot = 0; slot < PROCESSES; slot++) begin(slot)
    await sleep(500)
    await Promise.all([disturb(), ...Array.from({ length: CALLERS }, buy)])
    for (const { link } of processes) link.partitioned = false
    const open = async () => {
      const runs = await Promise.all(KEYS.map((key) => store.runs.runsOf(key, { most: 1_000 })))
      const held = (await store.wallets.wallet(WALLET))?.held
      return runs.flat().some(({ endedAt }) => endedAt === undefined) || held !== 0n
    }
    const restFrom = world.now()
    await sleep(1_000)
    while ((await open()) && world.now() < restFrom + REST_MS) await sleep(2_000)
    await check()
  }

  guard(run())
  stage.playUntil(LOAD_MS + 8 * DEADLINE_MS + REST_MS + 2 * CHANGE_MS, () => finished)
  for (const process of processes) process.dead = true
  world.runUntil(world.now() + 4_000)
  stage.judge(finished, 'the jobs')
}
