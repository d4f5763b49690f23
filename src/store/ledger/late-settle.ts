/**
 * Settles a call whose lease was reaped before the settlement arrived: charged if there is room, else a loss of the
 * house.
 */
import { least, type Nano } from '../../core/money.ts'
import { isEstimateAccount } from '../../ledger/estimates.ts'
import type { Settle } from '../../ledger/types.ts'
import type { Engine, Run, SqlDialect } from '../engine/engine.ts'
import { keepsVoucher } from '../payments/voucher-call.ts'
import { insertCharges } from './charge-row.ts'
import { budgets, type LeaseRow, leases, payerRows } from './ledger-rows.ts'
import { freeOf, payers } from './payer.ts'

type LateCharge = { readonly lease: LeaseRow; readonly room: Nano }

/** Locks the lease and its limits, and returns the least room under them. A lease that was deleted has no room. */
const lockLease = async (run: Run, dialect: SqlDialect, leaseId: string): Promise<LateCharge | undefined> => {
  const [found, limits, accounts] = await Promise.all([
    run(`select l.* from lease l where l.id = $1${dialect.lock('l')}`, [leaseId]),
    run(
      `select b.* from budget b
       where b.scope in (select s.scope from lease_scope s where s.lease_id = $1) order by b.scope${dialect.lock('b')}`,
      [leaseId],
    ),
    run(`${payers} where a.id = (select l.wallet_id from lease l where l.id = $1)${dialect.lock('a')}`, [
      leaseId,
    ]),
  ])
  const [lease, account] = [found.map(leases.read)[0], accounts.map(payerRows.read)[0]]
  // What comes after its organisation went to another cell, the house pays.
  const away = accounts.some(({ cell }) => cell !== null)
  if (lease === undefined || account === undefined || away) return undefined
  const room = limits
    .map(budgets.read)
    .reduce(
      (lowest, { lim, used, held }) => (lim === undefined ? lowest : least(lowest, lim - used - held)),
      freeOf(account),
    )
  return { lease, room }
}

const charge = async (
  run: Run,
  dialect: SqlDialect,
  { callId, leaseId, charge: amount }: Settle,
  { id, payer }: LeaseRow,
): Promise<void> => {
  await Promise.all([
    run(
      `${insertCharges({ call: '$1', amount: 'cast($2 as bigint)', settled: `'late'`, note: `'late'`, attempt: '$4', at: dialect.now })}
       from lease l where l.id = $3`,
      [callId, amount, id, leaseId],
    ),
    run(
      `update budget set used = used + cast($1 as bigint), calls = calls + $3, estimated = estimated + cast($4 as bigint)
       where scope in (select s.scope from lease_scope s where s.lease_id = $2)`,
      isEstimateAccount(payer) ? [amount, id, 0, amount] : [amount, id, 1, 0n],
    ),
    run('update account set balance = balance - cast($1 as bigint) where id = $2', [amount, payer]),
    // Another attempt of the call may be open elsewhere. A call that was charged is not charged again.
    run('delete from inflight where call_id = $1', [callId]),
  ])
}

/**
 * Charges the call under the present limits, or posts a write-off; an estimate is no loss of the house. Repeating it changes
 * nothing.
 */
export const settleLate = (engine: Engine, settle: Settle): Promise<void> =>
  engine.transaction('control', async (run) => {
    const { dialect } = engine
    const { voucher, callId, detail } = settle
    const paid = voucher === undefined || (await keepsVoucher(run, dialect, voucher.id, callId))
    const found = await lockLease(run, dialect, settle.leaseId)
    const before = await run(`select kind from transfer where kind in ('usage', 'writeoff') and ref = $1`, [
      callId,
    ])
    if (before.length > 0) return
    if (paid && found !== undefined && found.room >= settle.charge)
      return charge(run, dialect, settle, found.lease)
    if (detail === undefined) return
    await run(
      `insert into transfer (kind, ref, debit, credit, amount, key_id, settled, note, attempt, at)
       values ('writeoff', $1, 'loss', 'revenue', $2, $3, 'late', 'late', $4, ${dialect.now}) on conflict (kind, ref) do nothing`,
      [callId, settle.charge, detail.keyId, settle.leaseId],
    )
  })
