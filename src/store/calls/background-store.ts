/** Responses that are made in the background: rows of kept responses that are open until they end. */
import { jobInstance } from '../../ledger/types.ts'
import { type Engine, once, runOne, type Statement, statement } from '../engine/engine.ts'
import { countOf, textOf, truthOf } from '../engine/row.ts'
import { isSilent } from '../ledger/silence.ts'
import type { BackgroundEnd, BackgroundStore, NewEvents } from './background-port.ts'
import { addSize, addToSize, insertItems, sizeOf } from './response-rows.ts'

/** Chunks of events that one look reads at most. */
const CHUNKS_MOST = 200

const sizeOfEvents = (events: readonly string[]): number =>
  events.reduce((sum, event) => sum + Buffer.byteLength(event), 0)

/**
 * Writes events in one row, with what they add to the sizes of their response and key; none if the response is gone, or
 * `where` is not so. Events that were written from the same place on, by a write whose answer was lost, are among them.
 */
const insertEvents = (
  { keyId, id, place, events }: NewEvents,
  where: 'true' | "r.state = 'open'" = 'true',
): readonly Statement[] => {
  if (events.length === 0) return []
  const row = [keyId, id, place, events.length]
  const sized = [...row, sizeOfEvents(events)]
  const response = `r.key_id = $1 and r.id = $2 and ${where}`
  const before =
    'from kept_event e where e.key_id = $1 and e.response_id = $2 and e.place = cast($3 as bigint)'
  const isNew = `not exists (select 1 ${before} and e.count >= cast($4 as bigint))`
  const added = `cast($5 as bigint) - coalesce((select octet_length(e.body) - e.count + 1 ${before}), 0)`
  return [
    statement(
      `update kept_response as r set bytes = r.bytes + ${added} where ${response} and ${isNew}`,
      ...sized,
    ),
    statement(
      `insert into kept_size (key_id, bytes)
       select r.key_id, ${added} from kept_response r where ${response} and ${isNew}
       on conflict (key_id) do update set bytes = kept_size.bytes + excluded.bytes`,
      ...sized,
    ),
    statement(
      `insert into kept_event (key_id, response_id, place, count, body)
       select r.key_id, r.id, cast($3 as bigint), cast($4 as bigint), cast($5 as text) from kept_response r
       where ${response} on conflict (key_id, response_id, place)
       do update set count = excluded.count, body = excluded.body where excluded.count > kept_event.count`,
      ...row,
      events.join('\n'),
    ),
  ]
}

/** Ends it unless it has ended, or is gone. */
const endBackground = (engine: Engine, it: BackgroundEnd, lifeMs: number): Promise<void> =>
  engine.transaction('control', async (run) => {
    const { keyId, id, body, output, continues } = it
    const bytes = sizeOf({ input: '', body, output })
    const [row] = await run(
      `update kept_response set body = $3, bytes = bytes + cast($4 as bigint), state = $5, owner = null,
         expires_at = ${engine.dialect.now} + cast($6 as bigint)
       where key_id = $1 and id = $2 and state = 'open' returning id`,
      [keyId, id, body, bytes, continues ? null : 'ended', lifeMs],
    )
    if (row === undefined) return
    for (const each of [...insertItems(it), ...insertEvents(it)]) await runOne(run, each)
    await addToSize(run, keyId, bytes)
  })

export const backgroundStore = (engine: Engine): BackgroundStore => {
  const { now } = engine.dialect
  const claim = `update idempotency set instance = $1, locked_until = expires_at
    where key_id = $2 and endpoint = $3 and idem_key = $4 and call_id = $5 and state = 'running'`
  return {
    begin: async (it, lifeMs) => {
      const { keyId, id, callId, claim: ref } = it
      const bytes = sizeOf({ ...it, output: [] })
      await engine.batch('control', [
        statement('delete from kept_response where key_id = $1 and id = $2', keyId, id),
        statement(
          `insert into kept_response (key_id, id, previous_id, input, body, bytes, state, owner, expires_at)
           values ($1, $2, $3, $4, $5, $6, 'open', $7, ${now} + cast($8 as bigint))`,
          ...[keyId, id, it.previousId ?? null, it.input, it.body, bytes, it.owner, lifeMs],
        ),
        ...insertEvents({ keyId, id, place: 0, events: it.events }),
        addSize(keyId, bytes),
        ...(ref === undefined
          ? []
          : [statement(claim, jobInstance(callId), ref.keyId, ref.endpoint, ref.key, callId)]),
      ])
    },
    append: async (all) => {
      // By key, so that two processes never wait for each other's sizes.
      const sorted = all.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1))
      await engine.batch(
        'control',
        sorted.flatMap((it) => insertEvents(it, "r.state = 'open'")),
      )
    },
    end: (it, lifeMs) => endBackground(engine, it, lifeMs),
    news: async (owner) => {
      const rows = await once(
        engine,
        'control',
        `select key_id, id, cancel from kept_response where owner = $1 and state = 'open'`,
        owner,
      )
      return rows.map((row) => ({
        keyId: textOf(row, 'key_id'),
        id: textOf(row, 'id'),
        cancel: truthOf(row, 'cancel'),
      }))
    },
    askCancel: async ({ keyId, id }) => {
      const text = `update kept_response set cancel = 1 where key_id = $1 and id = $2 and state = 'open'`
      await once(engine, 'control', text, keyId, id)
    },
    lost: async (by, most) => {
      const next = `select coalesce(max(e.place + e.count), 0) from kept_event e
        where e.key_id = r.key_id and e.response_id = r.id`
      const rows = await once(
        engine,
        'control',
        `select r.key_id, r.id, r.body, cast((${next}) as bigint) as next from kept_response r
           where r.state = 'open' and r.owner <> $1 and ${isSilent(now, 'r.owner')} limit $2`,
        by,
        most,
      )
      return rows.map((row) => ({
        keyId: textOf(row, 'key_id'),
        id: textOf(row, 'id'),
        body: textOf(row, 'body'),
        next: countOf(row, 'next'),
      }))
    },
    events: async ({ keyId, id }, from) => {
      // From the row that may hold the number on: a long stream has thousands, and readers look often.
      const [responses = [], chunks = []] = await engine.batch('control', [
        statement(
          `select r.state, (select count(*) from kept_event e where e.key_id = r.key_id and e.response_id = r.id
             and e.place = 0) as streams from kept_response r
           where r.key_id = $1 and r.id = $2 and r.expires_at > ${now}`,
          keyId,
          id,
        ),
        statement(
          `select e.place, e.body from kept_event e where e.key_id = $1 and e.response_id = $2
             and e.place >= (select coalesce(max(b.place), 0) from kept_event b
               where b.key_id = $1 and b.response_id = $2 and b.place <= cast($3 as bigint))
           order by e.place limit ${CHUNKS_MOST}`,
          keyId,
          id,
          from,
        ),
      ])
      const [row] = responses
      if (row === undefined || Number(row.streams) === 0) return undefined
      const events = chunks.flatMap((chunk) =>
        textOf(chunk, 'body')
          .split('\n')
          .slice(Math.max(0, from - countOf(chunk, 'place'))),
      )
      return { open: row.state === 'open' || chunks.length === CHUNKS_MOST, events }
    },
  }
}
