/** The credit line of the caller's wallet: what it owes, statements by month, invoices and their payment. */
import { usdNumber } from '../core/money.ts'
import { invalid, must, refuse } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import { creditsOf } from '../gateway/credits.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { takeTurn } from '../gateway/key-turn.ts'
import { payInvoiceByX402 } from '../gateway/pay-invoice.ts'
import { paymentMode } from '../payment/funding.ts'
import { payFromWallet } from '../payment/pay-invoice.ts'
import { shownInvoice, shownLine, shownStatement } from '../payment/show-credit.ts'
import type { Invoice } from '../store/funding/funding-port.ts'
import type { Key } from '../tenancy/key.ts'
import { callerOf } from './caller.ts'
import { payByStripe } from './funding.ts'
import { paymentHeaders } from './headers.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'
import { addressOf } from './router.ts'
import type { PaymentRequest } from './schema/funding-bodies.ts'
import type { BodyHandler } from './with-body.ts'

/** The bill belongs to the organisation: a child key, or a key that is bound to a sub-wallet, does not see it. */
const billedKey = async (gateway: Gateway, call: HttpCall): Promise<Key> => {
  const key = await callerOf(gateway, call)
  if (key.ancestors.length > 0 || key.subWallet !== undefined)
    throw refuse(
      'forbidden',
      "The bill is the account's; a child key, or one that is bound to a sub-wallet, sees its own use under /v1/usage.",
    )
  return key
}

export const getBilling = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const { walletId } = await billedKey(gateway, call)
  const line = await gateway.store.credit.creditLine(walletId)
  const invoices = line === undefined ? [] : await gateway.store.credit.invoices(walletId)
  return json({
    data: {
      ...(line === undefined ? { wallet: walletId, status: 'none' } : shownLine(line)),
      invoices: invoices.map(shownInvoice),
    },
  })
}

export const getStatement = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const { walletId } = await billedKey(gateway, call)
  const statement = await gateway.store.credit.statement(walletId, call.params.month ?? '')
  if (statement === undefined)
    throw refuse(
      'not_found',
      'There is no statement of that month; it is written as 2026-11 and begins with the credit line.',
    )
  return json({ data: shownStatement(statement) })
}

export const payInvoice: BodyHandler<PaymentRequest> = async (gateway, call, body) => {
  const { method, invoice, key } = await readPayment(gateway, call, body)
  await takeTurn(gateway, key, call.trace)
  if (method === 'x402') return payByX402(gateway, call, invoice)
  if (method === 'stripe') return payByStripe(gateway, call, invoice)
  const outcome = await payFromWallet(gateway.store.credit, gateway.clock, invoice.id)
  if (outcome === 'short' || outcome === 'leased') throw await tooLittle(gateway, invoice)
  const paid = await gateway.store.credit.invoice(invoice.id)
  return json({ data: shownInvoice(paid ?? invoice) })
}

const payByX402 = (gateway: Gateway, call: HttpCall, invoice: Invoice): Promise<Answer> =>
  payInvoiceByX402(gateway, {
    invoice,
    payment: { url: addressOf(call.request), ...paymentHeaders(call.request.headers) },
    trace: call.trace,
    show: async ({ amount }) => {
      const now = await gateway.store.credit.invoice(invoice.id)
      return json({ data: shownInvoice(now ?? invoice), credited_usd: usdNumber(amount) })
    },
  })

type ReadPayment = () => Promise<PaymentRequest>

/** How the invoice is to be paid: as the body says, or by x402 as for calls, which needs no body. */
const methodOf = async ({ request }: HttpCall, body: ReadPayment): Promise<'wallet' | 'stripe' | 'x402'> => {
  const mode = paymentMode(
    request.headers.get('x-payment-protocol') ?? undefined,
    paymentHeaders(request.headers),
  )
  const byX402 = must(mode) === 'x402'
  if (byX402 && request.body === null) return 'x402'
  const { method } = await body()
  if (method === 'x402' || (byX402 && method === undefined)) return 'x402'
  if (byX402) throw invalid('method', "'method' must be x402, or left out, with X-Payment-Protocol: x402.")
  if (method !== undefined) return method
  throw invalid('method', "'method' must be wallet, stripe or x402.")
}

const readPayment = async (gateway: Gateway, call: HttpCall, body: ReadPayment) => {
  const key = await billedKey(gateway, call)
  const method = await methodOf(call, body)
  const invoice = await gateway.store.credit.invoice(call.params.id ?? '')
  if (invoice === undefined || invoice.walletId !== key.walletId)
    throw refuse('not_found', 'There is no such invoice, or it is not yours; GET /api/billing lists them.')
  return { method, invoice, key } as const
}

const tooLittle = async (gateway: Gateway, { total, walletId }: Invoice) => {
  const credits = creditsOf(gateway)
  const wallet = await gateway.store.wallets.wallet(walletId)
  const available = wallet === undefined ? 0n : wallet.balance - wallet.held
  return refuse(
    'insufficient_balance',
    'The wallet holds less than the invoice; add credits or pay by stripe.',
    {
      members: {
        required_credits: credits(total),
        available_credits: credits(available > 0n ? available : 0n),
        held_credits: credits(wallet?.held ?? 0n),
        limit: 'wallet',
      },
    },
  )
}
