/** Responses that are kept: rows of a single key, each linked to the one before. */
import { type Engine, once, type Row, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, maybeText, onlyRow, textOf } from '../engine/row.ts'
import type { KeptResponse, ResponseStore } from './response-port.ts'

/** How many bytes the responses of one key may have in all, and the size to which they are cut when they have more. */
const BYTES_MAX = 64 * 1024 * 1024
const BYTES_LEFT = 48 * 1024 * 1024
/** The most turns of one conversation. */
const TURNS_MAX = 2_000

/** Response `$2` of key `$1` and those before it, from the newest, within `$3` bytes. */
const chainOf = (now: string): string => `with recursive chain (id, previous_id, depth, size) as (
    select id, previous_id, 0, bytes from kept_response where key_id = $1 and id = $2 and expires_at > ${now}
    union all
    select r.id, r.previous_id, c.depth + 1, c.size + r.bytes
    from kept_response r join chain c on r.id = c.previous_id
    where r.key_id = $1 and r.expires_at > ${now} and c.depth < ${TURNS_MAX}
      and c.size + r.bytes <= cast($3 as bigint))`

export const expiredResponses = (now: string): Expired => ({
  table: 'kept_response',
  key: 'key_id, id',
  where: `x.expires_at < ${now}`,
})

export const responseStore = (engine: Engine): ResponseStore => {
  const { now, each } = engine.dialect
  const chain = chainOf(now)
  const lives = `key_id = $1 and id = $2 and expires_at > ${now}`
  return {
    keepResponse: async (it, lifeMs) => {
      const bytes = sizeOf(it)
      const rows = await engine.batch('control', [
        statement('delete from kept_response where key_id = $1 and id = $2', it.keyId, it.id),
        statement(
          `insert into kept_response (key_id, id, previous_id, input, body, bytes, expires_at)
           values ($1, $2, $3, $4, $5, $6, ${now} + cast($7 as bigint))`,
          it.keyId,
          it.id,
          it.previousId ?? null,
          it.input,
          it.body,
          bytes,
          lifeMs,
        ),
        ...it.output.map(({ id, body }, place) =>
          statement(
            'insert into kept_item (key_id, response_id, place, id, body) values ($1, $2, $3, $4, $5)',
            it.keyId,
            it.id,
            place,
            id,
            body,
          ),
        ),
        statement(
          `insert into kept_size (key_id, bytes) values ($1, $2)
           on conflict (key_id) do update set bytes = kept_size.bytes + excluded.bytes returning bytes`,
          it.keyId,
          bytes,
        ),
      ])
      if (countOf(onlyRow(rows.at(-1) ?? []), 'bytes') > BYTES_MAX) await cutDown(engine, it.keyId)
    },
    conversation: async (keyId, id, { lifeMs, bytesMax }) => {
      const [, responses = [], items = []] = await engine.batch('control', [
        statement(
          `${chain} update kept_response set expires_at = ${now} + cast($4 as bigint)
           where key_id = $1 and id in (select id from chain)`,
          keyId,
          id,
          bytesMax,
          lifeMs,
        ),
        statement(
          `${chain} select r.id, r.previous_id, r.input from chain c
           join kept_response r on r.key_id = $1 and r.id = c.id order by c.depth desc`,
          keyId,
          id,
          bytesMax,
        ),
        statement(
          `${chain} select i.response_id, i.body from chain c
           join kept_item i on i.key_id = $1 and i.response_id = c.id order by i.place`,
          keyId,
          id,
          bytesMax,
        ),
      ])
      const [oldest] = responses
      if (oldest === undefined || maybeText(oldest, 'previous_id') !== undefined) return undefined
      const outputs = Map.groupBy(items, (row) => textOf(row, 'response_id'))
      return responses.flatMap((row) => [
        textOf(row, 'input'),
        ...bodiesOf(outputs.get(textOf(row, 'id')) ?? []),
      ])
    },
    keptItems: async (keyId, ids) => {
      const rows = await once(
        engine,
        'control',
        statement(
          `select i.id, i.body from kept_item i join kept_response r on r.key_id = i.key_id and r.id = i.response_id
           where i.key_id = $1 and i.id in (select e.value->>'id' from ${each('$2')} e) and r.expires_at > ${now}
           order by r.expires_at`,
          keyId,
          JSON.stringify(ids.map((id) => ({ id }))),
        ),
      )
      return new Map(rows.map((row) => [textOf(row, 'id'), textOf(row, 'body')]))
    },
    keptResponse: async (keyId, id) => {
      const [responses = [], items = []] = await engine.batch('control', [
        statement(`select body from kept_response where ${lives}`, keyId, id),
        statement(
          'select body from kept_item where key_id = $1 and response_id = $2 order by place',
          keyId,
          id,
        ),
      ])
      const [row] = responses
      return row === undefined ? undefined : { body: textOf(row, 'body'), output: bodiesOf(items) }
    },
    forgetResponse: async (keyId, id) => {
      const text = `delete from kept_response where ${lives} returning id`
      return (await once(engine, 'control', statement(text, keyId, id))).length > 0
    },
  }
}

const bodiesOf = (rows: readonly Row[]): readonly string[] => rows.map((row) => textOf(row, 'body'))

const sizeOf = ({ input, body, output }: KeptResponse): number =>
  output.reduce((sum, item) => sum + Buffer.byteLength(item.body), Buffer.byteLength(input + body))

/** Deletes the oldest responses of a key, and counts the rest again. */
const cutDown = (engine: Engine, keyId: string): Promise<unknown> =>
  engine.batch('control', [
    statement(
      `delete from kept_response where key_id = $1 and id in (
         select id from (select id, sum(bytes) over (order by expires_at desc, id) as total
           from kept_response where key_id = $1) newest where total > ${BYTES_LEFT})`,
      keyId,
    ),
    statement(
      `update kept_size set bytes = (select coalesce(cast(sum(bytes) as bigint), 0) from kept_response where key_id = $1)
       where key_id = $1`,
      keyId,
    ),
  ])
