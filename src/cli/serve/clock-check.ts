/** The clock at a start: bills, months, links and signatures are dated by it, and nobody notices a wrong one by itself. */
import type { Log } from '../../core/log.ts'
import { type Instant, systemClock } from '../../core/time.ts'
import type { Store } from '../../store/port.ts'

/** Clocks that are kept by NTP differ by less. */
const APART_MS = 60_000

/** Says which clock is wrong and what to do. The server starts all the same: no money depends on a right one. */
export const warnOfClock = async (store: Pick<Store, 'clock' | 'engine'>, log: Log): Promise<void> => {
  const askedAt = systemClock.now()
  const { now, before } = await store.clock()
  const wrong = wrongClock({ here: askedAt, now, before, local: store.engine === 'sqlite' })
  if (wrong !== undefined) log.error('a clock is wrong; set it, and keep it by NTP', { error: wrong })
}

type Clocks = {
  /** This machine's clock, the database's, and the latest that the database's has shown before. */
  readonly here: Instant
  readonly now: Instant
  readonly before: Instant
  /** Whether the database has this machine's clock. */
  readonly local: boolean
}

/** What is wrong with the clocks; undefined if nothing is known to be. */
const wrongClock = ({ here, now, before, local }: Clocks): string | undefined => {
  const shown = (at: Instant): string => new Date(at).toISOString()
  if (before - now > APART_MS)
    return `${local ? 'this machine' : 'the database'} says ${shown(now)}, but the ledger was written to at ${shown(before)}`
  if (Math.abs(here - now) > APART_MS)
    return `this machine says ${shown(here)}, and the database says ${shown(now)}`
  return undefined
}
