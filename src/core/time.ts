/**
 * Time: instants are integer milliseconds since 1970 UTC; spans carry their unit in the name. The clock is always passed in.
 * Ids begin with the time of their making.
 */
import type { Log } from './log.ts'
import { messageOf } from './message-of.ts'

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number

/** A calendar month in UTC, written `2026-11`. */
export type Month = string

/** A calendar day in UTC, written `2026-11-21`; its first seven characters are its month. */
export type Day = string

/** A week in UTC from Monday to Sunday, written as those days: `2026-11-23/2026-11-29`. Source: ISO 8601. */
type Week = string

/** Where the time and timers come from; a simulation passes its own. */
export type Clock = {
  /** Wall time. It is never compared between machines. */
  readonly now: () => Instant
  /** Milliseconds that never go back within this process. */
  readonly monotonicMs: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** Resolves when all work that is ready has run: the next turn of the event loop. */
  readonly turn: () => Promise<void>
}

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: performance.now.bind(performance),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  turn: () => new Promise((resolve) => setImmediate(resolve)),
}

/** The last month asked for. Nearly every call asks for the current one. */
let last = { from: 0, to: 0, month: '' }

export const monthOf = (instant: Instant): Month => {
  if (!(instant >= last.from && instant < last.to)) {
    const from = Math.floor(instant / DAY_MS) * DAY_MS
    last = { from, to: from + DAY_MS, month: monthIn(instant) }
  }
  return last.month
}

const monthIn = (instant: Instant): Month => {
  const date = new Date(instant)
  return `${date.getUTCFullYear()}-${String(date.getUTCMonth() + 1).padStart(2, '0')}`
}

export const dayOf = (instant: Instant): Day =>
  `${monthOf(instant)}-${String(new Date(instant).getUTCDate()).padStart(2, '0')}`

export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** The week that holds a day. */
export const weekOf = (day: Day): Week => {
  const at = Date.parse(day)
  const monday = at - ((new Date(at).getUTCDay() + 6) % 7) * DAY_MS
  return `${dayOf(monday)}/${dayOf(monday + 6 * DAY_MS)}`
}

/** The first instant of the UTC day after the one that holds `instant`. */
export const nextDayStart = (instant: Instant): Instant => (Math.floor(instant / DAY_MS) + 1) * DAY_MS

/** The first instant of the month after the one that holds `instant`. */
export const nextMonthStart = (instant: Instant): Instant => {
  const date = new Date(instant)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** The first instant of the month `months` before the one that holds `instant`. */
export const monthsBefore = (instant: Instant, months: number): Instant => {
  const date = new Date(instant)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - months, 1)
}

const INSTANT = /^(\d{4}-\d{2}-\d{2})(T[\d:.]+(Z|[+-]\d{2}:\d{2})?)?$/

/**
 * A day (`2026-11-21`) or a moment in ISO 8601, in UTC unless it names an offset. Undefined for other texts, and for a
 * day that there is not: `Date.parse` takes the 30th of February for one in March.
 */
export const instantFrom = (text: string): Instant | undefined => {
  const [, day = '', time, offset] = INSTANT.exec(text) ?? []
  const midnight = Date.parse(day)
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined
  const instant = time === undefined ? midnight : Date.parse(offset === undefined ? `${text}Z` : text)
  return Number.isNaN(instant) ? undefined : instant
}

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/

/** The first instant of a month written `2026-11`; undefined for other texts. */
export const monthStart = (month: string): Instant | undefined =>
  MONTH.test(month) ? Date.parse(`${month}-01T00:00:00Z`) : undefined

type Rounds = {
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>
  readonly log: Pick<Log, 'warn'>
  /** The pause after a round that took so long. */
  readonly pauseMs: (tookMs: number) => number
  /** The first round comes after a pause too. */
  readonly waits?: true
  /** What the log says of a round that failed; the next one tries again. */
  readonly failed: string
  /** A failure that stays the same is told only once. */
  readonly once?: true
}

/** A pause of about this length: processes that started together do not ask together. */
export const about = (ms: number, random: () => number) => (): number => ms * (0.5 + random())

/**
 * Works in rounds until the returned function is called; long rounds ask `goesOn` between their steps. Several servers may do
 * it at once. A round that the end of the process cuts off is no trouble.
 */
export const inRounds = (
  { clock, log, pauseMs, waits, failed, once }: Rounds,
  work: (goesOn: () => boolean) => Promise<void>,
): (() => void) => {
  let stopped = false
  let told: string | undefined
  const goesOn = () => !stopped
  const tell = (error: string): void => {
    if (!stopped && !(once === true && error === told)) log.warn(failed, { error })
    told = error
  }
  const run = async (): Promise<void> => {
    if (waits === true) await clock.sleep(pauseMs(0))
    while (!stopped) {
      const startedMs = clock.monotonicMs()
      await work(goesOn).then(
        () => {
          told = undefined
        },
        (error: unknown) => tell(messageOf(error)),
      )
      await clock.sleep(pauseMs(clock.monotonicMs() - startedMs))
    }
  }
  void run()
  return () => {
    stopped = true
  }
}

/** Vendors take ids as labels of theirs, which have no capitals. */
const DIGITS = '0123456789abcdefghijklmnopqrstuv'

/** The letters of the id that is being made; the hyphen stays. Made at the first id: browsers load this file too, and know no Buffer. */
let letters: Buffer | undefined

/**
 * A new id, such as `019fb0d2-5b3b07ck9h0aqk3lm`: what a UUID of version 7 says (RFC 9562, section 5.7) in eleven letters less,
 * because the rows and indexes of a call write its id three or four times. Its time is as there, so ids of both forms grow
 * together and months are found by it; then its count within the millisecond, twelve bits, and 48 of chance, five a letter.
 */
export const newId = (): string => {
  letters ??= Buffer.from('00000000-0000000000000000')
  const uuid = Bun.randomUUIDv7('buffer')
  const high = uuid.readUInt32BE(0)
  const low = uuid.readUInt16BE(4)
  const chance = uuid.readUInt32BE(10)
  for (let at = 0; at < 8; at++) letters[at] = DIGITS.charCodeAt((high >>> (28 - 4 * at)) & 15)
  for (let at = 0; at < 4; at++) letters[9 + at] = DIGITS.charCodeAt((low >>> (12 - 4 * at)) & 15)
  const first = ((uuid.readUInt16BE(6) & 0xfff) << 18) | (chance >>> 14)
  const last = ((chance & 0x3fff) << 16) | uuid.readUInt16BE(14)
  for (let at = 0; at < 6; at++) {
    letters[13 + at] = DIGITS.charCodeAt((first >>> (25 - 5 * at)) & 31)
    letters[19 + at] = DIGITS.charCodeAt((last >>> (25 - 5 * at)) & 31)
  }
  return letters.toString('latin1')
}

/** The same behind the name of what it is of, such as `key_`; without its hyphen. */
export const newIdOf = (kind: string): string => `${kind}_${newId().replace('-', '')}`
