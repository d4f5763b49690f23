/** Paying an invoice over HTTP: as the act does, or by x402, which answers first with a quote. */
import { perform } from '../../control/act.ts'
import { written } from '../../control/face.ts'
import { invoiceIn, invoicePay, invoiceShown } from '../../control/money/invoices.ts'
import { whoIsKey } from '../../control/who.ts'
import { usdNumber } from '../../core/money.ts'
import { invalid, must } from '../../core/refusal.ts'
import { monthOf } from '../../core/time.ts'
import { takeTurn } from '../../gateway/enter/key-turn.ts'
import { payInvoiceByX402 } from '../../gateway/paid/pay-invoice.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { paymentMode } from '../../payment/funding.ts'
import type { Invoice } from '../../store/funding/funding-port.ts'
import { json } from '../answer/reply.ts'
import { callerOf } from '../request/caller.ts'
import { originOfCall } from '../request/origin.ts'
import type { BodyHandler } from '../request/with-body.ts'
import { paymentHeaders } from '../route/headers.ts'
import type { HttpCall } from '../route/route.ts'
import { addressOf } from '../route/router.ts'
import type { PaymentRequest } from '../schema/funding-bodies.ts'

const shown = (invoice: Invoice) => written(invoiceShown(invoice), 'number')

export const payInvoice: BodyHandler<PaymentRequest> = async (gateway, call, body) => {
  const key = await callerOf(gateway, call)
  const who = whoIsKey(key, monthOf(gateway.clock.now()), originOfCall(gateway, call))
  must(who.lacks(['bill']))
  const method = await methodOf(call, body)
  const control = { ...gateway, returnTo: { origin: new URL(addressOf(call.request)).origin } }
  const invoice = await invoiceIn({ control, who }, call.params.id ?? '')
  await takeTurn(gateway, key, call.trace)
  if (method === 'x402') return payByX402(gateway, call, invoice)
  const paid = await perform(control, who, invoicePay, () => ({ invoice: invoice.id, method }))
  return paid.checkout === null
    ? json({ data: written(paid.invoice, 'number') })
    : json(written(paid.checkout, 'number'), 201)
}

const payByX402 = (gateway: Gateway, call: HttpCall, invoice: Invoice): Promise<Answer> =>
  payInvoiceByX402(gateway, {
    invoice,
    payment: { url: addressOf(call.request), ...paymentHeaders(call.request.headers) },
    trace: call.trace,
    show: async ({ amount }) => {
      const now = await gateway.store.credit.invoice(invoice.id)
      return json({ data: shown(now ?? invoice), credited_usd: usdNumber(amount) })
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
