/** Rows of batches and their lines: who runs them, how they stand, and who may see them. Their money is in batch-money.ts. */
import { isDue } from '../engine/due.ts'
import { type Engine, once, type Run, type Statement, statement, Violation } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, maybeText, textOf, truthOf } from '../engine/row.ts'
import { recordOfWallet } from '../people/event-store.ts'
import { beginBatch, releaseBatch, takeLines } from './batch-money.ts'
import type { BatchStore, LineResult, NewBatch, NewLine } from './batch-port.ts'
import { batchOf, batchRows, leavesNow, lockBatch, NOBODY } from './batch-row.ts'
import { endAndTake, endLines } from './end-lines.ts'
import { partStore } from './part-store.ts'

/** Pauses between tries of a webhook, by their number, as for jobs. */
const AGAIN_MS = [60_000, 300_000, 1_500_000, 7_500_000, 28_800_000]
const putOff = `case webhook_tries ${AGAIN_MS.map((ms, tries) => `when ${tries} then ${ms}`).join(' ')} end`

export const expiredBatchLines = (now: string): Expired => ({
  table: 'batch_line',
  key: 'batch_id, n',
  where: `x.batch_id in (select b.id from batch b where b.keep_until < ${now})`,
})
export const expiredBatches = (now: string): Expired => ({
  table: 'batch',
  key: 'id',
  where: `x.keep_until < ${now} and not exists (select 1 from batch_line l where l.batch_id = x.id)`,
})

/** Whether key `$2` owns the batch or is above the key that does. */
const owns = 'exists (select 1 from key_line n where n.owner_id = $2 and n.key_id = b.key_id)'

const insertBatch = ({ dialect: { now } }: Engine, { owner, ownerMs, lifeMs, ...it }: NewBatch): Statement =>
  batchRows.insert('batch', it, {
    state: `'validating'`,
    owner: (bind) => bind(owner),
    owner_until: (bind) => `${now} + cast(${bind(ownerMs)} as bigint)`,
    created_at: now,
    expires_at: (bind) => `${now} + cast(${bind(lifeMs)} as bigint)`,
  })

/** Adds lines, and counts them. */
const insertLines = (
  { dialect: { each } }: Engine,
  { id, owner }: Pick<NewBatch, 'id' | 'owner'>,
  lines: readonly NewLine[],
): readonly Statement[] => {
  const rows = lines.map(({ n, customId, at, bytes, bound, route }) => ({
    ...{ n, c: customId, a: at, b: bytes },
    ...{ m: `${bound}`, r: route },
  }))
  const number = (member: string) => `cast(e.value->>'${member}' as bigint)`
  const isThere = `exists (select 1 from batch b where b.id = $2 and b.owner = $3 and b.state = 'validating')`
  // The batch first: who gives it up waits for that.
  return [
    statement(
      `update batch set total = total + cast($2 as bigint), waiting = waiting + cast($2 as bigint), rest = rest + cast($3 as bigint)
       where id = $1 and owner = $4 and state = 'validating' returning id`,
      id,
      lines.length,
      lines.reduce((sum, { bound }) => sum + bound, 0n),
      owner,
    ),
    statement(
      `insert into batch_line (batch_id, n, custom_id, at, bytes, bound, route, state)
       select $2, ${number('n')}, e.value->>'c', ${number('a')}, ${number('b')}, ${number('m')}, e.value->>'r', 'waiting' from ${each('$1')} e
       where ${isThere}`,
      JSON.stringify(rows),
      id,
      owner,
    ),
  ]
}

/** Lines that wait are never sent. */
const stopWithin = async (engine: Engine, run: Run, id: string, why: string): Promise<void> => {
  const batch = await lockBatch(engine, run, id)
  if (batch?.state !== 'in_progress') return
  const stopped = `update batch_line set state = 'stopped', result = $2 where batch_id = $1 and state = 'waiting'`
  await run(stopped, [id, why])
  await run(
    `update batch set stop = coalesce(stop, $2), stopped = stopped + waiting, waiting = 0, rest = 0 where id = $1`,
    [id, why],
  )
}

/** How a batch is opened, run and ended. */
const running = (
  engine: Engine,
): Omit<
  BatchStore,
  | 'batchFor'
  | 'list'
  | 'cancel'
  | 'remove'
  | 'takeWebhooks'
  | 'webhookSent'
  | 'results'
  | keyof ReturnType<typeof partStore>
> => {
  const { now } = engine.dialect
  return {
    open: async (it, openMax) => {
      // A repeat finds its own batch, however many are open.
      const many = `select cast(count(*) as bigint) as open from batch b where b.key_id = $1 and b.state <> 'ended'
        and not exists (select 1 from batch o where o.id = $2)`
      const [row] = await once(engine, 'control', many, it.keyId, it.id)
      if (row !== undefined && countOf(row, 'open') >= openMax) return 'too_many'
      try {
        await once(engine, 'control', insertBatch(engine, it))
        return 'opened'
      } catch (error) {
        if (error instanceof Violation) return 'exists'
        throw error
      }
    },
    addLines: async (id, owner, lines) => {
      const [changed] = await engine.batch('control', insertLines(engine, { id, owner }, lines))
      return (changed ?? []).length > 0
    },
    begin: (id, owner) => beginBatch(engine, id, owner),
    drop: async (id, owner) => {
      await once(
        engine,
        'control',
        `delete from batch where id = $1 and owner = $2 and state = 'validating'`,
        id,
        owner,
      )
    },
    tend: async (owner, ownerMs) => {
      // It waits for rows that are locked: a batch that is left out would count as another process's.
      const change = `update batch set owner = $1, owner_until = ${now} + cast($2 as bigint)
        where state <> 'ended' and (owner = $1 or (owner_until < ${now} and ${leavesNow('batch')} = 0))
        returning *, ${now} as now, ${leavesNow('batch')} as leaves`
      const rows = await once(engine, 'control', change, owner, ownerMs)
      for (const row of rows) {
        const isOver =
          row.state === 'in_progress' &&
          row.stop === null &&
          countOf(row, 'expires_at') <= countOf(row, 'now')
        if (isOver)
          await engine.transaction('control', (run) => stopWithin(engine, run, textOf(row, 'id'), 'expired'))
      }
      return rows.map((row) => ({
        ...batchOf(row),
        now: countOf(row, 'now'),
        leaves: truthOf(row, 'leaves'),
      }))
    },
    letGo: async (id, owner) => {
      const free = `update batch set owner = '${NOBODY}', owner_until = 0 where id = $1 and owner = $2 and state <> 'ended'`
      await once(engine, 'control', free, id, owner)
    },
    leave: async (owner) => {
      await once(
        engine,
        'control',
        `update batch set owner_until = 0 where owner = $1 and state <> 'ended'`,
        owner,
      )
    },
    take: (id, it) => takeLines(engine, id, it),
    sentLines: async (id) => {
      const sent = `select n, call_id, tries from batch_line where batch_id = $1 and state = 'sent' and part is null order by n`
      const rows = await once(engine, 'control', sent, id)
      return rows.map((row) => ({
        n: countOf(row, 'n'),
        callId: textOf(row, 'call_id'),
        tries: countOf(row, 'tries'),
      }))
    },
    end: (id, ends) => endLines(engine, id, ends),
    endAndTake: (id, ends, next) => endAndTake(engine, id, ends, next),
    stop: (id, why) => engine.transaction('control', (run) => stopWithin(engine, run, id, why)),
    release: (id, owner) => releaseBatch(engine, id, owner),
    finish: async (id, { output, errors, keptMs }) => {
      const ended = `update batch set state = 'ended', output = $2, errors = $3, ended_at = ${now},
          keep_until = ${now} + cast($4 as bigint), webhook_at = case when webhook is null then null else ${now} end
        where id = $1 and state = 'finalizing'`
      await once(engine, 'control', ended, id, output ?? null, errors ?? null, keptMs)
    },
    forget: async (id, after, most) => {
      const next = `select l.n from batch_line l where l.batch_id = $1 and l.n > $2 order by l.n limit $3`
      const change = `update batch_line set result = null, receipt = null where batch_id = $1 and n in (${next}) returning n`
      const rows = await once(engine, 'relaxed', change, id, after, most)
      return rows.length < most ? undefined : Math.max(...rows.map((row) => countOf(row, 'n')))
    },
  }
}

export const batchStore = (engine: Engine): BatchStore => {
  const { now, lockFree, oneOf } = engine.dialect
  const change = (text: string, ...params: Statement['params'][number][]) =>
    once(engine, 'control', text, ...params)
  return {
    ...running(engine),
    ...partStore(engine),
    results: async (id, after, most) => {
      // A few rows by their places: to have them from another thread would cost more than to read them.
      const rows = await once(
        engine,
        'control',
        `select n, custom_id, state, call_id, result, receipt from batch_line where batch_id = $1 and n > $2 order by n limit $3`,
        ...[id, after, most],
      )
      return rows.map((row): LineResult => {
        const state = textOf(row, 'state')
        if (state !== 'succeeded' && state !== 'errored' && state !== 'stopped')
          throw new Error('a line of a batch that has ended is open')
        const [callId, result, receipt] = ['call_id', 'result', 'receipt'].map((name) => maybeText(row, name))
        return {
          n: countOf(row, 'n'),
          customId: textOf(row, 'custom_id'),
          state,
          ...(callId === undefined ? {} : { callId }),
          ...(result === undefined ? {} : { result }),
          ...(receipt === undefined ? {} : { receipt }),
        }
      })
    },
    batchFor: async (id, keyId) => {
      const [row] = await change(
        `select b.* from batch b where b.id = $1 and b.state <> 'validating' and ${owns}`,
        id,
        keyId,
      )
      return row === undefined ? undefined : batchOf(row)
    },
    list: async (keyId, { form, after = '', most }) => {
      const rows = await change(
        `select b.* from batch b where b.key_id in (select n.key_id from key_line n where n.owner_id = $1)
           and b.state <> 'validating' and ($2 = '' or b.form = $2)
           and ($3 = '' or (b.created_at, b.id) < (select a.created_at, a.id from batch a where a.id = $3))
         order by b.created_at desc, b.id desc limit $4`,
        ...[keyId, form ?? '', after, most],
      )
      return rows.map(batchOf)
    },
    cancel: (id, by) =>
      engine.transaction('control', async (run) => {
        const batch = await lockBatch(engine, run, id)
        if (batch?.state !== 'in_progress' || batch.cancelAt !== undefined) return false
        await run(`update batch set cancel_at = ${now} where id = $1`, [id])
        await stopWithin(engine, run, id, 'cancelled')
        const { waiting, walletId } = batch
        const event = { what: 'batch.cancelled', walletId, after: { lines_stopped: waiting } }
        await recordOfWallet(run, engine.dialect, { ...event, by: by.actor, subject: by.subject })
        return true
      }),
    remove: async (id) =>
      (await change(`delete from batch where id = $1 and state = 'ended' returning id`, id)).length > 0,
    takeWebhooks: async (most) => {
      const due = `select w.id from batch w where w.webhook_at is not null and ${isDue(now, 'w.webhook_at', AGAIN_MS.at(-1) ?? 0)}
        order by w.webhook_at limit $1${lockFree('w')}`
      const rows = await change(
        `update batch set webhook_at = ${now} + ${putOff}, webhook_tries = webhook_tries + 1 where ${oneOf('id', due)} returning *`,
        most,
      )
      return rows.map(batchOf)
    },
    webhookSent: async (id) => {
      await change('update batch set webhook_at = null where id = $1', id)
    },
  }
}
