/** How much must happen in a run before its books prove anything. */
import type { Gateways } from './gateways.ts'
import type { Load } from './load.ts'
import { longAnswered } from './own-books.ts'
import type { Payers } from './payers.ts'
import type { Revocations } from './revocation.ts'

export type Happened = {
  readonly seconds: number
  /** How much of the work of three processes on PostgreSQL the run must do. */
  readonly share: number
  /** A broken product needs to be caught, by answers and kills alone. */
  readonly mutated: boolean
  readonly load: Load
  readonly payers: Payers
  readonly signals: Gateways['counts']
  readonly killed: Gateways['killed']
  readonly revocations: Revocations
}

/** Less than the mutant waits with a charge. */
const SOON_MS = 350

/** Kills of processes that had just answered: a charge that was to follow its answer is lost by them. */
const soonAfterAnswers = ({ killed, load: { seen } }: Happened): number =>
  killed.filter(({ address, atMs }) =>
    seen.some(
      (one) => one.complete && one.address === address && atMs >= one.atMs && atMs - one.atMs < SOON_MS,
    ),
  ).length

/** What has happened so far, and how often at least it must. */
const counted = (it: Happened) => {
  const { seconds, share, mutated, load, payers, signals, revocations } = it
  const answered = load.seen.filter(({ complete }) => complete)
  const by = (mode: string) => answered.filter((seen) => seen.mode === mode).length
  const least = [
    ['answered', answered.length, seconds * 10 * share],
    ['kills', signals.kills, (seconds / 3) * share],
  ] as const
  if (mutated) return [...least, ['kills soon after an answer', soonAfterAnswers(it), 1]] as const
  return [
    ...least,
    ['on credit', by('mpp'), seconds * share],
    ['paid by x402', by('x402'), (seconds / 4) * share],
    ['changes claimed', payers.claimed(), 3 * share],
    ['long streams', longAnswered(load), 0],
    ['pauses', signals.pauses, 0],
    ['SIGTERM', signals.ends, 0],
    ['revocations', revocations.acknowledged(), (seconds / 20) * share],
  ] as const
}

/** Whether each has happened more often than it must. */
export const isEnough = (it: Happened): boolean => counted(it).every(([, times, least]) => times > least)

/** The counts as a line. */
export const happened = (it: Happened): string =>
  counted(it)
    .map(([what, times, least]) => `${times} ${what}${times > least ? '' : ` (too few)`}`)
    .join(', ')
