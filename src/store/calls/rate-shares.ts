/**
 * Shares of rates: what a process may use of each window without asking. A window begins as if all shares of its counter
 * were used, and a share that ends counts in the window that then runs, so no window gives more than its limit.
 */
import { type RateName, rateNames, rateWindows } from '../../tenancy/rates.ts'
import { AHEAD_MS } from '../engine/due.ts'
import { type Engine, type Run, type SqlDialect, statement } from '../engine/engine.ts'
import { countOf, textOf } from '../engine/row.ts'
import { isSilent } from '../ledger/silence.ts'

/** The window of a rate that runs now, by the database's clock. */
export const currentWindow = (now: string, rate: RateName): string =>
  `((${now} / ${rateWindows[rate].lengthMs}) * ${rateWindows[rate].lengthMs})`

/**
 * What a counter's row says of a window that begins at `current`: whether it counts for it, and where it then stands. A
 * window that begins soon is kept; a later one is cut back to now. A count made under a fast clock is kept when the clock is
 * corrected: the window errs on the safe side, and only once.
 */
export const standing = (now: string, current: string) => {
  const counted = `rate_window.window_start >= ${current}`
  return {
    counted,
    start: `case when ${counted} and rate_window.window_start <= ${now} + ${AHEAD_MS} then rate_window.window_start else ${current} end`,
    used: `case when ${counted} then rate_window.used else rate_window.kept end`,
  }
}

const rateOf = (counter: string): RateName => {
  const end = counter.slice(counter.lastIndexOf(' ') + 1)
  return rateNames.find((rate) => rate === end) ?? 'rpm'
}

/** A share that ends is counted in the window that runs, as every share is; the next one begins without it. */
const endText = (now: string, rate: RateName): string => {
  const { start, used } = standing(now, currentWindow(now, rate))
  return `update rate_window set window_start = ${start}, used = ${used}, kept = kept - cast($2 as bigint) where key_id = $1`
}

/** Ends shares by their names, those that still are. The counters are locked first and in one order, as takes lock them. */
export const endShares = async (run: Run, dialect: SqlDialect, names: readonly string[]): Promise<void> => {
  const { each, oneOf, lock, now } = dialect
  const named = JSON.stringify(names.map((s) => ({ s })))
  const listed = `select e.value->>'s' from ${each('$1')} e`
  const [, ended] = await Promise.all([
    run(
      `select w.key_id from rate_window w where ${oneOf('w.key_id', `select s.counter from rate_share s where ${oneOf('s.name', listed)}`)}
       order by w.key_id${lock('w')}`,
      [named],
    ),
    run(`delete from rate_share where ${oneOf('name', listed)} returning counter, share`, [named]),
  ])
  await Promise.all(
    ended.map((row) => {
      const counter = textOf(row, 'counter')
      return run(endText(now, rateOf(counter)), [counter, countOf(row, 'share')])
    }),
  )
}

/** How many shares one round ends. The next round continues. */
const ROUND = 500

/** Ends the shares of processes that are silent: they use none of them any more. */
export const endSilentShares = async (engine: Engine): Promise<void> => {
  const [rows = []] = await engine.batch('control', [
    statement(
      `select s.name from rate_share s where ${isSilent(engine.dialect.now, 's.instance')} order by s.name limit ${ROUND}`,
    ),
  ])
  if (rows.length === 0) return
  await engine.transaction('control', (run) =>
    endShares(
      run,
      engine.dialect,
      rows.map((row) => textOf(row, 'name')),
    ),
  )
}
