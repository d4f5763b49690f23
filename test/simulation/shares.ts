/**
 * A history of shares: keys that call now and then for some minutes, on three processes that count most of their requests
 * without asking. Messages get lost, processes are cut off, paused by that or killed, and in some histories the ledger's
 * clock is set forward. No window holds more than its limit.
 */
import { Refusal } from '../../src/core/refusal.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import type { Reached } from './law.ts'
import { type Running, startProcess } from './process.ts'
import { createRateLaw } from './rate-law.ts'
import { createStage } from './stage.ts'
import { EPOCH } from './world.ts'

type Process = Pick<Running, 'book'> & { dead: boolean; readonly link: { partitioned: boolean } }

const PROCESSES = 3
const MINUTES = 6
const LONGEST_CALL_MS = 4_000

export const runShares = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  const { world, hit, fail, guard, sleep } = stage
  const { after } = world
  const { pick, random } = world.draws('scene')
  const ends = MINUTES * 60_000
  let aheadMs = 0
  let generation = 0
  let finished = false
  let store: Store
  const processes: Process[] = []
  const law = createRateLaw({ now: () => EPOCH + Math.floor(world.now()) + aheadMs, after, fail, hit })

  const begin = (slot: number): void => {
    const process = { dead: false }
    const link = { partitioned: false, slow: false, reliable: seed % 2 === 0, alive: () => !process.dead }
    const name = `p${slot}.${generation++}`
    const running = startProcess(world, store, { name, link, refused: fail, longestCallMs: LONGEST_CALL_MS })
    processes[slot] = Object.assign(process, { book: running.book, link })
  }

  const ask = async (process: Process, hash: string): Promise<void> => {
    const key = await process.book.caller(hash)
    if (key === undefined || key instanceof Refusal) return hit('shares: not fresh')
    const taken = process.book.takeRate(key.id, key.limits, undefined)
    if (!(taken instanceof Promise)) hit('shares: counted without asking')
    const rate = await taken
    if (process.dead || rate instanceof Refusal) return hit('shares: not countable')
    if (!rate.admitted) return hit('shares: refused')
    hit('shares: admitted')
    law.admitted(key, rate, () => process.dead)
  }

  /** A key calls at a pace of its own, one call at a time or several. */
  const load = (hash: string, paceMs: number): void => {
    if (world.now() > ends) return
    const process = processes[pick(0, PROCESSES - 1)]
    if (process !== undefined)
      for (let calls = random() < 0.05 ? 8 : 1; calls > 0; calls--) guard(ask(process, hash))
    after(random() * 2 * paceMs, () => load(hash, paceMs))
  }

  const trouble = async (): Promise<void> => {
    const sets = seed % 3 === 0
    while (world.now() < ends) {
      await sleep(pick(5_000, 40_000))
      const slot = pick(0, PROCESSES - 1)
      const process = processes[slot]
      if (process === undefined) continue
      if (sets && random() < 0.4) {
        aheadMs += pick(1_500, 200_000)
        hit('shares: the clock is set forward')
      } else if (random() < 0.5) {
        process.link.partitioned = true
        hit('shares: partition')
        await sleep(pick(500, 8_000))
        process.link.partitioned = false
      } else {
        process.dead = true
        hit('shares: killed')
        begin(slot)
      }
    }
    await sleep(2_000)
    finished = true
  }

  const setUp = async (): Promise<void> => {
    store = await stage.openLedger(() => aheadMs)
    await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
    for (const [at, rpm] of [2, 6, pick(10, 40)].entries()) {
      const limits = at === 1 ? { rpm, rph: 40 } : { rpm }
      const id = `k${at}`
      const made = { id, hash: id, orgId: 'o', walletId: 'w', label: 'k', prefix: 'k', limits }
      await store.keys.createKey(made, byTest)
      after(pick(300, 3_000), () => load(id, pick(30_000, 240_000) / rpm))
    }
    for (let slot = 0; slot < PROCESSES; slot++) begin(slot)
    guard(trouble())
  }

  guard(setUp())
  stage.playUntil(2 * ends, () => finished)
  stage.judge(finished, 'the history of shares')
}
