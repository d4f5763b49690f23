/** A ledger with a standby that lags: at a failover it goes on from any moment before, and what came later is gone. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '../../src/store/port.ts'
import { openTestStore } from '../memory-ledger.ts'

export type StandbyLedger = {
  /** Whichever ledger serves now. */
  readonly store: Store
  /** The standby has all up to here, and nothing of what comes after. */
  readonly fallBehind: () => void
  /** The standby serves from now on. */
  readonly takeOver: () => Promise<void>
  readonly close: () => Promise<void>
}

type Method = (...args: never[]) => unknown

/** What belongs to whichever object is there at the time of a call. */
const whichever = <Whole extends object>(present: () => Whole): Whole =>
  Object.fromEntries(
    Object.entries(present()).map(([name, member]: [string, unknown]) => {
      const own = (): unknown => Reflect.get(present(), name)
      if (typeof member === 'object') return [name, whichever(own as () => object)]
      return [name, typeof member === 'function' ? (...args: never[]) => (own() as Method)(...args) : member]
    }),
  ) as Whole

export const openStandbyLedger = async (now: () => number, shared: boolean): Promise<StandbyLedger> => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-failover-'))
  let generation = 0
  const pathOf = (which: number) => join(folder, `${which}.sqlite`)
  const open = () => openTestStore({ url: `sqlite:${pathOf(generation)}`, now, shared })
  let present = await open()
  /** When each process sent its last heartbeat, which PostgreSQL tells and SQLite cannot. */
  let beats = new Map<string, number>()
  let copied = beats
  const store = whichever(() => present)
  return {
    store: {
      ...store,
      instances: {
        ...store.instances,
        beat: async (instance, seen, nudge) => {
          const before = beats.get(instance) ?? 0
          const beat = await present.instances.beat(instance, seen, nudge)
          beats.set(instance, beat.at)
          return { ...beat, before, server: String(generation) }
        },
      },
    },
    // Nothing runs meanwhile, so the files are of one moment.
    fallBehind: () => {
      for (const end of ['', '-wal'])
        if (existsSync(pathOf(generation) + end))
          copyFileSync(pathOf(generation) + end, pathOf(generation + 1) + end)
      copied = new Map(beats)
    },
    takeOver: async () => {
      const former = present
      generation++
      present = await open()
      beats = copied
      await former.close()
    },
    close: async () => {
      await present.close()
      rmSync(folder, { recursive: true })
    },
  }
}
