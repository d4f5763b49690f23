/** The faults of a run: processes killed, paused and ended, wires broken, the database crashed. */
import { noteNow } from '../now.ts'
import type { Gateways } from './gateways.ts'
import { type FaultProxy, faults } from './proxy.ts'

type Troublemakers = {
  readonly gateways: Gateways
  /** One wire before the database for each process, where the database is reached over a wire. */
  readonly databaseProxies: readonly FaultProxy[]
  readonly upstreamProxy: FaultProxy
  /** Absent where the database is inside the process. */
  readonly crashDatabase: (() => Promise<void>) | undefined
  readonly seconds: number
  /** Whether all has happened that must: a slow machine takes longer. */
  readonly isEnough: () => boolean
  readonly random: () => number
}

export type Trouble = { readonly faults: number; readonly crashes: number }

/** No machine needs longer. */
const LONGEST_MS = 900_000
const LOOK_MS = 200
/** The part of kills of a process that has not served yet which take place. */
const KILLS_OF_STARTING = 0.2

/** Runs until the time is up and enough has happened; returns how many of each. */
export const misbehave = async (it: Troublemakers): Promise<Trouble> => {
  const { gateways, databaseProxies, upstreamProxy, crashDatabase, seconds, random } = it
  const pick = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const counts = { faults: 0, crashes: 0 }
  const startedMs = Date.now()
  const goesOn = () => {
    const ranMs = Date.now() - startedMs
    return ranMs < seconds * 1_000 || (ranMs < LONGEST_MS && !it.isEnough())
  }
  /** Sleeps, but not past the end. */
  const sleep = async (ms: number) => {
    for (const wakesMs = Date.now() + ms; Date.now() < wakesMs && goesOn(); )
      await Bun.sleep(Math.min(LOOK_MS, Math.max(0, wakesMs - Date.now())))
  }
  const last = gateways.addresses.length - 1
  const alone = last === 0
  /** Most kills hit a process that serves: where starts are slow, others would keep it from ever serving. */
  const kill = (index: number) => {
    if (gateways.isUp(index) || random() < KILLS_OF_STARTING) gateways.kill(index)
  }
  const signals = async () => {
    while (goesOn()) {
      noteNow(`misbehaving for ${Math.round((Date.now() - startedMs) / 1_000)} s`)
      await Bun.sleep(alone ? pick(1_500, 5_000) : pick(300, 2_000))
      const roll = random()
      // The first of several processes lives long, beside others that do not; it is paused, and its wires break.
      if (roll < 0.65) kill(alone ? 0 : pick(1, last))
      else if (roll < 0.8) gateways.end(alone ? 0 : pick(1, last))
      else void gateways.pause(pick(0, last), random() < 0.7 ? pick(100, 1_500) : pick(2_500, 7_000))
    }
  }
  /** Faults of one wire at a time, so that the others learn what it cannot. */
  const wire = async (proxy: FaultProxy, everyMs: number) => {
    await sleep(pick(0, everyMs))
    while (goesOn()) {
      proxy.set(faults[pick(0, faults.length - 1)]!)
      counts.faults++
      await Bun.sleep(pick(200, 2_500))
      proxy.set('none')
      await sleep(everyMs)
    }
  }
  const crashes = async (crash: () => Promise<void>) => {
    while (goesOn()) {
      await sleep(Math.min(20_000, Math.max(12_000, seconds * 330)))
      await crash()
      counts.crashes++
    }
  }
  await Promise.all([
    signals(),
    wire(upstreamProxy, 12_000),
    ...databaseProxies.map((proxy) => wire(proxy, 20_000)),
    crashDatabase === undefined ? undefined : crashes(crashDatabase),
  ])
  return counts
}
