/** What kept responses of every kind share: the rows of their items, and the size of all that is kept for a key. */
import { type Row, type Run, runOne, type Statement, statement } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import type { KeptResponse } from './response-port.ts'

/** How many bytes may be kept for one key in all, and the size to which that is cut when there is more. */
const BYTES_MAX = 64 * 1024 * 1024
const BYTES_LEFT = 48 * 1024 * 1024

export const sizeOf = ({ input, body, output }: Pick<KeptResponse, 'input' | 'body' | 'output'>): number =>
  output.reduce((sum, item) => sum + Buffer.byteLength(item.body), Buffer.byteLength(input + body))

export const insertItems = (
  { keyId, id: responseId, output }: Pick<KeptResponse, 'keyId' | 'id' | 'output'>,
  from = 0,
): readonly Statement[] =>
  output.map(({ id, body }, at) =>
    statement(
      'insert into kept_item (key_id, response_id, place, id, body) values ($1, $2, $3, $4, $5)',
      ...[keyId, responseId, from + at, id, body],
    ),
  )

/** Adds to the size of all that is kept for a key, and returns it. */
export const addSize = (keyId: string, bytes: number): Statement =>
  statement(
    `insert into kept_size (key_id, bytes) values ($1, $2)
     on conflict (key_id) do update set bytes = kept_size.bytes + excluded.bytes returning bytes`,
    keyId,
    bytes,
  )

/** Whether a key has more than it may, by the rows of `addSize`. */
export const isTooLarge = (rows: readonly Row[] = []): boolean => countOf(onlyRow(rows), 'bytes') > BYTES_MAX

/** Deletes what is oldest of a key, except what is being made, and counts the rest again. */
export const cutDown = (keyId: string): readonly Statement[] => [
  statement(
    `delete from kept_response where key_id = $1 and state is distinct from 'open' and id in (
       select id from (select id, sum(bytes) over (order by expires_at desc, id) as total
         from kept_response where key_id = $1) newest where total > ${BYTES_LEFT})`,
    keyId,
  ),
  statement(
    `update kept_size set bytes = (select coalesce(cast(sum(bytes) as bigint), 0) from kept_response where key_id = $1)
     where key_id = $1`,
    keyId,
  ),
]

/** The same inside a transaction, with the cut that it may need. */
export const addToSize = async (run: Run, keyId: string, bytes: number): Promise<void> => {
  if (!isTooLarge(await runOne(run, addSize(keyId, bytes)))) return
  for (const each of cutDown(keyId)) await runOne(run, each)
}
