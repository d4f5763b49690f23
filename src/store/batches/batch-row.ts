/** Batches as rows. */
import type { Json } from '../../core/json-body.ts'
import { integer, json, maybe, nano, oneOf, rowsOf, text, truth } from '../engine/columns.ts'
import type { Engine, Row, Run } from '../engine/engine.ts'
import { isHere } from '../ledger/sums.ts'
import { type AskedOfBatch, type Batch, batchForms, batchStates, onCaps } from './batch-port.ts'

const columns = {
  id: text('id'),
  form: oneOf('form', batchForms),
  keyId: text('key_id'),
  walletId: text('wallet_id'),
  sub: maybe(text('sub')),
  payer: text('payer'),
  onCap: oneOf('on_cap', onCaps),
  asked: json('asked', (value: Json) => value as AskedOfBatch),
  input: text('input'),
  output: maybe(text('output')),
  errors: maybe(text('errors')),
  state: oneOf('state', batchStates),
  stop: maybe(text('stop')),
  total: integer('total'),
  waiting: integer('waiting'),
  sent: integer('sent'),
  succeeded: integer('succeeded'),
  errored: integer('errored'),
  stopped: integer('stopped'),
  charged: nano('charged'),
  inputTokens: integer('input_tokens'),
  outputTokens: integer('output_tokens'),
  cachedTokens: integer('cached_tokens'),
  reasoningTokens: integer('reasoning_tokens'),
  cancelAt: maybe(integer('cancel_at')),
  webhook: maybe(text('webhook')),
  createdAt: integer('created_at'),
  expiresAt: integer('expires_at'),
  endedAt: maybe(integer('ended_at')),
} as const
export const batchRows = rowsOf(columns)

/** The owner of a batch that no process runs, because its organisation is about to leave. */
export const NOBODY = ''
/** The owner of a batch whose organisation has taken it along: nothing of it changes here any more. */
export const LEFT_BEHIND = 'another cell'

/** Whether the organisation of a batch is about to leave, or is elsewhere. */
export const leavesNow = (batch: string): string =>
  `case when ${isHere(`${batch}.wallet_id`)} then 0 else 1 end`

/** What decides about the money of a batch. */
const moneyRows = rowsOf({
  ...columns,
  rest: nano('rest'),
  lease: maybe(text('lease_id')),
  owner: text('owner'),
  now: integer('now'),
  /** Whether its organisation is about to leave: no line of it is sent any more. */
  leaves: truth('leaves'),
} as const)
export type MoneyRow = ReturnType<typeof moneyRows.read>

export const batchOf = (row: Row): Batch => batchRows.read(row)

/** Locks the row of a batch that is here; whoever changes its lines or its money does so first. */
export const lockBatch = async (
  { dialect: { now, lock } }: Engine,
  run: Run,
  id: string,
): Promise<MoneyRow | undefined> => {
  const [row] = await run(
    `select b.*, ${now} as now, ${leavesNow('b')} as leaves from batch b where b.id = $1 and b.owner <> '${LEFT_BEHIND}'${lock('b')}`,
    [id],
  )
  return row === undefined ? undefined : moneyRows.read(row)
}

/**
 * The line that a row of JSON names. Its batch is in each row too: with a batch that is the same for all, SQLite would read
 * all lines of it for each.
 */
export const lineAt = `batch_line.batch_id = e.value->>'b' and batch_line.n = cast(e.value->>'n' as bigint)`
