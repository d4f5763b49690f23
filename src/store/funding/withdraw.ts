/**
 * Moves money out of a wallet for its owner: what is free in it, and what idle leases give back, never what open calls
 * hold.
 */
import { decimalFromNano } from '../../core/money.ts'
import { type Engine, type Run, runOne, type SqlDialect } from '../engine/engine.ts'
import { type PayerRow, payerRows } from '../ledger/ledger-rows.ts'
import { freeOf, payers } from '../ledger/payer.ts'
import { postIn, posting } from '../ledger/post.ts'
import { recall, shortageOf, under } from '../ledger/shortage.ts'
import type { Actor } from '../people/event-port.ts'
import { recordOfWallet } from '../people/event-store.ts'
import type { Withdrawn, WithdrawStore } from './funding-port.ts'
import { pauseTopUps } from './stop-top-ups.ts'

/** Leases hold up to half of a wallet. If the wallet could pay with them included, they are recalled. */
export const shortOrLeased = async (
  run: Run,
  dialect: SqlDialect,
  wallet: PayerRow,
  total: bigint,
): Promise<'short' | 'leased'> => {
  const limit = { name: 'wallet', room: freeOf(wallet) } as const
  const { id } = wallet
  const leases = under(dialect, limit, { payer: id, wallet: id, own: '' })
  const { idle } = await shortageOf(run, limit, leases, { budgets: [], unwritten: 0n, astray: 0n })
  if (limit.room + idle < total) return 'short'
  await runOne(run, recall(dialect, leases, { amount: total - limit.room, beside: true }))
  return 'leased'
}

type Withdrawal = Parameters<WithdrawStore['withdraw']>[0]

const withdrawIn = async (
  run: Run,
  dialect: SqlDialect,
  { walletId, amount, ref }: Withdrawal,
  by: Actor,
): Promise<Withdrawn> => {
  const [row] = await run(`${payers} where a.id = $1 and a.bounded = 1${dialect.lock('a')}`, [walletId])
  if (row === undefined) return 'unknown'
  const wallet = payerRows.read(row)
  const transfer = {
    kind: 'adjust',
    ref: `withdrawal:${ref}`,
    debit: walletId,
    credit: 'cash',
    amount,
  } as const
  const before = await run(`select ref from transfer where kind = 'adjust' and ref = $1`, [transfer.ref])
  // A repeat takes nothing, so the wallet may have less by now.
  if (before.length === 0 && freeOf(wallet) < amount) return shortOrLeased(run, dialect, wallet, amount)
  const outcome = await postIn(run, dialect, transfer)
  const after = { amount_usd: decimalFromNano(amount), note: ref }
  if (outcome !== 'posted') return outcome
  await pauseTopUps(run, dialect, walletId)
  await recordOfWallet(run, dialect, { by, walletId, what: 'wallet.withdrawn', subject: walletId, after })
  return outcome
}

export const withdrawStore = (engine: Engine): WithdrawStore => ({
  withdraw: (withdrawal, by) => posting(engine, (run) => withdrawIn(run, engine.dialect, withdrawal, by)),
})
