/**
 * Conversations that callers make by name. Each is a row of kept responses that nobody can continue by
 * `previous_response_id`, with its items as output, so its time and its bytes are theirs.
 */
import { type Engine, once, runOne } from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import type { ConversationStore } from './response-port.ts'
import { addToSize, insertItems } from './response-rows.ts'

export const conversationStore = (engine: Engine): ConversationStore => {
  const { now } = engine.dialect
  const lives = `key_id = $1 and id = $2 and state = 'conversation' and expires_at > ${now}`
  const alive = `select body from kept_response where ${lives}`
  return {
    conversationHead: async ({ keyId, id }) => {
      const [row] = await once(engine, 'control', alive, keyId, id)
      return row === undefined ? undefined : textOf(row, 'body')
    },
    addItems: ({ keyId, id, output }, { lifeMs, bytesMax }) =>
      engine.transaction('control', async (run) => {
        const bytes = output.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)
        // The row is locked from here on, so that two answers never take one place.
        const locked = `update kept_response set bytes = bytes + cast($3 as bigint),
          expires_at = ${now} + cast($4 as bigint)
          where ${lives} and bytes + cast($3 as bigint) <= cast($5 as bigint) returning id`
        if ((await run(locked, [keyId, id, bytes, lifeMs, bytesMax])).length === 0)
          return (await run(alive, [keyId, id])).length === 0 ? 'not there' : 'full'
        const last = `select cast(coalesce(max(place) + 1, 0) as bigint) as next from kept_item
          where key_id = $1 and response_id = $2`
        const next = countOf(onlyRow(await run(last, [keyId, id])), 'next')
        for (const each of insertItems({ keyId, id, output }, next)) await runOne(run, each)
        await addToSize(run, keyId, bytes)
        return 'added'
      }),
    rewrite: async ({ keyId, id }, body) => {
      const text = `update kept_response set body = $3 where ${lives} returning id`
      return (await once(engine, 'control', text, keyId, id, body)).length > 0
    },
    removeItem: ({ keyId, id }, itemId) =>
      engine.transaction('control', async (run) => {
        // Locked first, as where items are added.
        const locked = `update kept_response set bytes = bytes where ${lives} returning id`
        if ((await run(locked, [keyId, id])).length === 0) return false
        const gone = `delete from kept_item where key_id = $1 and response_id = $2 and id = $3
          returning octet_length(body) as bytes`
        const removed = await run(gone, [keyId, id, itemId])
        const bytes = removed.reduce((sum, row) => sum + countOf(row, 'bytes'), 0)
        const less = `update kept_response set bytes = bytes - cast($3 as bigint) where ${lives}`
        await run(less, [keyId, id, bytes])
        return removed.length > 0
      }),
  }
}
