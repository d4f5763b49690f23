/**
 * The account that pays for a call: a wallet or a payment, which may fall to zero; a credit line, which may fall to
 * minus its limit; or a payment that was only authorised, which may fall to minus the authorised amount.
 */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import { estimateAccountOf, isEstimateAccount } from '../../ledger/estimates.ts'
import { type BindingLimit, type LoanRequest, PAYMENTS_ORG } from '../../ledger/types.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'
import type { PayerRow } from './ledger-rows.ts'
import { settledBalance } from './sums.ts'

/**
 * Selects accounts `a` with what decides whether they may pay. An account's `lowest` is only what its constraint
 * tolerates: money that a payer took back, or a lowered limit, may leave the account below the level to which it may be
 * spent.
 */
export const payers = `select a.*, c.lim, c.wallet_id as line_of,
    (select min(i.due_at) from invoice i where i.account_id = c.account_id and i.paid_at is null and i.total > 0) as due_at,
    ${settledBalance('c.wallet_id')} as wallet_balance
  from account a left join credit_line c on c.account_id = a.id`

/** How far below zero the account may go: a wallet not at all, a payment as far as it was authorised. */
export const creditOf = (account: PayerRow): Nano =>
  isPayment(account) ? -account.lowest : (account.lim ?? 0n)

/** More than anybody owes vendors. */
const ANY_AMOUNT: Nano = 1n << 62n

/** What is free to be leased or posted: of an account of estimates any amount is. */
export const freeOf = (account: PayerRow): Nano =>
  isEstimateAccount(account.id) ? ANY_AMOUNT : account.balance - account.held + creditOf(account)

/** Opens the accounts of estimates that loans name for the first time. */
export const openEstimateAccounts = async (
  run: Run,
  { now, each }: SqlDialect,
  requests: readonly LoanRequest[],
): Promise<void> => {
  const named = new Set(requests.flatMap(({ payer = '' }) => (isEstimateAccount(payer) ? [payer] : [])))
  if (named.size === 0) return
  await run(
    `insert into account (id, bounded, org_id, name, created_at)
     select e.value->>'p', 0, a.org_id, a.name, ${now} from ${each('$1')} e join account a on a.id = e.value->>'w'
     where true order by 1 on conflict (id) do nothing`,
    [JSON.stringify([...named].map((p) => ({ p, w: p.slice(estimateAccountOf('').length) })))],
  )
}

/** Whether the account holds a payment for one call. */
export const isPayment = ({ orgId }: PayerRow): boolean => orgId === PAYMENTS_ORG

/** Why the account may not pay for calls of a key with this wallet, whatever its balance. */
export const payerBlock = (
  account: PayerRow | undefined,
  wallet: string,
  now: Instant,
): BindingLimit | undefined => {
  const pays = [wallet, estimateAccountOf(wallet)]
  if (account !== undefined && (pays.includes(account.id) || isPayment(account))) return undefined
  if (account === undefined || account.lineOf !== wallet || creditOf(account) === 0n) return 'no_credit_line'
  const owesBack = (account.walletBalance ?? 0n) < 0n
  return owesBack || (account.dueAt ?? now) < now ? 'past_due' : undefined
}
