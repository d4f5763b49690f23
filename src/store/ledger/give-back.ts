/** Returns room of leases that no call holds, in one transaction for all leases that were given back together. */
import type { Nano } from '../../core/money.ts'
import { scopesOf } from '../../ledger/scopes.ts'
import type { LeaseId } from '../../ledger/types.ts'
import { textsOf } from '../accounts/key-row.ts'
import { batched } from '../engine/batched.ts'
import { json, rowsOf, text } from '../engine/columns.ts'
import type { Engine, Run, SqlDialect } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { applyMoves, type LeaseMove, lockLimitsOf } from './apply-lease.ts'
import { ids } from './call-rows.ts'
import type { LedgerStore } from './ledger-port.ts'
import { leases } from './ledger-rows.ts'
import { stateOf } from './sums.ts'

type LeaseReturn = { readonly lease: LeaseId; readonly back: Nano }

/** For the lease's key: whose counters the lease counts against. */
const keys = rowsOf({ ancestors: json('ancestors', textsOf), walletId: text('own_wallet') } as const)

/** See LedgerStore. A lease that is no longer open stays as it is. */
export const givingBack = (engine: Engine): LedgerStore['giveBack'] => {
  const give = batched<LeaseReturn, true>(engine, {
    lane: 'control',
    work: async (run, backs) => {
      await giveBackWithin(run, engine.dialect, backs)
      return backs.map(() => true)
    },
    group: () => '',
    name: ({ lease }) => lease,
  })
  return async (lease, back) => {
    await give({ lease, back })
  }
}

/** The same inside a larger transaction. */
export const giveBackWithin = async (
  run: Run,
  dialect: SqlDialect,
  backs: readonly LeaseReturn[],
): Promise<void> => {
  const { each, lock, oneOf } = dialect
  const named = ids(backs.map(({ lease }) => lease))
  const open = `${oneOf('l.id', `select e.value->>'c' from ${each('$1')} e`)} and ${stateOf('l')} = 'open'`
  const [, found] = await Promise.all([
    run(`select l.id from lease l where ${open} order by l.id${lock('l')}`, [named]),
    run(
      `select l.*, k.ancestors, k.wallet_id as own_wallet from lease l join api_key k on k.id = l.key_id where ${open}`,
      [named],
    ),
    ...lockLimitsOf(
      dialect,
      backs.map(({ lease }) => lease),
    ).map(({ text, params }) => run(text, params)),
  ])
  const backOf = new Map(backs.map(({ lease, back }) => [lease, back]))
  const moves = found.map((row): LeaseMove => {
    const { id, keyId, payer, sub, day, tagBudgets, used, calls } = leases.read(row)
    const { ancestors, walletId } = keys.read(row)
    const scopes = scopesOf({ line: [keyId, ...ancestors], walletId, day, sub, tagBudgets })
    return { id, used, calls, delta: -(backOf.get(id) ?? 0n), scopes, payer }
  })
  if (moves.length === 0) return
  await Promise.all([
    ...applyMoves(dialect, moves).map(({ text, params }) => run(text, params)),
    run(`update lease set recall = 0 where ${oneOf('id', `select e.value->>'c' from ${each('$1')} e`)}`, [
      ids(found.map((row) => textOf(row, 'id'))),
    ]),
  ])
}
