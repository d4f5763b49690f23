/** Money for wallets and invoices: Stripe's Checkout, and the events that say what was paid. */
import { type Nano, nanoFromNumber, usdNumber } from '../core/money.ts'
import { invalid, must, type Refusal, refuse } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { takeTurn } from '../gateway/incoming.ts'
import { CENT } from '../ledger/invoice.ts'
import type { StripePayments } from '../payment/stripe.ts'
import type { Invoice } from '../store/funding-port.ts'
import { accountManager, accountManagerOf, callerOf } from './caller.ts'
import { addressOf } from './path.ts'
import { readBody, readSmallBody } from './read-body.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'

const EVENT_BYTES_MAX = 512 * 1024
/** Stripe takes no less. */
const LEAST: Nano = 50n * CENT
const MOST: Nano = 1_000_000n * CENT

/** Stripe, where it is set up; elsewhere its addresses do not exist. */
const stripeOf = (gateway: Gateway): StripePayments => {
  if (gateway.stripe === undefined)
    throw refuse('not_found', 'This server takes no payments by Stripe; ask its operator to fund the wallet.')
  return gateway.stripe
}

export const postCheckout = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const key = await callerOf(gateway, call)
  const stripe = stripeOf(gateway)
  const value = await readSmallBody(gateway, call)
  const { save_payment_method: save = false } = value
  if (typeof save !== 'boolean')
    throw invalid('save_payment_method', "'save_payment_method' must be true or false.")
  // What is saved may be charged by the rules of the wallet, so whoever may set those may save it.
  if (save) accountManager(key)
  const amount = must(readAmount(value.amount_usd))
  await takeTurn(gateway, key, call.trace)
  const { customer } = save ? await gateway.store.topUpStatus(key.walletId) : {}
  const opened = must(
    await stripe.checkout({
      walletId: key.walletId,
      amount,
      label: 'Model gateway credits',
      origin: originOf(call),
      ...(save ? { saves: { consent: CONSENT, ...(customer === undefined ? {} : { customer }) } } : {}),
    }),
  )
  return json({ ...opened, amount_usd: usdNumber(amount), ...(save ? { consent: CONSENT } : {}) }, 201)
}

/** What the payer is told before paying, and agrees to by paying. */
const CONSENT =
  'By paying you let us keep this card and charge it later without you: the amount of the auto_top_up rule of your wallet, ' +
  'each time the wallet falls below the amount that the rule names, until you remove the rule or the card.'

/** Forgets the card, here and at Stripe. */
export const deletePaymentMethod = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const key = await accountManagerOf(gateway, call)
  const stripe = stripeOf(gateway)
  await takeTurn(gateway, key, call.trace)
  const method = await gateway.store.forgetPaymentMethod(key.walletId)
  if (method === undefined) throw refuse('not_found', 'The wallet has no saved payment method.')
  await stripe.detach(method).catch(() => {
    // It is not charged any more in any case, and stays listed at Stripe for the operator to remove.
    gateway.log.warn('Stripe did not detach a payment method', { call: call.trace.callId })
  })
  return json({ deleted: true })
}

/** The address of this server as the caller wrote it. */
const originOf = (call: HttpCall): string => new URL(addressOf(call.request)).origin

const readAmount = (usd: unknown): Nano | Refusal => {
  const amount = nanoFromNumber(usd)
  return amount !== undefined && amount >= LEAST && amount <= MOST && amount % CENT === 0n
    ? amount
    : invalid('amount_usd', "'amount_usd' must be a number of USD from 0.5 to 10000, in whole cents.")
}

/** A checkout for an invoice that is not paid yet. */
export const payByStripe = async (gateway: Gateway, call: HttpCall, invoice: Invoice): Promise<Answer> => {
  const stripe = stripeOf(gateway)
  const { id, status, total, walletId } = invoice
  if (status === 'paid' || status === 'nothing_due') throw invalid('id', `The invoice ${id} is not open.`)
  if (total < LEAST)
    throw invalid('method', 'Stripe takes no payment under 0.5 USD; pay this invoice from the wallet.')
  const opened = must(
    await stripe.checkout({
      walletId,
      invoiceId: id,
      amount: total,
      label: `Invoice ${id}`,
      origin: originOf(call),
    }),
  )
  return json({ ...opened, amount_usd: usdNumber(total) }, 201)
}

/** Its id is the secret: whoever was given it may see whether it is paid, a browser that comes back from Stripe too. */
export const getCheckout = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  stripeOf(gateway)
  const checkout = await gateway.store.checkout(call.params.id ?? '')
  if (checkout === undefined) throw refuse('not_found', 'There is no such checkout.')
  const { id, amount, paid, invoiceId } = checkout
  return json({
    id,
    status: paid ? 'paid' : 'open',
    amount_usd: usdNumber(amount),
    invoice: invoiceId ?? null,
  })
}

/** Stripe sends an event again until it gets a 200, so what is not for us is answered with one too. */
export const stripeWebhook = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const stripe = stripeOf(gateway)
  const raw = await readBody(gateway, call, EVENT_BYTES_MAX)
  const outcome = must(await stripe.receive(raw, call.request.headers.get('stripe-signature')))
  return json({ received: true, outcome })
}
