/** Acts on payments by Stripe: checkouts that fund a wallet, the card that one saved, and the rule that charges it. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { must, refuse } from '../../core/refusal.ts'
import { checkoutAmount } from '../../payment/checkout-amount.ts'
import type { StripePayments } from '../../payment/stripe.ts'
import type { StripeCheckout } from '../../payment/stripe-requests.ts'
import type { Checkout } from '../../store/funding/funding-port.ts'
import { autoTopUp, readTopUp } from '../../tenancy/rules-body.ts'
import { type Acting, act, type Control } from '../act.ts'
import { payer, reachesWallet, walletIn } from '../org-of.ts'
import { flag, name } from '../read.ts'
import { done, usd } from '../shown-key.ts'
import { changeTopUp } from './rules.ts'

type Charging = Pick<StripePayments, 'checkout' | 'detach'>

/** Without Stripe, its addresses do not exist. */
export const noStripe = () =>
  refuse('not_found', 'This server takes no payments by Stripe; ask its operator to fund the wallet.')

export const stripeOf = ({ payments: { stripe } }: Pick<Control, 'payments'>): Charging => {
  if (stripe?.checkout === undefined || stripe.detach === undefined) throw noStripe()
  return { checkout: stripe.checkout, detach: stripe.detach }
}

/** What the payer reads before paying, and agrees to by paying. */
const CONSENT =
  'By paying you allow us to keep this card and to charge it later without asking you: the amount of the auto_top_up rule of your wallet, ' +
  'each time the wallet falls below the amount that the rule names, until you remove the rule or the card.'

/** Opens a checkout in the name of who acts. */
export const openedAt = async (
  { control, who }: Acting,
  ask: Omit<StripeCheckout, 'origin' | 'back' | 'by'>,
): Promise<{ readonly id: string; readonly url: string }> => {
  const { origin = '', back } = control.returnTo ?? { origin: control.origin }
  const to = back === undefined ? {} : { back }
  return must(await stripeOf(control).checkout({ ...ask, origin, ...to, by: who.actor }))
}

export const checkoutOpen = act({
  name: 'checkout.open',
  summary:
    'Opens a checkout of Stripe that funds the wallet, and saves the card for its auto_top_up rule if requested.',
  changes: ['wallet', 'fund'],
  amounts: 'paid',
  input: {
    ...payer,
    save_payment_method: flag().describe('Saves the card for the auto_top_up rule of the wallet'),
    amount_usd: checkoutAmount,
  },
  shows: namedObject('Checkout', {
    id: z.string(),
    url: z.string(),
    amount_usd: usd,
    consent: z.string().describe('What the payer of a checkout that saves the card agrees to').optional(),
  }),
  does: async (acting, { amount_usd: amount, save_payment_method: save = false, ...of }) => {
    const { control, who } = acting
    stripeOf(control)
    // The wallet's rules may charge a saved card, so whoever may change the rules may save a card.
    if (save) must(who.lacks(['wallet']))
    const walletId = await walletIn(acting, of)
    const { customer } = save ? await control.store.funding.topUpStatus(walletId) : {}
    const opened = await openedAt(acting, {
      walletId,
      amount,
      label: 'Model gateway credits',
      ...(save ? { saves: { consent: CONSENT, ...(customer === undefined ? {} : { customer }) } } : {}),
    })
    return { ...opened, amount_usd: amount, ...(save ? { consent: CONSENT } : {}) }
  },
})

export const checkoutState = namedObject('CheckoutState', {
  id: z.string(),
  status: z.enum(['open', 'paid']),
  amount_usd: usd,
  invoice: z.string().nullable(),
})

export const stateOf = ({ id, paid, amount, invoiceId }: Checkout): z.output<typeof checkoutState> => ({
  id,
  status: paid ? 'paid' : 'open',
  amount_usd: amount,
  invoice: invoiceId ?? null,
})

export const checkoutGet = act({
  name: 'checkout.get',
  summary: 'Whether a checkout is paid.',
  reads: ['wallet_read'],
  input: { checkout: name },
  shows: checkoutState,
  does: async (acting, { checkout: id }) => {
    const noSuch = refuse('not_found', 'There is no such checkout, or it is not yours.')
    const found = must((await acting.control.store.funding.checkout(id)) ?? noSuch)
    if (!(await reachesWallet(acting, found.walletId))) throw noSuch
    return stateOf(found)
  },
})

export const cardForget = act({
  name: 'card.forget',
  summary: 'Forgets the card that a checkout saved; it is not charged any more.',
  changes: ['wallet'],
  input: payer,
  shows: namedObject('MethodDeleted', { deleted: z.literal(true) }),
  does: async (acting, of) => {
    const { control, who } = acting
    const stripe = stripeOf(control)
    const walletId = await walletIn(acting, of)
    const method = await control.store.funding.forgetPaymentMethod(walletId, who.actor)
    if (method === undefined) throw refuse('not_found', 'The wallet has no saved payment method.')
    await stripe.detach(method).catch(() => {
      // The card is not charged any more in either case; it stays listed at Stripe until the operator removes it.
      control.log?.warn('Stripe did not detach a payment method', { kind: 'checkout' })
    })
    return { deleted: true as const }
  },
})

/** What is left out of the rule stays, so that a page that was opened earlier undoes nothing. */
export const topUpChange = act({
  name: 'top_up.change',
  summary: 'Sets the rule that charges the saved card, or what is sent of it; null removes it.',
  changes: ['wallet'],
  input: { ...payer, auto_top_up: autoTopUp },
  shows: done,
  does: async (acting, { auto_top_up: sent, ...of }) => {
    await changeTopUp(acting.control, {
      walletId: await walletIn(acting, of),
      change: (was) => (sent === null ? null : readTopUp('auto_top_up', sent, was)),
      by: acting.who.actor,
    })
    return { done: true as const }
  },
})
