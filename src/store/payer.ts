/**
 * The account that pays for a call: a wallet or a payment, which may fall to nothing, a credit line, which may fall to
 * minus its limit, or a payment that was only authorised, which may fall to minus that.
 */
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import { type BindingLimit, PAYMENTS_ORG } from '../ledger/words.ts'
import type { Row } from './engine.ts'
import { maybeCount, maybeNano, maybeText, nanoOf, textOf } from './row.ts'

/**
 * Selects accounts `a` with what decides whether they may pay. `lowest` of an account is only what its constraint
 * tolerates: money that a payer took back, or a limit that was lowered, may leave it below what it may be spent to.
 */
export const payers = `select a.*, c.lim, c.wallet_id as line_of,
    (select min(i.due_at) from invoice i where i.account_id = c.account_id and i.paid_at is null and i.total > 0) as due_at,
    (select w.balance - coalesce((select cast(sum(l.used) as bigint) from lease l
        where l.wallet_id = w.id and l.state <> 'closed'), 0)
      from account w where w.id = c.wallet_id) as wallet_balance
  from account a left join credit_line c on c.account_id = a.id`

/** How far below nothing the account may go: a wallet not at all, a payment as far as it was authorised. */
export const creditOf = (account: Row): Nano =>
  isPayment(account) ? -nanoOf(account, 'lowest') : (maybeNano(account, 'lim') ?? 0n)

/** What is free to be leased or posted. */
export const freeOf = (account: Row): Nano =>
  nanoOf(account, 'balance') - nanoOf(account, 'held') + creditOf(account)

/** Whether the account holds a payment for one call. */
export const isPayment = (account: Row): boolean => textOf(account, 'org_id') === PAYMENTS_ORG

/** Why the account may not pay for calls of a key with this wallet, whatever is in it. */
export const barOf = (account: Row | undefined, wallet: string, now: Instant): BindingLimit | undefined => {
  if (account !== undefined && (textOf(account, 'id') === wallet || isPayment(account))) return undefined
  if (account === undefined || maybeText(account, 'line_of') !== wallet || creditOf(account) === 0n)
    return 'no_credit_line'
  const owesBack = (maybeNano(account, 'wallet_balance') ?? 0n) < 0n
  return owesBack || (maybeCount(account, 'due_at') ?? now) < now ? 'past_due' : undefined
}
