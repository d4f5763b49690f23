/**
 * Changes of a wallet's rules, for callers with a key and for signed-in people: checked, committed, and known to every
 * process.
 */
import { decimalFromNano } from '../core/money.ts'
import { invalid, must } from '../core/refusal.ts'
import type { Actor } from '../store/people/event-port.ts'
import type { WalletId } from '../tenancy/key.ts'
import { withModelIds } from '../tenancy/model-patterns.ts'
import type { AutoTopUp, RulesChange, WalletRules } from '../tenancy/wallet-rules.ts'
import type { Gateway } from './gateway.ts'

/** A rule that could never charge is refused, so that nobody relies on it. */
const checkTopUp = async (gateway: Gateway, walletId: WalletId, { amount }: AutoTopUp): Promise<void> => {
  const { store } = gateway
  const { stripe } = gateway.payments
  if (stripe === undefined || stripe.topUpDailyMax === 0n)
    throw invalid(
      'auto_top_up',
      'This server does not top wallets up by itself; fund the wallet in another way.',
    )
  if (amount > stripe.topUpDailyMax)
    throw invalid(
      'auto_top_up.amount_usd',
      `A wallet is topped up by ${decimalFromNano(stripe.topUpDailyMax)} USD a day at most; ask for less at a time.`,
    )
  if (!(await store.funding.topUpStatus(walletId)).saved)
    throw invalid(
      'auto_top_up',
      'The wallet has no saved payment method. Save one first: POST /api/wallet/checkout with ' +
        '{"amount_usd": 25, "save_payment_method": true}, pay at its url, and set the rule then.',
    )
}

/** Resolves with the new rules once no process admits a call on the old ones; throws the refusal of what is wrong. */
export const changeRules = async (
  gateway: Gateway,
  { walletId, change: requested, by }: { walletId: WalletId; change: RulesChange; by?: Actor },
): Promise<WalletRules> => {
  const change = must(withModelIds(requested, gateway.offering.catalogue))
  if (change.autoTopUp) await checkTopUp(gateway, walletId, change.autoTopUp)
  const { known, at } = await gateway.store.wallets.changeWalletRules(walletId, change, by)
  await gateway.book.untilKnown(at)
  return known.rules
}

type TopUpChange = {
  readonly walletId: WalletId
  /** The rule from what it is when the change is made; null removes it. */
  readonly change: (was: AutoTopUp | undefined) => AutoTopUp | null
  readonly by: Actor
}

/** Changes members of the rule that charges a card, as `changeRules` does; changes that come together undo none of each other. */
export const changeTopUp = async (gateway: Gateway, { walletId, change, by }: TopUpChange): Promise<void> => {
  const { wallets } = gateway.store
  const { rules } = await wallets.walletRules(walletId)
  const seen = change(rules.autoTopUp)
  // If another change comes in between, its members were checked by it.
  if (seen !== null) await checkTopUp(gateway, walletId, seen)
  const { at } = await wallets.changeWalletRules(
    walletId,
    ({ autoTopUp }) => ({ autoTopUp: change(autoTopUp) }),
    by,
  )
  await gateway.book.untilKnown(at)
}
