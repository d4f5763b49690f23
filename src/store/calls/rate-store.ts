/** Requests and tokens in the fixed windows of the database's clock: one row per counter, one statement per take. */
import type { Instant } from '../../core/time.ts'
import type { KeyId } from '../../tenancy/key.ts'
import { type RateName, rateWindows } from '../../tenancy/rates.ts'
import { batched } from '../engine/batched.ts'
import { type Engine, type Row, type SqlDialect, type Statement, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import type { RateAsk, RateStore, RateTaken } from './rate-port.ts'
import { currentWindow, endShares, standing } from './rate-shares.ts'

/** The counter of a key's rate; see the table `rate_window`. */
const counterOf = (keyId: KeyId, rate: RateName): string => (rate === 'rpm' ? keyId : `${keyId} ${rate}`)

/** Of a limit at most this part is in shares: the rest is for whoever asks. */
const SHARED_PART = 2

/** Takes `$2` of the limit `$3`, and a share of `$4` if all was there and the shares leave room for it. */
const takeText = (now: string, rate: RateName): string => {
  const current = currentWindow(now, rate)
  const { start, used } = standing(now, 'excluded.window_start')
  const typed = (text: string) => text.replaceAll(/\$([234])/g, 'cast($$$1 as bigint)')
  const taken = (before: string) =>
    typed(`case when $3 - ${before} <= 0 then 0 when $2 < $3 - ${before} then $2 else $3 - ${before} end`)
  const given = (before: string, kept: string) =>
    typed(`case when $3 - ${before} >= $2 and ${kept} + $4 <= $3 / ${SHARED_PART} then $4 else 0 end`)
  const before = `(${used})`
  return `insert into rate_window (key_id, window_start, used, taken, kept, given)
    values ($1, ${current}, ${taken('0')}, ${taken('0')}, ${given('0', '0')}, ${given('0', '0')})
    on conflict (key_id) do update set
      window_start = ${start},
      taken = ${taken(before)},
      used = ${before} + ${taken(before)},
      kept = rate_window.kept + ${given(before, 'rate_window.kept')},
      given = ${given(before, 'rate_window.kept')}
    returning used, taken, kept, given, window_start, ${now} as now`
}

/** The shares that the takes of a batch were given, under their names. */
const nameShares = ({ each, joinEach }: SqlDialect): string =>
  `insert into rate_share (name, counter, instance, share) select e.value->>'n', w.key_id, e.value->>'i', w.given
   from ${each('$1')} e ${joinEach('rate_window', 'w', `w.key_id = e.value->>'c' and w.given > 0`)}`

const RECALL = 'update rate_share set recall = 1 where counter = $1 and instance <> $2 and recall = 0'

/** Counters of windows that are over wherever the clocks stand, even the longest, and of which no process has a share. */
export const expiredWindows = (now: string): Expired => ({
  table: 'rate_window',
  key: 'key_id',
  where: `x.window_start < ${now} - ${2 * rateWindows.rpd.lengthMs} and x.kept = 0`,
})

type Take = { readonly keyId: KeyId; readonly asks: readonly RateAsk[] }
/** One counter of a take: `at` is the place of the take in its batch, `place` its own in the take. */
type Counted = {
  readonly at: number
  readonly place: number
  readonly counter: string
  readonly ask: RateAsk
}
type Unused = { readonly counter: string; readonly windowStart: Instant; readonly count: number }
/** What goes back: requests or tokens of a window, and the share that they were of if it ends. */
type Return = { readonly counter: string; readonly unused?: Unused | undefined; readonly share?: string }

const takenOf = (row: Row): RateTaken => ({
  taken: countOf(row, 'taken'),
  kept: countOf(row, 'kept'),
  share: countOf(row, 'given'),
  used: countOf(row, 'used'),
  windowStart: countOf(row, 'window_start'),
  now: countOf(row, 'now'),
})

const takingOn = (engine: Engine, lane: 'control' | 'relaxed') => {
  const { now } = engine.dialect
  const text: { readonly [Name in RateName]: string } = {
    rpm: takeText(now, 'rpm'),
    rph: takeText(now, 'rph'),
    rpd: takeText(now, 'rpd'),
    tpm: takeText(now, 'tpm'),
  }
  /** All processes lock counters in one order. */
  const countedOf = (takes: readonly Take[]): readonly Counted[] =>
    takes
      .flatMap(({ keyId, asks }, at) =>
        asks.map((ask, place): Counted => ({ at, place, ask, counter: counterOf(keyId, ask.rate) })),
      )
      .sort((a, b) => (a.counter < b.counter ? -1 : 1))
  const named = nameShares(engine.dialect)
  const statementsOf = (takes: readonly Take[]): readonly Statement[] => {
    const counted = countedOf(takes)
    const shares = counted.flatMap(({ counter, ask: { share } }) =>
      share !== undefined && share.size > 0 ? [{ n: share.name, c: counter, i: share.instance }] : [],
    )
    return [
      ...counted.map(({ counter, ask: { rate, count, limit, share } }) =>
        statement(text[rate], counter, count, limit, share?.size ?? 0),
      ),
      ...(shares.length > 0 ? [statement(named, JSON.stringify(shares))] : []),
    ]
  }
  return batched<Take, readonly RateTaken[]>(engine, {
    lane,
    statements: statementsOf,
    read: (rows, takes) => {
      const answers = takes.map((): RateTaken[] => [])
      for (const [at, counted] of countedOf(takes).entries()) {
        const answer = answers[counted.at]
        if (answer !== undefined) answer[counted.place] = takenOf(onlyRow(rows[at] ?? []))
      }
      return answers
    },
    group: () => '',
    name: ({ keyId }) => keyId,
  })
}

/** Asks the processes that have shares of a counter to end them, because another has found too little. */
const recallFor = async (
  engine: Engine,
  { keyId, asks }: Take,
  taken: readonly RateTaken[],
): Promise<void> => {
  const recalls = asks.flatMap(({ rate, count, share }, at) => {
    const got = taken[at]
    return got !== undefined && share !== undefined && got.taken < count && got.kept > 0
      ? [statement(RECALL, counterOf(keyId, rate), share.instance)]
      : []
  })
  if (recalls.length > 0) await engine.batch('relaxed', recalls)
}

const GIVE_BACK = `update rate_window set used = case when used < cast($3 as bigint) then 0 else used - cast($3 as bigint) end
  where key_id = $1 and window_start = $2`

const returningOn = (engine: Engine) =>
  batched<Return, true>(engine, {
    lane: 'relaxed',
    work: async (run, backs) => {
      const ended = backs.flatMap(({ share }) => share ?? [])
      if (ended.length > 0) await endShares(run, engine.dialect, ended)
      const unused = backs.flatMap((back) => back.unused ?? [])
      const inOrder = unused.toSorted((a, b) => (a.counter < b.counter ? -1 : 1))
      await Promise.all(
        inOrder.map(({ counter, windowStart, count }) => run(GIVE_BACK, [counter, windowStart, count])),
      )
      return backs.map(() => true)
    },
    // Counters are locked in one order, so those that lose shares do not wait for each other's other counters.
    group: ({ share }) => (share === undefined ? '' : 'shares'),
    name: ({ counter }) => counter,
  })

export const rateStore = (engine: Engine): RateStore => {
  const take = takingOn(engine, 'relaxed')
  // What a process uses without asking must not be forgotten.
  const takeShares = takingOn(engine, 'control')
  const giveBack = returningOn(engine)
  return {
    takeRates: async (keyId, asks) => {
      const shares = asks.some(({ share }) => share !== undefined && share.size > 0)
      const taken = await (shares ? takeShares : take)({ keyId, asks })
      await recallFor(engine, { keyId, asks }, taken)
      return taken
    },
    returnRate: async (keyId, { rate, windowStart, count, share }) => {
      const counter = counterOf(keyId, rate)
      const unused = count > 0 ? { counter, windowStart, count } : undefined
      await giveBack({ counter, unused, ...(share === undefined ? {} : { share }) })
    },
  }
}
