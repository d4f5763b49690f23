/** Money for wallets and invoices: Stripe's Checkout, and the events that say what was paid. */
import { usdNumber } from '../core/money.ts'
import { must, refuse } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import { CONSENT, forgetCard, openForInvoice, openTopUp, stripeOf } from '../gateway/checkouts.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { takeTurn } from '../gateway/key-turn.ts'
import type { Invoice } from '../store/funding/funding-port.ts'
import { accountManager, accountManagerOf, callerOf } from './caller.ts'
import { readBody } from './read-body.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'
import { addressOf } from './router.ts'
import type { CheckoutRequest } from './schema/funding-bodies.ts'
import type { BodyHandler } from './with-body.ts'

const EVENT_BYTES_MAX = 512 * 1024

export const postCheckout: BodyHandler<CheckoutRequest> = async (gateway, call, body) => {
  const key = await callerOf(gateway, call)
  stripeOf(gateway)
  const { amount_usd: amount, save_payment_method: save = false } = await body()
  // The wallet's rules may charge a saved card, so whoever may change the rules may save a card.
  if (save) accountManager(key)
  await takeTurn(gateway, key, call.trace)
  const opened = await openTopUp(gateway, {
    walletId: key.walletId,
    amount,
    save,
    payer: { origin: originOf(call) },
  })
  return json({ ...opened, amount_usd: usdNumber(amount), ...(save ? { consent: CONSENT } : {}) }, 201)
}

/** Forgets the card, here and at Stripe. */
export const deletePaymentMethod = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const key = await accountManagerOf(gateway, call)
  stripeOf(gateway)
  await takeTurn(gateway, key, call.trace)
  await forgetCard(gateway, key.walletId)
  return json({ deleted: true })
}

/** The address of this server as the caller wrote it. */
const originOf = (call: HttpCall): string => new URL(addressOf(call.request)).origin

/** A checkout for an unpaid invoice. */
export const payByStripe = async (gateway: Gateway, call: HttpCall, invoice: Invoice): Promise<Answer> => {
  const opened = await openForInvoice(gateway, invoice, { origin: originOf(call) })
  return json({ ...opened, amount_usd: usdNumber(invoice.total) }, 201)
}

/**
 * The checkout's id is its secret: whoever has it may see whether it is paid, including a browser that returns from
 * Stripe.
 */
export const getCheckout = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  stripeOf(gateway)
  const checkout = await gateway.store.funding.checkout(call.params.id ?? '')
  if (checkout === undefined) throw refuse('not_found', 'There is no such checkout.')
  const { id, amount, paid, invoiceId } = checkout
  return json({
    id,
    status: paid ? 'paid' : 'open',
    amount_usd: usdNumber(amount),
    invoice: invoiceId ?? null,
  })
}

/** Stripe repeats an event until it gets a 200, so we answer 200 to events that are not for us, too. */
export const stripeWebhook = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const stripe = stripeOf(gateway)
  const raw = await readBody(gateway, call, EVENT_BYTES_MAX)
  const outcome = must(await stripe.receive(raw, call.request.headers.get('stripe-signature')))
  return json({ received: true, outcome })
}
