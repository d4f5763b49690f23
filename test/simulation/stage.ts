/** The frame of every history: its world, what it reached, the first law that it broke, and how it is played. */

import type { Store } from '../../src/store/port.ts'
import { openTestStore } from '../memory-ledger.ts'
import { LawBroken, type Reached } from './law.ts'
import { createWorld, EPOCH, type World } from './world.ts'

export type Stage = {
  readonly world: World
  readonly hit: (what: string) => void
  /** The first law that is broken ends the history. */
  readonly fail: (law: string) => void
  /** Work that nobody waits for; that it throws breaks a law. */
  readonly guard: (work: Promise<unknown>) => void
  readonly sleep: (ms: number) => Promise<void>
  /** An empty ledger: in half of the histories with the statements PostgreSQL gets, in half with SQLite's own. */
  readonly openLedger: (aheadMs?: () => number) => Promise<Store>
  /** The laws of the books. */
  readonly audit: (store: Store) => Promise<void>
  /** Plays until that time, or until a law is broken or all is over. */
  readonly playUntil: (ms: number, isOver?: () => boolean, stepMs?: number) => void
  readonly isBroken: () => boolean
  /** Throws the first law that was broken; a history that is not over has not come to rest. */
  readonly judge: (isOver: boolean, what: string) => void
}

export const createStage = (seed: number, reached: Reached): Stage => {
  const world = createWorld(seed)
  let broken: Error | undefined
  const fail = (law: string): void => {
    broken ??= new LawBroken(law)
  }
  return {
    world,
    hit: (what) => void reached.set(what, (reached.get(what) ?? 0) + 1),
    fail,
    guard: (work) =>
      void work.catch((error: unknown) => fail(error instanceof Error ? error.message : String(error))),
    sleep: (ms) => new Promise((resolve) => world.after(ms, resolve)),
    openLedger: (aheadMs = () => 0) =>
      openTestStore({
        url: 'sqlite::memory:',
        now: () => EPOCH + Math.floor(world.now()) + aheadMs(),
        shared: seed % 2 === 0,
      }),
    audit: async (store) => {
      for (const { check, ok, detail } of await store.ledger.audit())
        if (!ok) fail(`audit: ${check} (${detail ?? ''})`)
    },
    playUntil: (ms, isOver = () => false, stepMs = 1_000) => {
      while (world.now() < ms && broken === undefined && !isOver()) world.runUntil(world.now() + stepMs)
    },
    isBroken: () => broken !== undefined,
    judge: (isOver, what) => {
      if (broken !== undefined) throw broken
      if (!isOver) throw new LawBroken(`${what} did not come to rest`)
    },
  }
}
