/**
 * A history of callers without a key who pay by card, at a Stripe that loses answers, refuses, and takes its time, while
 * processes are killed and lose touch.
 *
 * The laws: those of all payers (payments.ts), and: a challenge is charged once, whatever answers it; the answer is for the token
 * that paid; Stripe's book is the ledger; a payer who heard no was not charged, and is not charged later.
 */
import type { Store } from '../../src/store/port.ts'
import type { Reached } from './law.ts'
import { createPayments } from './payments.ts'
import { startProcess } from './process.ts'
import type { Shop } from './shop.ts'
import { createStage } from './stage.ts'

const LONGEST_CALL_MS = 3_000
const PROCESSES = 2
const CALLERS = 8
const LOAD_MS = 8_000
/** A day and more, in which a new process finds out what is open. */
const MOST_MS = 30 * 3_600_000

type Process = { readonly shop: Shop; readonly link: { partitioned: boolean }; dead: boolean }

export const runCards = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  const { world, hit, fail, guard, sleep } = stage
  const { pick, random } = world.draws('scene')
  const processes: Process[] = []
  let store: Store
  let generation = 0
  let [buying, finished] = [true, false]

  const payments = createPayments({
    ...stage,
    byCard: true,
    store: () => store,
    longestCallMs: LONGEST_CALL_MS,
    shop: () => {
      const process = processes[pick(0, PROCESSES - 1)]
      return { shop: process?.shop, alive: () => process?.dead === false }
    },
  })

  const begin = (slot: number): void => {
    const process = { dead: false }
    const link = { partitioned: false, slow: false, alive: () => !process.dead }
    const way = { name: `p${slot}.${generation++}`, link, refused: fail, longestCallMs: LONGEST_CALL_MS }
    const shop = payments.open(startProcess(world, store, way))
    processes[slot] = Object.assign(process, { shop, link })
  }

  const troubles = async (): Promise<void> => {
    for (;;) {
      await sleep(pick(300, 4_000))
      if (!buying) return
      const slot = pick(0, PROCESSES - 1)
      const process = processes[slot]
      if (process === undefined) continue
      if (random() < 0.5) {
        process.dead = true
        begin(slot)
        hit('cards: killed')
      } else {
        process.link.partitioned = true
        hit('cards: partition')
        await sleep(pick(300, 4_000))
        process.link.partitioned = false
      }
    }
  }

  const run = async (): Promise<void> => {
    store = await stage.openLedger()
    await payments.setUp()
    for (let slot = 0; slot < PROCESSES; slot++) begin(slot)
    await sleep(1_000)
    guard(troubles())
    const buy = async () => {
      await sleep(pick(0, LOAD_MS))
      await payments.buy()
    }
    await Promise.all(Array.from({ length: CALLERS }, buy))
    buying = false
    for (const { link } of processes) link.partitioned = false
    await sleep(10_000)
    for (const process of processes) process.dead = true
    await payments.finish()
    finished = true
  }

  guard(run())
  stage.playUntil(MOST_MS, () => finished)
  for (const process of processes) process.dead = true
  stage.judge(finished, 'the payers by card')
}
