/**
 * A calm history: nothing keeps processes from the ledger, except one that is killed, paused or drained.
 *
 * The laws of liveness, by books of its own: a call that fits in what its limits have left, open calls counted, is
 * admitted; one that does not fit is a 402 only when the money is spent; a hold grows while there is money; every wait
 * ends; and a machine that was paused answers no call of a key whose revocation was acknowledged meanwhile.
 */

import type { Book, Hold } from '../../src/book/contract.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Clock } from '../../src/core/time.ts'
import type { Store } from '../../src/store/port.ts'
import type { Key } from '../../src/tenancy/key.ts'
import { byTest } from '../by-test.ts'
import { emptyDetail, type Reached } from './law.ts'
import { type Commitment, createLimits, type Limits } from './limits.ts'
import type { Link } from './network.ts'
import { startProcess } from './process.ts'
import { createStage, type Stage } from './stage.ts'
import type { Draws, World } from './world.ts'

/** The course of a call, and whether it asks for all that is left. */
type Wish = { readonly stream: boolean; readonly lastsMs: number; readonly all?: boolean }
type Process = { readonly book: Book; readonly paused: () => boolean; dead: boolean; drains: boolean }

const LOAD_MS = 20_000
const REST_MS = 20_000
const LONGEST_CALL_MS = 30_000
/** A call waits two seconds for money, and then for its answer; nothing here takes longer. */
const WAIT_MAX_MS = 4_000
/** Until the money of a lost process is free again: silent for three seconds, and then reaped. */
const RECOVERY_MS = 5_500
const SLOTS = 3
const WALLET = 'w'

export const runCalm = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  const scene = createScene(stage)
  scene.start()
  stage.playUntil(LOAD_MS + REST_MS)
  if (!stage.isBroken()) scene.finish()
  stage.world.runUntil(stage.world.now() + 4_000)
  stage.judge(scene.finished(), 'the calm history')
}

/** A clock of a machine that is paused now and then: nothing runs meanwhile, and its monotonic time stands still. */
const pausable = (world: World, clock: Clock) => {
  let until = 0
  let stoodStillMs = 0
  const reach = (run: () => void) => (world.now() < until ? world.after(until - world.now(), run) : run())
  const own: Clock = {
    now: clock.now,
    monotonicMs: () => clock.monotonicMs() - stoodStillMs,
    turn: () => new Promise((resolve) => void clock.turn().then(() => reach(resolve))),
    sleep: (ms) => new Promise((resolve) => void clock.sleep(ms).then(() => reach(resolve))),
  }
  return {
    clock: own,
    reach,
    paused: () => world.now() < until,
    pause: (ms: number) => {
      until = world.now() + ms
      stoodStillMs += ms
    },
  }
}

const createScene = (stage: Stage) => {
  const { world, hit, fail, guard, sleep } = stage
  const { after } = world
  const scene = world.draws('scene')
  const { pick, random } = scene
  const loads = world.draws('load')
  const pulses = world.draws('pulse')
  const tagging = world.draws('tags')
  const isTagged = tagging.random() < 0.4
  const keys: Key[] = []
  const slots: (Process & { readonly pause: (ms: number) => void })[] = []
  const revoked = new Map<string, number>()
  let store: Store
  let limits: Limits
  let generation = 0
  let loaded = 0
  let callsMade = 0
  /** Money of a lost process may be out of reach until then; what callers learn must be true all the same. */
  let recoveredAt = 0
  let finished = false

  const begin = (slot: number) => {
    const process = { dead: false, drains: false }
    const alive = () => !process.dead
    const { clock, reach, paused, pause } = pausable(world, world.clock(alive))
    const link: Link = { partitioned: false, slow: false, reliable: true, alive, reach }
    const name = `p${slot}.${generation++}`
    const way = { name, link, refused: fail, clock, longestCallMs: LONGEST_CALL_MS }
    const { book } = startProcess(world, store, way)
    slots[slot] = Object.assign(process, { book, paused, pause })
  }

  const setUp = async () => {
    store = await stage.openLedger()
    // Half of the wallets are rich: their leases admit without asking the ledger.
    const deposit = BigInt(random() < 0.5 ? pick(60, 400) : pick(2_000, 4_000)) * 1_000_000n
    await store.wallets.createWallet({ id: WALLET, orgId: 'o', name: 'w' }, byTest)
    await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: WALLET, amount: deposit })
    const budget = BigInt(pick(20, 60)) * 1_000_000n
    await store.subWallets.createSubWallet({ id: 'named', walletId: WALLET, label: 'named', budget }, byTest)
    const cap = () => BigInt(pick(10, 60)) * 1_000_000n
    const own = [{}, { spendCap: cap() }, { monthlyCap: cap() }, { spendCap: cap() }, {}]
    for (const [index, ofKey] of own.entries())
      keys.push(
        await store.keys.createKey(
          {
            id: `k${index}`,
            hash: `h${index}`,
            orgId: 'o',
            walletId: WALLET,
            label: 'k',
            prefix: 'k',
            limits: ofKey,
            ...(index === 3 ? { parentId: 'k1' } : {}),
          },
          byTest,
        ),
      )
    const ofUser = BigInt(tagging.pick(5, 40)) * 1_000_000n
    const users = new Map(isTagged ? ['ann', 'bea'].map((name) => [name, ofUser]) : [])
    if (isTagged)
      await store.tagBudgets.putTagBudget(
        {
          id: 'bud_users',
          walletId: WALLET,
          tag: 'user',
          value: '',
          caps: { monthlyCap: ofUser },
          valuesMax: 9,
          beyond: 'refuse',
        },
        byTest,
      )
    limits = createLimits({ keys, deposit, budgets: new Map([['named', budget]]), users })
    for (let slot = 0; slot < SLOTS; slot++) begin(slot)
    after(300, load)
    // A long stream of a key that nobody else uses: its lease would run out under it.
    after(pick(300, 4_000), () =>
      guard(call(pick(0, SLOTS - 1), 4, { stream: true, lastsMs: pick(9_000, 14_000) }, world.draws('long'))),
    )
    after(1_000, () => guard(pulse(pick(0, SLOTS - 1))))
    after(pick(2_000, 9_000), () => guard([loseOne, pauseOne, drainOne][pick(0, 2)]?.() ?? Promise.resolve()))
  }

  const load = () => {
    if (world.now() > LOAD_MS) return
    // The key of the long stream is quiet.
    const one = world.draws(`call ${++loaded}`)
    const wish = { stream: one.random() < 0.5, lastsMs: one.pick(1, 500) }
    guard(call(one.pick(0, SLOTS - 1), one.pick(0, 3), wish, one))
    after(loads.random() < 0.05 ? loads.pick(500, 3_000) : loads.pick(0, 120), load)
  }

  /** One call, from asking for its hold to its end; the law is checked against what the limits had all the time. */
  const call = async (slot: number, index: number, it: Wish, draws: Draws = scene): Promise<void> => {
    const { pick, random } = draws
    const process = slots[slot]
    const key = keys[index]
    if (process === undefined || key === undefined || process.paused() || process.drains || process.dead)
      return
    const sub = index === 0 && random() < 0.4 ? 'named' : undefined
    const user = isTagged ? [undefined, 'ann', 'bea'][tagging.pick(0, 2)] : undefined
    const tags = user === undefined ? undefined : JSON.stringify([['user', user]])
    if (tags !== undefined) hit('calm: of an end user')
    // Now and then all that is left, as for a call whose bound was lowered to it.
    const left = limits.left(key, sub, user)
    const amount =
      (it.all === true || random() < 0.08) && left > 0n ? left : BigInt(pick(100, 3_000)) * 1_000n
    const asked = limits.ask(key, sub, amount, user)
    const askedMs = world.now()
    const callId = `c${callsMade++}`
    const signal = new AbortController().signal
    const held = await process.book.hold({ callId, key, sub, tags, amount, useful: 1n, waits: true, signal })
    const tookMs = world.now() - askedMs
    const troubled = process.dead || process.drains || world.now() < recoveredAt || askedMs < recoveredAt
    if (tookMs > WAIT_MAX_MS && !troubled) fail(`a call waited ${Math.round(tookMs)} ms for its money`)
    if (held instanceof Refusal || 'outcome' in held) return refusedCall(asked, held, troubled)
    hit('calm: admitted')
    await run(process, held, { asked, it, keyId: key.id, draws })
  }

  const refusedCall = (
    asked: Commitment,
    held: Refusal | { spent: boolean; limit: string; required: bigint; available: bigint },
    troubled: boolean,
  ) => {
    const fits = asked.fits()
    asked.drop()
    if (held instanceof Refusal) {
      if (held.code === 'key_disabled' && revoked.size > 0) return
      if (fits && !troubled) fail(`a call that fits was refused: ${held.code}`)
      return hit(`calm: ${held.code}`)
    }
    if (held.spent && fits) fail(`a call that fits was told that ${held.limit} is spent`)
    if (held.spent && held.required <= held.available) fail('told to need no more than there is')
    if (fits && !troubled) fail(`a call that fits was refused by ${held.limit}`)
    hit(held.spent ? 'calm: spent' : 'calm: held')
  }

  const run = async (
    process: Process,
    hold: Hold,
    { asked, it, keyId, draws }: { asked: Commitment; it: Wish; keyId: string; draws: Draws },
  ): Promise<void> => {
    const revokedMs = revoked.get(keyId)
    if (it.stream && !(await hold.opened)) return asked.drop()
    if (it.stream && revokedMs !== undefined && world.now() > revokedMs)
      fail('a call was opened after the revocation of its key was acknowledged')
    await sleep(it.lastsMs)
    let cost = (hold.amount() * BigInt(draws.pick(1, 100))) / 100n
    if (it.stream && (it.lastsMs > 1_000 || draws.random() < 0.4))
      cost = await grow(process, hold, asked, keyId)
    if (process.dead) return
    const charged = await hold.settle(cost, { ...emptyDetail, keyId }).then(
      ({ charged: amount }) => amount,
      () => undefined,
    )
    if (charged !== undefined && revokedMs !== undefined && !it.stream)
      fail('a call was answered after the revocation of its key was acknowledged')
    asked.end(charged ?? 0n)
  }

  /** A stream that goes on past what it holds: while its limits have money, it is not cut. */
  const grow = async (process: Process, hold: Hold, asked: Commitment, keyId: string): Promise<bigint> => {
    const before = hold.amount()
    const more = asked.more(before)
    const extended = (await hold.extend(before * 2n, before / 2n, true)) === 'extended'
    // A hold that moves to another lease, because a day began for example, counts twice for a moment.
    const fits = more.fits(before)
    if (!extended) more.drop()
    else more.join()
    const troubled = process.dead || process.paused() || world.now() < recoveredAt || revoked.has(keyId)
    if (!extended && fits && !troubled) fail('a hold did not grow while the money was there')
    hit(extended ? 'calm: extended' : 'calm: extension refused')
    if (extended && process.drains) hit('calm: extended while draining')
    return extended ? before + before / 2n : before
  }

  const loseOne = async (): Promise<void> => {
    const slot = pick(0, SLOTS - 1)
    const process = slots[slot]
    if (process === undefined) return
    process.dead = true
    recoveredAt = world.now() + RECOVERY_MS
    hit('calm: killed')
    begin(slot)
    // Its leased money is free again by then, also for a call that needs all of it.
    await sleep(RECOVERY_MS + 10)
    for (const index of [3, 1, 2, 0])
      await call((slot + 1) % SLOTS, index, { stream: false, lastsMs: 1, all: true })
  }

  /** Calls that come just when the room of the one before, idle for two seconds, is on its way back. */
  const pulse = async (slot: number): Promise<void> => {
    while (world.now() < LOAD_MS) {
      await call(slot, 3, { stream: false, lastsMs: 1, all: true }, pulses)
      await sleep(pulses.pick(1_990, 2_150))
      await call(slot, 3, { stream: false, lastsMs: 1 }, pulses)
    }
  }

  /** Open calls of a process that shuts down go on; new calls go elsewhere. */
  const drainOne = async (): Promise<void> => {
    const slot = pick(0, SLOTS - 1)
    const process = slots[slot]
    if (process === undefined) return
    // Some calls are open, and want more than they hold.
    const open = [0, 1, 2].map(() => call(slot, pick(0, 3), { stream: true, lastsMs: pick(1_100, 6_000) }))
    await sleep(100)
    process.drains = true
    hit('calm: drained')
    const drained = process.book.drain(20_000)
    await sleep(10)
    begin(slot)
    await Promise.all([...open, drained])
  }

  /** A machine stands still while a key is revoked elsewhere, and gets calls of that key when it goes on. */
  const pauseOne = async (): Promise<void> => {
    const slot = pick(0, SLOTS - 1)
    const [process, other] = [slots[slot], slots[(slot + 1) % SLOTS]]
    const index = pick(0, 3)
    if (process === undefined || other === undefined) return
    // It has a lease of the key, and knows it.
    await Promise.all([0, 1, 2].map(() => call(slot, index, { stream: true, lastsMs: 50 })))
    // Mostly so short that only the fence stands in the way.
    const ms = random() < 0.7 ? pick(2_300, 3_800) : pick(3_800, 9_000)
    recoveredAt = world.now() + ms + RECOVERY_MS
    process.pause(ms)
    hit('calm: paused')
    await other.book.changeKey(`k${index}`, { disabledReason: 'operator', byCreator: true }, byTest)
    revoked.set(`k${index}`, world.now())
    while (process.paused()) await sleep(1)
    for (let calls = 0; calls < 4; calls++) {
      guard(call(slot, index, { stream: calls % 2 === 0, lastsMs: 5 }))
      await sleep(1)
    }
  }

  const finish = async (): Promise<void> => {
    await stage.audit(store)
    finished = true
  }

  return {
    start: () => guard(setUp()),
    finish: () => guard(finish()),
    finished: () => finished,
  }
}
