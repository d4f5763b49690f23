/**
 * Paying in the console: Stripe checkouts, the saved card and its rule, invoices. Each change is recorded together with
 * its event.
 */
import type { Nano } from '../core/money.ts'
import { must, refuse } from '../core/refusal.ts'
import { changeTopUp } from '../gateway/change-rules.ts'
import { forgetCard, openForInvoice, openTopUp } from '../gateway/checkouts.ts'
import { payFromWallet } from '../payment/pay-invoice.ts'
import type { Invoice } from '../store/funding/funding-port.ts'
import { type AutoTopUpChange, autoTopUpBody, readTopUp } from '../tenancy/rules-body.ts'
import type { AutoTopUp } from '../tenancy/wallet-rules.ts'
import { actorOf, type ConsoleRoute, type Here, type Reply, type Within, within } from './here.ts'
import { walletOf } from './make-key.ts'
import { bodied, usdOf } from './read.ts'
import { done } from './schema/shared.ts'
import { checkoutState, invoicePaid, payBody, topUp, topUpBody } from './schema/wallet.ts'

/** Payers return to the page that they left. */
const payerOf = (here: Within) => {
  const origin = here.settings.origin ?? here.request.origin
  return { origin, back: `${origin}/console/wallet`, by: actorOf(here) }
}

type TopUp = { readonly amount_usd: Nano; readonly save_card?: boolean | undefined }

/** Opens a Stripe checkout, as POST /api/wallet/checkout does for a key. */
const postTopUp = async (
  context: Here,
  { amount_usd: amount, save_card: save = false }: TopUp,
): Promise<Reply> => {
  const here = within(context)
  const opened = await openTopUp(here.gateway, {
    walletId: await walletOf(here),
    amount,
    save,
    payer: payerOf(here),
  })
  return { value: opened, status: 201 }
}

const getCheckout = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const found = await here.gateway.store.funding.checkout(here.request.params.id ?? '')
  if (found === undefined || found.walletId !== (await walletOf(here)))
    throw refuse('not_found', 'There is no such checkout, or it is not yours.')
  const { id, paid, amount, invoiceId } = found
  return { value: { id, paid, amount_usd: usdOf(amount), invoice: invoiceId ?? null } }
}

/** What is left out of the rule stays, so that a page that was opened earlier undoes nothing. */
const putAutoTopUp = async (context: Here, { auto_top_up: sent }: AutoTopUpChange): Promise<Reply> => {
  const here = within(context)
  const change = (was: AutoTopUp | undefined) =>
    sent === null ? null : must(readTopUp('auto_top_up', sent, was))
  await changeTopUp(here.gateway, { walletId: await walletOf(here), change, by: actorOf(here) })
  return { value: { done: true } }
}

const deleteCard = async (context: Here): Promise<Reply> => {
  const here = within(context)
  await forgetCard(here.gateway, await walletOf(here), actorOf(here))
  return { value: { done: true } }
}

const invoiceOf = async (here: Within): Promise<Invoice> => {
  const found = await here.gateway.store.credit.invoice(here.request.params.id ?? '')
  if (found === undefined || found.walletId !== (await walletOf(here)))
    throw refuse('not_found', 'There is no such invoice, or it is not yours.')
  return found
}

const short = ({ total }: Invoice) =>
  refuse(
    'insufficient_balance',
    `The wallet has less than the ${usdOf(total)} USD of the invoice; top it up, or pay the invoice by card.`,
    { members: { limit: 'wallet' } },
  )

const payInvoice = async (context: Here, { method }: { method: 'wallet' | 'stripe' }): Promise<Reply> => {
  const here = within(context)
  const { gateway } = here
  const invoice = await invoiceOf(here)
  if (method === 'stripe') {
    const { url } = await openForInvoice(gateway, invoice, payerOf(here))
    return { value: { paid: false, url } }
  }
  const outcome = await payFromWallet(gateway.store.credit, gateway.clock, invoice.id, actorOf(here))
  if (outcome === 'short' || outcome === 'leased') throw short(invoice)
  return { value: { paid: true, url: null } }
}

export const paymentRoutes: readonly ConsoleRoute[] = [
  bodied({
    method: 'POST',
    path: '/wallet/top-up',
    summary:
      'Opens a checkout of Stripe for the wallet; with `save_card` the card is kept for automatic top-ups.',
    audience: ['wallet'],
    body: topUpBody,
    answer: topUp,
    statuses: [201],
    handler: postTopUp,
  }),
  {
    method: 'GET',
    path: '/wallet/checkouts/:id',
    summary: 'Whether a checkout is paid.',
    audience: ['wallet_read'],
    answer: checkoutState,
    handler: getCheckout,
  },
  bodied({
    method: 'PUT',
    path: '/wallet/auto-top-up',
    summary: 'Sets the rule that charges the saved card, or what is sent of it; null removes it.',
    audience: ['wallet'],
    fresh: true,
    body: autoTopUpBody,
    answer: done,
    handler: putAutoTopUp,
  }),
  {
    method: 'DELETE',
    path: '/wallet/card',
    summary: 'Forgets the saved card; it is not charged any more.',
    audience: ['wallet'],
    fresh: true,
    answer: done,
    handler: deleteCard,
  },
  bodied({
    method: 'POST',
    path: '/wallet/invoices/:id/pay',
    summary: 'Pays an invoice from the wallet, or opens a checkout of Stripe for it.',
    audience: ['wallet'],
    body: payBody,
    answer: invoicePaid,
    handler: payInvoice,
  }),
]
