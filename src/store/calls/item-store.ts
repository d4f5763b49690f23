/** The items of what is kept, by their names. */
import { type Engine, once, type Row } from '../engine/engine.ts'
import { countOf, textOf } from '../engine/row.ts'
import type { ItemPlace, ItemStore } from './response-port.ts'

export const itemStore = (engine: Engine): ItemStore => {
  const { now, each } = engine.dialect
  const named = `from kept_item i join kept_response r on r.key_id = i.key_id and r.id = i.response_id
    join ${each('$2')} e on e.value->>'id' = i.id where i.key_id = $1 and r.expires_at > ${now}`
  return {
    itemSizes: async (keyId, ids) => {
      const text = `select i.id, max(octet_length(i.body)) as bytes ${named} group by i.id`
      const wanted = JSON.stringify(ids.map((id) => ({ id })))
      const rows = await once(engine, 'control', text, keyId, wanted)
      return new Map(rows.map((row) => [textOf(row, 'id'), countOf(row, 'bytes')]))
    },
    keptItems: async (keyId, sizes) => {
      const text = `select id, body from kept_item
        join (select i.key_id, i.response_id, i.place,
            row_number() over (partition by i.id order by r.expires_at desc, i.response_id, i.place) as nth
          ${named} and octet_length(i.body) <= cast(e.value->>'bytes' as bigint)) found
        using (key_id, response_id, place) where nth = 1`
      const wanted = JSON.stringify([...sizes].map(([id, bytes]) => ({ id, bytes })))
      const rows = await once(engine, 'control', text, keyId, wanted)
      return new Map(rows.map((row) => [textOf(row, 'id'), textOf(row, 'body')]))
    },
    itemPlace: async ({ keyId, id }, itemId, order) => {
      const text = `${placed} and id = $3 order by place ${order} limit 1`
      return (await once(engine, 'control', text, keyId, id, itemId)).map(placeIn)[0]
    },
    itemPlaces: async ({ keyId, id }, { after, limit, order }) => {
      const [beyond, start] = order === 'asc' ? ['>', -1] : ['<', Number.MAX_SAFE_INTEGER]
      const text = `${placed} and place ${beyond} cast($3 as bigint) order by place ${order} limit $4`
      return (await once(engine, 'control', text, keyId, id, after ?? start, limit)).map(placeIn)
    },
    itemsAt: async ({ keyId, id }, from, to) => {
      const text = `select body from kept_item where key_id = $1 and response_id = $2
        and place between cast($3 as bigint) and cast($4 as bigint) order by place`
      const rows = await once(engine, 'control', text, keyId, id, from, to)
      return rows.map((row) => textOf(row, 'body'))
    },
  }
}

const placed =
  'select place, octet_length(body) as bytes from kept_item where key_id = $1 and response_id = $2'

const placeIn = (row: Row): ItemPlace => ({ place: countOf(row, 'place'), bytes: countOf(row, 'bytes') })
