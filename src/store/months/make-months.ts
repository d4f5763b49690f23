/** Makes the parts of future months long before a call needs one. Until then, and for odd clocks, there is the rest. */
import { DAY_MS, type Instant, monthsBefore, nextMonthStart } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'
import { clockIn } from '../engine/clock.ts'
import type { Engine, Run, Script } from '../engine/engine.ts'
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

/** How many whole months beyond the present one have parts. */
const AHEAD = 2
/** After a longer time without a server, one part covers the past months. */
const APART = 24
/** While the rest is being read it cannot be used; with this many rows that takes milliseconds. */
const SMALL_REST = 5_000
/** This close to its end a month is too short to begin a part with rows of the rest, because that may take a while. */
const CLOSING_MS = 2 * DAY_MS

type Missing = Span & { readonly end: Instant }

/** What is missing after the last part, in order; without parts, from the month on that holds `since`. */
export const missingAt = (now: Instant, { months }: Parts, since = now): readonly Missing[] => {
  const last = months.at(-1)?.to
  const end = monthsBefore(now, -AHEAD - 1)
  const missing: Missing[] = []
  let from: CallId | undefined = last
  let next = nextMonthStart(Math.max(last === undefined ? since : timeOf(last), monthsBefore(now, APART)))
  for (; next <= end; next = nextMonthStart(next)) {
    missing.push({ ...spanTo(from, next), end: next })
    from = leastId(next)
  }
  return missing
}

/** The span of the part that the rest itself becomes; it must not end too soon. */
export const closingAt = (now: Instant, first: Missing): Missing => {
  const end = Math.max(first.end, nextMonthStart(now + CLOSING_MS))
  return { ...spanTo(first.from, end), end }
}

/**
 * Whether a part can be made beside the rest: none of the rest's rows belongs there, and there are few rows to check.
 */
const fitsBesideRest = async (run: Run, span: Span): Promise<boolean> => {
  const [own] = await run(`select 1 as one from ${REST} d where ${inSpan('d.call_id', span)} limit 1`)
  if (own !== undefined) return false
  const many = await run(`select 1 as one from ${REST} d offset ${SMALL_REST} limit 1`)
  return many.length === 0
}

/** What is missing now, as a transaction sees it. */
export const missingIn = async (engine: Engine, run: Run): Promise<readonly Missing[]> =>
  missingAt(await clockIn(run, engine.dialect), await partsIn(run))

/**
 * Makes what is missing, if the rest has no rows for it; returns whether everything exists. Several processes may do it
 * at once. Throws `Busy` if somebody uses the rest for long.
 */
export const makeMonths = async (engine: Engine): Promise<boolean> => {
  if (!hasParts(engine)) return true
  // Usually nothing is missing, and finding that out keeps nobody waiting.
  const missing = await engine.transaction('control', (run) => missingIn(engine, run))
  if (missing.length === 0) return true
  return engine.exclusive(async (run, script) => {
    await run(SHORT_WAIT)
    // Nothing is added to the rest between the check and the change.
    await run(`lock table ${REST} in access exclusive mode`)
    if ((await closingIn(run)) !== undefined) return false
    for (const span of await missingIn(engine, run)) {
      if (!(await fitsBesideRest(run, span))) return false
      await makePart(script, span)
    }
    return true
  })
}

const makePart = async (script: Script, span: Missing): Promise<void> => {
  const name = nameOf(span.end)
  await script(`create table ${name} (like ${TABLE} including all);
    alter table ${TABLE} attach partition ${name} ${boundsOf(span)}`)
}

/** Makes the parts for details that are about to come, the first of them of that call, while there are none yet. */
export const makeMonthsFor = async (
  run: Run,
  script: Script,
  now: Instant,
  first: CallId | undefined,
): Promise<void> => {
  const began = first === undefined ? now : timeOf(first)
  const since = began < now ? began : now
  for (const span of missingAt(now, await partsIn(run), since)) await makePart(script, span)
}
