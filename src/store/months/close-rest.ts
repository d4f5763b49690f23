/**
 * Turns the rest into a part if the rest has many rows: in a ledger that had no parts, or when no server made months in
 * time. No row is rewritten, and the step that reads all rows blocks neither readers nor writers. A rest with rows of a
 * month that is to be a part can only become this part itself:
 *
 *   1. From now on the rest only takes ids of the part; a trigger puts others into a spare table, so none is refused.
 *   2. Existing rows with other ids move there too. Only wrong clocks, or calls whose month is gone, produce them.
 *   3. PostgreSQL reads the rest and proves that it has no other ids.
 *   4. With that proof the rest becomes the part in a moment, and the spare table becomes a new rest.
 *
 * Each step is a transaction that finds the present state in the database, so any process can continue.
 */
import { clockIn } from '../engine/clock.ts'
import type { Engine, Lane, Run } from '../engine/engine.ts'
import { type Closing, closingIn, closingSpan, constraintOf } from './closing.ts'
import { closingAt, missingIn } from './make-months.ts'
import { boundsOf, columnsOf, inSpan, nameOf, REST, SHORT_WAIT, type Span, TABLE } from './parts.ts'

const SPARE = 'usage_detail_spare'
const TRIGGER = 'usage_detail_beyond'
/** How many rows are moved at once. */
const BATCH = 1_000

/** Step 1, if a part is missing and nobody has begun. */
const begin = (engine: Engine): Promise<void> =>
  engine.exclusive(async (run, script) => {
    await run(SHORT_WAIT)
    const [first] = await missingIn(engine, run)
    if (first === undefined || (await closingIn(run)) !== undefined) return
    const span = closingAt(await clockIn(run, engine.dialect), first)
    const columns = await columnsOf(run, TABLE)
    await script(`create table ${SPARE} (like ${TABLE} including all);
      create function ${TRIGGER}() returns trigger language plpgsql as $$ begin
        insert into ${SPARE} (${columns}) values (${columns.map((name) => `new.${name}`)}) on conflict do nothing;
        return null;
      end $$;
      create trigger ${TRIGGER} before insert on ${REST} for each row
        when (not (${inSpan('new.call_id', span)})) execute function ${TRIGGER}();
      alter table ${REST} add constraint ${constraintOf(span.end)} check (${inSpan('call_id', span)}) not valid`)
  })

/**
 * Runs a piece of step 2 or 3, and prevents others from going on to step 4 meanwhile; undefined if somebody has done so
 * before.
 */
const beforeTheProof = <T>(
  engine: Engine,
  { lane, mode, closing }: { lane: Lane; mode: string; closing: Closing },
  step: (run: Run) => Promise<T>,
): Promise<T | undefined> =>
  engine.transaction(lane, async (run) => {
    await run(`lock table ${REST} in ${mode} mode`)
    const found = await closingIn(run)
    return found?.constraint === closing.constraint && !found.proved ? step(run) : undefined
  })

/** Step 2: moves rows with other ids to the spare table, step by step; the key finds each part of the condition. */
const moveOthers = async (engine: Engine, closing: Closing, { from, to }: Span): Promise<void> => {
  const others = [`d.call_id >= '${to}'`, ...(from === undefined ? [] : [`d.call_id < '${from}'`])]
  const on = { lane: 'control', mode: 'row exclusive', closing } as const
  const move = (where: string) =>
    beforeTheProof(engine, on, async (run) => {
      const columns = await columnsOf(run, SPARE)
      const text = `with gone as (delete from ${REST} where call_id in
           (select d.call_id from ${REST} d where ${where} order by d.call_id limit ${BATCH}) returning *)
         insert into ${SPARE} (${columns}) select ${columns} from gone returning call_id`
      return (await run(text)).length
    })
  for (const where of others) while ((await move(where)) === BATCH);
}

/** Step 3: lets PostgreSQL read the rest. It may take minutes, like a long report, and blocks neither readers nor writers. */
const prove = (engine: Engine, closing: Closing): Promise<unknown> =>
  beforeTheProof(engine, { lane: 'reading', mode: 'share update exclusive', closing }, (run) =>
    run(`alter table ${REST} validate constraint ${closing.constraint}`),
  )

/** Step 4, if nobody has finished. */
const finish = (engine: Engine): Promise<void> =>
  engine.exclusive(async (run, script) => {
    await run(SHORT_WAIT)
    const closing = await closingIn(run)
    if (closing?.proved !== true) return
    const span = await closingSpan(run, closing)
    const name = nameOf(closing.end)
    const columns = await columnsOf(run, SPARE)
    // The new rest gets today's columns, in case some were added since the spare table was made.
    await script(`alter table ${TABLE} detach partition ${REST};
      drop trigger ${TRIGGER} on ${REST};
      alter table ${REST} rename to ${name};
      alter table ${TABLE} attach partition ${name} ${boundsOf(span)};
      alter table ${name} drop constraint ${closing.constraint};
      create table ${REST} (like ${TABLE} including all);
      insert into ${REST} (${columns}) select ${columns} from ${SPARE};
      alter table ${TABLE} attach partition ${REST} default;
      drop table ${SPARE};
      drop function ${TRIGGER}()`)
  })

/**
 * Turns the rest into the first missing part. Throws `Busy` if somebody uses the table for long; the next call
 * continues then.
 */
export const closeRest = async (engine: Engine): Promise<void> => {
  await begin(engine)
  const look = <T>(work: (run: Run) => Promise<T>) => engine.transaction('control', work)
  const closing = await look(closingIn)
  // No part is missing.
  if (closing === undefined) return
  if (!closing.proved) {
    await moveOthers(engine, closing, await look((run) => closingSpan(run, closing)))
    await prove(engine, closing)
  }
  await finish(engine)
}
