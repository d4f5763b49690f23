/** Makes the parts of the months to come, long before a call needs one. Until then, and for odd clocks, there is the rest. */
import { DAY_MS, type Instant, monthsBefore, nextMonthStart } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'
import { clockIn } from '../engine/clock.ts'
import type { Engine, Run } from '../engine/engine.ts'
import { leastId, timeOf } from './call-ids.ts'
import { closingIn } from './closing.ts'
import {
  boundsOf,
  hasParts,
  inSpan,
  nameOf,
  type Parts,
  partsIn,
  REST,
  SHORT_WAIT,
  type Span,
  spanTo,
  TABLE,
} from './parts.ts'

/** Whole months that there are parts for beside this one. */
const AHEAD = 2
/** After a longer time without a server one part is enough for what is over. */
const APART = 24
/** The rest is read while it cannot be used: milliseconds for so many rows. */
const SMALL_REST = 5_000
/** So long before its end a month is too short to begin a part with rows of the rest: making it may take a while. */
const CLOSING_MS = 2 * DAY_MS

type Missing = Span & { readonly end: Instant }

/** What is missing behind the last part, in order. */
export const missingAt = (now: Instant, { months }: Parts): readonly Missing[] => {
  const last = months.at(-1)?.to
  const end = monthsBefore(now, -AHEAD - 1)
  const missing: Missing[] = []
  let from: CallId | undefined = last
  let next = nextMonthStart(last === undefined ? now : Math.max(timeOf(last), monthsBefore(now, APART)))
  for (; next <= end; next = nextMonthStart(next)) {
    missing.push({ ...spanTo(from, next), end: next })
    from = leastId(next)
  }
  return missing
}

/** The span of the part that the rest itself becomes: not one that ends too soon. */
export const closingAt = (now: Instant, first: Missing): Missing => {
  const end = Math.max(first.end, nextMonthStart(now + CLOSING_MS))
  return { ...spanTo(first.from, end), end }
}

/** Whether a part can be made beside the rest: none of the rest's rows belongs there, and there are few to be read for that. */
const fitsBesideRest = async (run: Run, span: Span): Promise<boolean> => {
  const [own] = await run(`select 1 as one from ${REST} d where ${inSpan('d.call_id', span)} limit 1`)
  if (own !== undefined) return false
  const many = await run(`select 1 as one from ${REST} d offset ${SMALL_REST} limit 1`)
  return many.length === 0
}

/** What is missing now, as a transaction sees it. */
export const missingIn = async (engine: Engine, run: Run): Promise<readonly Missing[]> =>
  missingAt(await clockIn(run, engine.words), await partsIn(run))

/**
 * Makes what is missing, as far as the rest has none of its rows; tells whether all is there. Several processes may do it at
 * once. Throws `Busy` where somebody uses the rest for long.
 */
export const makeMonths = async (engine: Engine): Promise<boolean> => {
  if (!hasParts(engine)) return true
  // Most of the time nothing is, and nobody is kept waiting to find that.
  const missing = await engine.transaction('control', (run) => missingIn(engine, run))
  if (missing.length === 0) return true
  return engine.exclusive(async (run, script) => {
    await run(SHORT_WAIT)
    // Nothing comes into the rest between the look and the change.
    await run(`lock table ${REST} in access exclusive mode`)
    if ((await closingIn(run)) !== undefined) return false
    for (const span of await missingIn(engine, run)) {
      if (!(await fitsBesideRest(run, span))) return false
      const name = nameOf(span.end)
      await script(`create table ${name} (like ${TABLE} including all);
        alter table ${TABLE} attach partition ${name} ${boundsOf(span)}`)
    }
    return true
  })
}
