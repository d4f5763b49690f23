/**
 * A history of callers who pay call by call, with a key and without, as the official clients do: each time a call comes
 * again they ask for a quote and sign a new payment for it. The vendor fails often, and processes are killed.
 *
 * The law: under one Idempotency-Key at most one payment is taken and at most one call is charged, and what was taken
 * and not used comes back.
 */

import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import type { Reached } from './law.ts'
import { offersIn, sign } from './payloads.ts'
import { hash, startProcess, UNIT } from './process.ts'
import { createChain } from './rail.ts'
import { BEARER, costOf, openShop, type Reply, type Request, type Shop } from './shop.ts'
import { createStage } from './stage.ts'

const WALLET = 'w'
const LONGEST_CALL_MS = 3_000
const PATIENCE_MS = 4_000
const TRIES = 8
const CALLERS = 4
/** Until a killed process's calls are over and the rest of payments has been given back. */
const REST_MS = 20_000

type Process = { readonly shop: Shop; dead: boolean }

export const runPaidAgain = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  const { world, hit, fail, guard, sleep } = stage
  const { after } = world
  const { pick, random } = world.draws('scene')

  const chain = createChain(world, hit)
  // Facilitator and chain always say the truth: a caller who pays twice here was told to.
  chain.calm()
  const processes: Process[] = []
  let store: Store
  let generation = 0
  let serial = 0
  let finished = false
  let taken = 0n
  let charged = 0n

  const begin = (slot: number): void => {
    const process = { dead: false }
    const alive = () => !process.dead
    const link = { partitioned: false, slow: false, reliable: true, alive }
    const way = { name: `p${slot}.${generation++}`, link, refused: fail, longestCallMs: LONGEST_CALL_MS }
    const shop = openShop(world, startProcess(world, store, way), chain.railOf(alive))
    processes[slot] = Object.assign(process, { shop })
  }

  /** What the caller gets: nothing from a process that died, and nothing after its patience. */
  const ask = (request: Request): Promise<Reply | undefined> =>
    new Promise((resolve) => {
      after(PATIENCE_MS, () => resolve(undefined))
      const process = processes[pick(0, 1)]
      process?.shop.ask(request).then(
        (reply) => !process.dead && resolve(reply),
        (error: unknown) => fail(String(error)),
      )
    })

  /** A call of its caller, from the quote until it is answered. */
  const buy = async (bearer: boolean): Promise<void> => {
    const order = {
      // The vendor fails most of those that divide by eight.
      id: 8 * pick(20_000, 90_000) + (random() < 0.7 ? 0 : 1),
      input: pick(1, 60),
      output: pick(1, 100),
      ms: pick(1, 200),
    }
    const call: Request = {
      order,
      stream: random() < 0.3,
      maxTokens: pick(100, 200),
      bearer,
      idempotencyKey: `call ${++serial}`,
    }
    const nonces: string[] = []
    let callId: string | undefined
    for (let tries = 0; tries < TRIES && callId === undefined; tries++) {
      const quote = await ask(call)
      let reply = quote
      if (quote?.status === 402) {
        const offers = offersIn(quote.headers['payment-required'])
        const accepted = offers.find(({ scheme }) => scheme === 'exact')
        const { nonce, header } = sign({ world, chain }, { accepted, number: ++serial })
        nonces.push(nonce)
        reply = await ask({ ...call, payment: { version: 2, header } })
      }
      if (reply?.complete === true) callId = reply.callId
      else hit('paid again: comes again')
      await sleep(pick(10, 800))
    }
    const paid = nonces.flatMap((nonce) => {
      const on = chain.authorizations.get(nonce)
      return on?.state === 'paid' ? [on.taken ?? 0n] : []
    })
    if (paid.length > 1) fail(`one call was paid ${paid.length} times`)
    for (const units of paid) taken += units * UNIT
    if (callId === undefined) return hit('paid again: never answered')
    if (!bearer) hit('paid again: guest answered')
    hit(nonces.length > 1 ? 'paid again: answered after several quotes' : 'paid again: answered')
    charged += costOf(order)
    const posted = (await store.ledger.transfersOf(callId)).filter(({ kind }) => kind === 'usage')
    if (posted.length !== 1) fail(`an answered call is charged ${posted.length} times`)
  }

  const run = async (): Promise<void> => {
    store = await stage.openLedger()
    await store.wallets.createWallet({ id: WALLET, orgId: 'o', name: 'w' }, byTest)
    const named = { orgId: 'o', walletId: WALLET, label: 'k', prefix: 'k', limits: {} }
    await store.keys.createKey({ id: 'k', hash: hash(BEARER), ...named }, byTest)
    begin(0)
    begin(1)
    await sleep(1_000)
    const killed = sleep(pick(200, 3_000)).then(() => {
      if (random() < 0.6) {
        const process = processes[0]
        if (process !== undefined) process.dead = true
        begin(0)
        hit('paid again: killed')
      }
    })
    await Promise.all([killed, ...Array.from({ length: CALLERS }, (_, caller) => buy(caller % 2 === 0))])
    await sleep(REST_MS)
    await check()
  }

  const check = async (): Promise<void> => {
    if ((await store.ledger.balance('x402')) !== -taken)
      fail(`taken ${taken}, in the ledger ${-(await store.ledger.balance('x402'))}`)
    const used = await store.ledger.balance('revenue')
    if (used < charged) fail(`answered for ${charged}, charged ${used}`)
    await stage.audit(store)
    finished = true
  }

  guard(run())
  stage.playUntil(TRIES * (2 * PATIENCE_MS + 800) + REST_MS + 5_000, () => finished)
  for (const process of processes) process.dead = true
  world.runUntil(world.now() + PATIENCE_MS)
  stage.judge(finished, 'the callers who pay again')
}
