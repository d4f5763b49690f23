/**
 * Deletes rows that are no longer needed, in batches: one statement over all of them would exceed its time limit every
 * time.
 */
import { type Engine, type Statement, statement } from './engine.ts'

/** The most rows that one statement deletes. */
const BATCH = 5_000

/** Rows `x` of a table that are no longer needed. */
export type Expired = { readonly table: string; readonly key: string; readonly where: string }

const batchOf = ({ dialect: { lockFree } }: Engine, { table, key, where }: Expired): Statement =>
  statement(
    `delete from ${table} where (${key}) in (select ${key} from ${table} x where ${where} limit ${BATCH}${lockFree('x')})`,
  )

/** Deletes a batch of each kind; the next round continues. */
export const deleteExpired = (engine: Engine, expired: readonly Expired[]): Promise<unknown> =>
  engine.batch(
    'control',
    expired.map((rows) => batchOf(engine, rows)),
  )
