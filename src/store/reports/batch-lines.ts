/** Batches in reach, newest first: one query, over the batches of keys. */
import type { Batch } from '../batches/batch-port.ts'
import { batchOf } from '../batches/batch-row.ts'
import { binding, type Engine, once } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { scopeTests } from './call-lines.ts'
import type { Scope } from './call-port.ts'

export type BatchQuery = Scope & {
  /** Only this one. */
  readonly id?: string
  /** The last of the page before. */
  readonly after?: string
  readonly most: number
}

/** A batch with the key that made it. */
export type BatchLine = Batch & { readonly label: string; readonly prefix: string }

export const batchLines = async (engine: Engine, query: BatchQuery): Promise<readonly BatchLine[]> => {
  const { id, after, most } = query
  const { params, bind } = binding()
  const tests = [
    `b.state <> 'validating'`,
    ...scopeTests(query, bind),
    ...(id === undefined ? [] : [`b.id = ${bind(id)}`]),
    ...(after === undefined
      ? []
      : [`(b.created_at, b.id) < (select a.created_at, a.id from batch a where a.id = ${bind(after)})`]),
  ]
  const rows = await once(
    engine,
    'control',
    `select b.*, k.label, k.prefix from batch b join api_key k on k.id = b.key_id left join key_note o on o.key_id = k.id
       where ${tests.join(' and ')} order by b.created_at desc, b.id desc limit ${bind(most)}`,
    ...params,
  )
  return rows.map((row) => ({ ...batchOf(row), label: textOf(row, 'label'), prefix: textOf(row, 'prefix') }))
}
