/**
 * Makes a part of the rest where the rest has many rows: of a ledger that had no parts, or when no server made months in time. No
 * row is rewritten, and what reads all rows keeps nobody from reading and writing. A rest with rows of a month that is to
 * be a part can only become this part itself:
 *
 *   1. From now on the rest takes only ids of the part; a trigger puts others into a spare table, so none is refused.
 *   2. Rows of other ids go there too. There are none but of clocks that were wrong, or of calls whose month is gone.
 *   3. PostgreSQL reads the rest and proves that it holds no other ids.
 *   4. With that proof the rest becomes the part in a moment, and what is in the spare table a new rest.
 *
 * Each step is a transaction, which finds in the database where it is: whoever comes next goes on.
 */
import { clockIn } from '../engine/clock.ts'
import type { Engine, Lane, Run } from '../engine/engine.ts'
import { type Closing, closingIn, closingSpan, constraintOf } from './closing.ts'
import { closingAt, missingIn } from './make-months.ts'
import { boundsOf, columnsOf, inSpan, nameOf, REST, SHORT_WAIT, type Span, TABLE } from './parts.ts'

const SPARE = 'usage_detail_spare'
const TRIGGER = 'usage_detail_beyond'
/** Rows that are moved at once. */
const BATCH = 1_000

const begin = (engine: Engine): Promise<void> =>
  engine.exclusive(async (run, script) => {
    await run(SHORT_WAIT)
    const [first] = await missingIn(engine, run)
    if (first === undefined || (await closingIn(run)) !== undefined) return
    const span = closingAt(await clockIn(run, engine.words), first)
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

/** Runs a step while the rest is on this way, and nobody can bring it to its end meanwhile; undefined where somebody has. */
const onTheWay = <T>(
  engine: Engine,
  { lane, mode, closing }: { lane: Lane; mode: string; closing: Closing },
  step: (run: Run) => Promise<T>,
): Promise<T | undefined> =>
  engine.transaction(lane, async (run) => {
    await run(`lock table ${REST} in ${mode} mode`)
    const found = await closingIn(run)
    return found?.constraint === closing.constraint && !found.proved ? step(run) : undefined
  })

/** Moves rows of other ids to the spare table, step by step; each part of the condition is found by the key. */
const moveOthers = async (engine: Engine, closing: Closing, { from, to }: Span): Promise<void> => {
  const others = [`d.call_id >= '${to}'`, ...(from === undefined ? [] : [`d.call_id < '${from}'`])]
  const on = { lane: 'control', mode: 'row exclusive', closing } as const
  const move = (where: string) =>
    onTheWay(engine, on, async (run) => {
      const columns = await columnsOf(run, SPARE)
      const text = `with gone as (delete from ${REST} where call_id in
           (select d.call_id from ${REST} d where ${where} order by d.call_id limit ${BATCH}) returning *)
         insert into ${SPARE} (${columns}) select ${columns} from gone returning call_id`
      return (await run(text)).length
    })
  for (const where of others) while ((await move(where)) === BATCH);
}

/** Has PostgreSQL read the rest. It may take minutes, as a long report does, and keeps nobody from reading and writing. */
const prove = (engine: Engine, closing: Closing): Promise<unknown> =>
  onTheWay(engine, { lane: 'reading', mode: 'share update exclusive', closing }, (run) =>
    run(`alter table ${REST} validate constraint ${closing.constraint}`),
  )

const finish = (engine: Engine): Promise<void> =>
  engine.exclusive(async (run, script) => {
    await run(SHORT_WAIT)
    const closing = await closingIn(run)
    if (closing?.proved !== true) return
    const span = await closingSpan(run, closing)
    const name = nameOf(closing.end)
    const columns = await columnsOf(run, SPARE)
    // The new rest has the columns of now, should some have come since the spare table was made.
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

/** Makes the first missing part of the rest. Throws `Busy` where somebody uses the table for long; the next one goes on then. */
export const closeRest = async (engine: Engine): Promise<void> => {
  await begin(engine)
  const look = <T>(work: (run: Run) => Promise<T>) => engine.transaction('control', work)
  const closing = await look(closingIn)
  if (closing === undefined) return
  if (!closing.proved) {
    await moveOthers(engine, closing, await look((run) => closingSpan(run, closing)))
    await prove(engine, closing)
  }
  await finish(engine)
}
