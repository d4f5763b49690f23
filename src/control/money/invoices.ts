/** Acts on post-paid billing: the credit line with its invoices, statements of a month, and paying. */

import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { greatest, type Nano } from '../../core/money.ts'
import { invalid, must, type Refusal, refuse, retryIn } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { creditsOf } from '../../gateway/parts/credits.ts'
import { CHECKOUT_LEAST } from '../../payment/checkout-amount.ts'
import { payFromWallet } from '../../payment/pay-invoice.ts'
import type { CreditLine, Invoice } from '../../store/funding/funding-port.ts'
import { type Acting, act } from '../act.ts'
import { payer, reachesWallet, walletIn } from '../org-of.ts'
import { isoOf, name } from '../read.ts'
import { time, usd } from '../shown-key.ts'
import { orgsOf } from '../who.ts'
import { openedAt, stripeOf } from './checkouts.ts'

const lineShape = {
  wallet: z.string(),
  status: z.enum(['active', 'past_due', 'withdrawn']),
  limit_usd: usd,
  owed_usd: usd,
  held_usd: usd,
  available_usd: usd,
  net_days: z.int(),
}
export const creditLine = namedObject('CreditLine', lineShape)

export const lineShown = (line: CreditLine) => ({
  wallet: line.walletId,
  status: line.status,
  limit_usd: line.limit,
  owed_usd: line.owed,
  held_usd: line.held,
  // Nothing while the line is suspended.
  available_usd: line.status === 'active' ? greatest(line.limit - line.owed - line.held, 0n) : 0n,
  net_days: line.netDays,
})

export const invoice = namedObject('Invoice', {
  id: z.string(),
  month: z.string(),
  status: z.enum(['open', 'past_due', 'paid', 'nothing_due']),
  brought_usd: usd,
  used_usd: usd,
  total_usd: usd.describe('In whole cents'),
  carried_usd: usd,
  issued_at: time,
  due_at: time,
  paid_at: time.nullable(),
})

export const invoiceShown = (it: Invoice): z.output<typeof invoice> => ({
  id: it.id,
  month: it.month,
  status: it.status,
  brought_usd: it.brought,
  used_usd: it.used,
  total_usd: it.total,
  carried_usd: it.carried,
  issued_at: isoOf(it.issuedAt),
  due_at: isoOf(it.dueAt),
  paid_at: it.paidAt === undefined ? null : isoOf(it.paidAt),
})

export const billingGet = act({
  name: 'billing.get',
  summary: 'Post-paid billing (mpp): the credit line beside the wallet, the amount owed, and the invoices.',
  reads: ['wallet_read', 'bill'],
  input: payer,
  shows: namedObject('BillingShown', {
    ...z.object(lineShape).partial().shape,
    wallet: z.string(),
    status: z.enum(['none', 'active', 'past_due', 'withdrawn']),
    invoices: z.array(invoice),
  }),
  does: async (acting, of) => {
    const { credit } = acting.control.store
    const wallet = await walletIn(acting, of)
    const line = await credit.creditLine(wallet)
    const invoices = line === undefined ? [] : await credit.invoices(wallet)
    return {
      ...(line === undefined ? { wallet, status: 'none' as const } : lineShown(line)),
      invoices: invoices.map(invoiceShown),
    }
  },
})

export const creditList = act({
  name: 'credit.list',
  summary: 'The credit lines of all wallets.',
  reads: ['credit'],
  input: {},
  shows: namedObject('CreditList', { data: z.array(creditLine) }),
  does: async ({ control: { store }, who }) => {
    const lines = await store.credit.creditLines()
    const orgs = orgsOf(who)
    if (orgs === 'all') return { data: lines.map(lineShown) }
    const wallets = new Set((await Promise.all(orgs.map(store.reports.walletsOf))).flat())
    return { data: lines.filter(({ walletId }) => wallets.has(walletId)).map(lineShown) }
  },
})

export const billingStatement = act({
  name: 'billing.statement',
  summary: 'The statement of one UTC month, such as 2026-11.',
  reads: ['wallet_read', 'bill'],
  input: { ...payer, month: z.string() },
  shows: namedObject('StatementShown', {
    wallet: z.string(),
    month: z.string(),
    opening_usd: usd,
    used_usd: usd,
    paid_usd: usd,
    closing_usd: usd,
    lines: z.array(
      z.object({
        key: z.string(),
        label: z.string(),
        model: z.string(),
        requests: z.int(),
        input_tokens: z.int(),
        output_tokens: z.int(),
        amount_usd: usd,
      }),
    ),
    invoice: invoice.nullable(),
  }),
  does: async (acting, { month, ...of }) => {
    const found = await acting.control.store.credit.statement(await walletIn(acting, of), month)
    if (found === undefined)
      throw refuse(
        'not_found',
        'There is no statement of that month; it is written as 2026-11 and begins with the credit line.',
      )
    return {
      wallet: found.walletId,
      month: found.month,
      opening_usd: found.opening,
      used_usd: found.used,
      paid_usd: found.paid,
      closing_usd: found.closing,
      lines: found.lines.map((line) => ({
        key: line.keyId,
        label: line.label,
        model: line.model,
        requests: line.requests,
        input_tokens: line.inputTokens,
        output_tokens: line.outputTokens,
        amount_usd: line.amount,
      })),
      invoice: found.invoice === undefined ? null : invoiceShown(found.invoice),
    }
  },
})

/** An invoice of a wallet in reach. Throws the 404. */
export const invoiceIn = async (acting: Acting, id: string): Promise<Invoice> => {
  const noSuch = refuse(
    'not_found',
    'There is no such invoice, or it is not yours; GET /api/billing lists them.',
  )
  const found = must((await acting.control.store.credit.invoice(id)) ?? noSuch)
  if (!(await reachesWallet(acting, found.walletId))) throw noSuch
  return found
}

const tooLittle = async ({ control }: Acting, { total, walletId }: Invoice): Promise<Refusal> => {
  const credits = creditsOf(control)
  const wallet = await control.store.wallets.wallet(walletId)
  const available: Nano = wallet === undefined ? 0n : wallet.balance - wallet.held
  return refuse(
    'insufficient_balance',
    'The wallet holds less than the invoice; add credits or pay by stripe.',
    {
      members: {
        required_credits: credits(total),
        available_credits: credits(greatest(available, 0n)),
        held_credits: credits(wallet?.held ?? 0n),
        limit: 'wallet',
      },
    },
  )
}

const paid = {
  invoice,
  outcome: z
    .enum(['paid', 'paid_before', 'opened'])
    .describe('`opened`: a checkout, at which it can be paid'),
}

const nowPaid = async (acting: Acting, was: Invoice, outcome: 'paid' | 'paid_before') => {
  if (outcome === 'paid_before') acting.unchanged?.()
  return { invoice: invoiceShown(await invoiceIn(acting, was.id)), outcome }
}

const checkoutFor = async (acting: Acting, { id, status, total, walletId }: Invoice) => {
  stripeOf(acting.control)
  if (status === 'paid' || status === 'nothing_due') throw invalid('id', `The invoice ${id} is not open.`)
  if (total < CHECKOUT_LEAST)
    throw invalid('method', 'Stripe takes no payment under 0.5 USD; pay this invoice from the wallet.')
  const opened = await openedAt(acting, { walletId, invoiceId: id, amount: total, label: `Invoice ${id}` })
  return { ...opened, amount_usd: total }
}

export const invoicePay = act({
  name: 'invoice.pay',
  summary: 'Pays an invoice from the wallet, or opens a checkout of Stripe for it.',
  changes: ['wallet', 'bill'],
  input: { invoice: name, method: z.enum(['wallet', 'stripe'], 'must be wallet or stripe') },
  shows: namedObject('InvoicePaid', {
    ...paid,
    checkout: z.object({ id: z.string(), url: z.string(), amount_usd: usd }).nullable(),
  }),
  does: async (acting, { invoice: id, method }) => {
    const { control, who } = acting
    const found = await invoiceIn(acting, id)
    if (method === 'stripe') {
      const checkout = await checkoutFor(acting, found)
      return { invoice: invoiceShown(found), outcome: 'opened' as const, checkout }
    }
    const outcome = await payFromWallet(control.store.credit, control.clock, found.id, who.actor)
    if (outcome === 'leased')
      throw refuse(
        'balance_held',
        'Servers hold money of the wallet for calls; nothing changed. Try again.',
        retryIn(1),
      )
    if (outcome !== 'paid' && outcome !== 'paid_before') throw await tooLittle(acting, found)
    return { ...(await nowPaid(acting, found, outcome)), checkout: null }
  },
})

export const invoiceSettle = act({
  name: 'invoice.settle',
  summary: 'Notes that an invoice was paid to the operator in another way.',
  changes: ['credit'],
  input: { invoice: name, ref: name.optional().describe('Your reference of the money received') },
  shows: namedObject('InvoiceSettled', paid),
  does: async (acting, { invoice: id, ref }) => {
    const { control, who } = acting
    const found = await invoiceIn(acting, id)
    const note = ref === undefined ? {} : { note: storable(ref) }
    const outcome = await control.store.credit.payInvoice({ id: found.id, from: 'cash', ...note }, who.actor)
    return nowPaid(acting, found, outcome === 'paid' ? outcome : 'paid_before')
  },
})
