/** Jobs as rows. */
import type { Json } from '../../core/json-body.ts'
import { integer, json, maybe, nano, oneOf, rowsOf, text, truth } from '../engine/columns.ts'
import type { Row } from '../engine/engine.ts'
import { type Run, type RunFacts, type RunResult, runStates } from './run-port.ts'

const runs = rowsOf({
  id: text('id'),
  keyId: text('key_id'),
  walletId: text('wallet_id'),
  payer: text('payer'),
  leaseId: text('lease_id'),
  model: text('model'),
  state: oneOf('state', runStates),
  hold: nano('hold'),
  facts: maybe(json('facts', (value: Json) => value as RunFacts)),
  progress: maybe(integer('progress')),
  cancel: truth('cancel'),
  owner: text('owner'),
  deadline: integer('deadline'),
  result: maybe(json('result', (value: Json) => value as RunResult)),
  webhook: maybe(text('webhook')),
  createdAt: integer('created_at'),
  endedAt: maybe(integer('ended_at')),
})

export const runOf = (row: Row): Run => runs.read(row)
