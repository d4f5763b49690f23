/** Responses that are kept: rows of a single key, each linked to the one before. */
import { type Engine, once, type Row, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, maybeText, onlyRow, textOf } from '../engine/row.ts'
import type { ItemStore, ResponseStore } from './response-port.ts'
import { addSize, cutDown, insertItems, isTooLarge, sizeOf } from './response-rows.ts'

/** The most turns of one conversation. */
const TURNS_MAX = 2_000

/** Response `$2` of key `$1` and those before it, from the newest, within `$3` bytes. */
const chainOf = (now: string): string => `with recursive chain (id, previous_id, depth, size) as (
    select id, previous_id, 0, bytes from kept_response where key_id = $1 and id = $2 and expires_at > ${now} and state is null
    union all
    select r.id, r.previous_id, c.depth + 1, c.size + r.bytes
    from kept_response r join chain c on r.id = c.previous_id
    where r.key_id = $1 and r.expires_at > ${now} and r.state is null and c.depth < ${TURNS_MAX}
      and c.size + r.bytes <= cast($3 as bigint))`

export const expiredResponses = (now: string): Expired => ({
  table: 'kept_response',
  key: 'key_id, id',
  where: `x.expires_at < ${now}`,
})

export const responseStore = (engine: Engine): Omit<ResponseStore, keyof ItemStore> => {
  const { now } = engine.dialect
  const chain = chainOf(now)
  const lives = `key_id = $1 and id = $2 and expires_at > ${now}`
  return {
    keepResponse: async (it, lifeMs) => {
      const bytes = sizeOf(it)
      const rows = await engine.batch('control', [
        statement('delete from kept_response where key_id = $1 and id = $2', it.keyId, it.id),
        statement(
          `insert into kept_response (key_id, id, previous_id, input, body, bytes, state, expires_at)
           values ($1, $2, $3, $4, $5, $6, $7, ${now} + cast($8 as bigint))`,
          ...[it.keyId, it.id, it.previousId ?? null, it.input, it.body, bytes, it.state ?? null, lifeMs],
        ),
        ...insertItems(it),
        addSize(it.keyId, bytes),
      ])
      if (isTooLarge(rows.at(-1))) await engine.batch('control', cutDown(it.keyId))
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
    chainBytes: async (keyId, id, bytesMax) => {
      const text = `${chain} select coalesce(max(size), 0) as bytes from chain`
      return countOf(onlyRow(await once(engine, 'control', text, keyId, id, bytesMax)), 'bytes')
    },
    keptBytes: async (keyId, id) => {
      const text = `select coalesce(max(bytes), 0) as bytes from kept_response where ${lives}`
      return countOf(onlyRow(await once(engine, 'control', text, keyId, id)), 'bytes')
    },
    keptResponse: async (keyId, id) => {
      const [responses = [], items = []] = await engine.batch('control', [
        statement(`select input, body, state from kept_response where ${lives}`, keyId, id),
        statement(
          'select body from kept_item where key_id = $1 and response_id = $2 order by place',
          keyId,
          id,
        ),
      ])
      const [row] = responses
      return row === undefined
        ? undefined
        : {
            input: textOf(row, 'input'),
            body: textOf(row, 'body'),
            output: bodiesOf(items),
            open: maybeText(row, 'state') === 'open',
          }
    },
    forgetResponse: async (keyId, id) => {
      const text = `delete from kept_response where ${lives} returning id`
      return (await once(engine, 'control', text, keyId, id)).length > 0
    },
  }
}

const bodiesOf = (rows: readonly Row[]): readonly string[] => rows.map((row) => textOf(row, 'body'))
