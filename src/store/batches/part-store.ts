/** Parts of batches that vendors have. A part and its lines become `sent` together, in BatchStore.take. */
import { present } from '../../core/json-body.ts'
import { type Engine, once, type Row } from '../engine/engine.ts'
import { countOf, maybeText, nanoOf, textOf } from '../engine/row.ts'
import type { BatchPart, BatchStore, SentLine } from './batch-port.ts'
import { LEFT_BEHIND } from './batch-row.ts'

const partOf = (row: Row): BatchPart => {
  const ref = maybeText(row, 'ref')
  return {
    id: textOf(row, 'id'),
    route: textOf(row, 'route'),
    deployment: textOf(row, 'deployment'),
    ...(ref === undefined ? {} : { ref }),
  }
}

/** A line as it is sent, by its row. */
export const sentLine = (row: Row, callId: string, tries: number): SentLine => ({
  n: countOf(row, 'n'),
  customId: textOf(row, 'custom_id'),
  at: countOf(row, 'at'),
  bytes: countOf(row, 'bytes'),
  bound: nanoOf(row, 'bound'),
  route: textOf(row, 'route'),
  tries,
  callId,
})

export const partStore = (
  engine: Engine,
): Pick<BatchStore, 'routes' | 'parts' | 'namePart' | 'partLines' | 'endPart'> => {
  const { leftOne } = engine.dialect
  const ask = (text: string, ...params: string[]) => once(engine, 'control', text, ...params)
  return {
    routes: async (id) => {
      const rows = await ask('select distinct route from batch_line where batch_id = $1', id)
      return rows.map((row) => textOf(row, 'route'))
    },
    parts: async (id) =>
      (await ask('select * from batch_part where batch_id = $1 order by id', id)).map(partOf),
    namePart: async (id, ref) =>
      (
        await ask(
          `update batch_part set ref = $2 where id = $1 and not exists (select 1 from batch b
             where b.id = batch_part.batch_id and b.owner = '${LEFT_BEHIND}') returning id`,
          id,
          ref,
        )
      ).length > 0,
    partLines: async (id) => {
      const rows = await ask(
        `select b.*, l.month from batch_line b ${leftOne('inflight', 'f', 'call_id', 'b.call_id')}
           ${leftOne('lease', 'l', 'id', 'f.lease_id')} where b.part = $1 and b.state = 'sent' order by b.n`,
        id,
      )
      return rows.map((row) => ({
        ...sentLine(row, textOf(row, 'call_id'), countOf(row, 'tries')),
        ...present({ month: maybeText(row, 'month') }),
      }))
    },
    endPart: async (id) => {
      await ask(
        `delete from batch_part where id = $1
           and not exists (select 1 from batch_line l where l.part = $1 and l.state = 'sent')`,
        id,
      )
    },
  }
}
