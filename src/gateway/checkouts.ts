/**
 * Payments by Stripe, for callers with a key and for signed-in people: checkouts of wallets and invoices, and the saved
 * card.
 */
import type { Nano } from '../core/money.ts'
import { invalid, must, refuse } from '../core/refusal.ts'
import { CHECKOUT_LEAST } from '../payment/checkout-amount.ts'
import type { StripePayments } from '../payment/stripe.ts'
import type { StripeCheckout } from '../payment/stripe-requests.ts'
import type { Invoice } from '../store/funding/funding-port.ts'
import type { Actor } from '../store/people/event-port.ts'
import type { WalletId } from '../tenancy/key.ts'
import type { Gateway } from './gateway.ts'

/** Stripe, if it is set up. Without it, its addresses do not exist. */
export const stripeOf = (gateway: Gateway): StripePayments => {
  if (gateway.payments.stripe === undefined)
    throw refuse('not_found', 'This server takes no payments by Stripe; ask its operator to fund the wallet.')
  return gateway.payments.stripe
}

/** What the payer reads before paying, and agrees to by paying. */
export const CONSENT =
  'By paying you allow us to keep this card and to charge it later without asking you: the amount of the auto_top_up rule of your wallet, ' +
  'each time the wallet falls below the amount that the rule names, until you remove the rule or the card.'

/** Who pays, and where the checkout sends them back to. */
type Payer = Pick<StripeCheckout, 'origin' | 'back' | 'by'>

type Opened = { readonly id: string; readonly url: string }

/** Opens a checkout that funds the wallet; with `save` it keeps the card for the rule of automatic top-ups. */
export const openTopUp = async (
  gateway: Gateway,
  { walletId, amount, save, payer }: { walletId: WalletId; amount: Nano; save: boolean; payer: Payer },
): Promise<Opened> => {
  const { customer } = save ? await gateway.store.funding.topUpStatus(walletId) : {}
  return must(
    await stripeOf(gateway).checkout({
      walletId,
      amount,
      label: 'Model gateway credits',
      ...payer,
      ...(save ? { saves: { consent: CONSENT, ...(customer === undefined ? {} : { customer }) } } : {}),
    }),
  )
}

/** Opens a checkout for an unpaid invoice. */
export const openForInvoice = async (gateway: Gateway, invoice: Invoice, payer: Payer): Promise<Opened> => {
  const stripe = stripeOf(gateway)
  const { id, status, total, walletId } = invoice
  if (status === 'paid' || status === 'nothing_due') throw invalid('id', `The invoice ${id} is not open.`)
  if (total < CHECKOUT_LEAST)
    throw invalid('method', 'Stripe takes no payment under 0.5 USD; pay this invoice from the wallet.')
  return must(
    await stripe.checkout({ walletId, invoiceId: id, amount: total, label: `Invoice ${id}`, ...payer }),
  )
}

/** Forgets the saved card, here and at Stripe; throws the 404 if there is none. */
export const forgetCard = async (gateway: Gateway, walletId: WalletId, by?: Actor): Promise<void> => {
  const stripe = stripeOf(gateway)
  const method = await gateway.store.funding.forgetPaymentMethod(walletId, by)
  if (method === undefined) throw refuse('not_found', 'The wallet has no saved payment method.')
  await stripe.detach(method).catch(() => {
    // The card is not charged any more in either case; it stays listed at Stripe until the operator removes it.
    gateway.log.warn('Stripe did not detach a payment method', { kind: 'checkout' })
  })
}
