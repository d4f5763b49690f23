/** An invoice paid by x402: quoted, taken once, and posted; what the invoice does not need goes to the wallet. */
import { canonicalJson } from '../../core/canonical.ts'
import { invalid, must, Refusal } from '../../core/refusal.ts'
import { bringsPayment, x402Unavailable } from '../../payment/funding.ts'
import { type PaymentHeaders, type Presented, readPayment } from '../../payment/x402/presented.ts'
import { GUESTS_KEY } from '../../payment/x402.ts'
import type { Invoice } from '../../store/funding/funding-port.ts'
import type { ChangePaid } from '../../store/payments/payment-port.ts'
import { onceUnder } from '../enter/once-only.ts'
import type { Answer } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import {
  checkQuoted,
  fingerprintsOf,
  isFor,
  PaymentDue,
  type Quotable,
  quoteAnswer,
  requirementsOf,
  resourceAt,
} from './payment-due.ts'
import { takePayment, unconfirmed } from './take-payment.ts'

type PayingInvoice = Quotable & { readonly invoice: Invoice; readonly trace: Trace }

type Request = {
  readonly invoice: Invoice
  readonly payment: PaymentHeaders & { readonly url: string }
  readonly trace: Trace
  /** The invoice as it stands now, and what the wallet was credited. */
  readonly show: (change: Extract<ChangePaid, { amount: unknown }>) => Promise<Answer>
}

/** Quotes the invoice, or takes the payment brought for it. */
export const payInvoiceByX402 = async (gateway: Gateway, request: Request): Promise<Answer> => {
  const { x402 } = gateway.payments
  const { invoice, payment, trace } = request
  const [offer, ...more] = x402?.offers() ?? []
  if (x402 === undefined || offer === undefined) throw x402Unavailable()
  const paying: PayingInvoice = {
    x402,
    offers: [offer, ...more],
    bound: invoice.total,
    outputTokens: undefined,
    uptoSeconds: undefined,
    voucherMs: undefined,
    ...fingerprintsOf(gateway, canonicalJson(['x402 invoice', invoice.id])),
    resource: resourceAt(x402, payment.url, `Invoice ${invoice.id}`),
    change: 'invoice',
    invoice,
    trace,
  }
  const pays = bringsPayment(payment)
  const presented = pays ? must(readPayment(payment, x402.options.offers, ['exact'])) : undefined
  try {
    if (presented === undefined) throw new PaymentDue(pays ? 'quote_mismatch' : 'payment_required')
    return await payOnce(gateway, paying, presented, request.show)
  } catch (thrown) {
    if (!(thrown instanceof PaymentDue)) throw thrown
    // Nobody is asked to pay what is not owed.
    checkOpen((await gateway.store.credit.invoice(invoice.id)) ?? invoice)
    trace.ended = thrown.reason
    return quoteAnswer(gateway, paying, thrown.reason)
  }
}

const checkOpen = ({ id, status }: Invoice): void => {
  if (status === 'paid' || status === 'nothing_due') throw invalid('id', `The invoice ${id} is not open.`)
}

/** Copies of a payment that arrive together count as one, here and across processes. */
const payOnce = async (
  gateway: Gateway,
  paying: PayingInvoice,
  presented: Presented,
  show: Request['show'],
): Promise<Answer> => {
  const { fingerprint, fingerprintBefore, trace } = paying
  const ref = { keyId: GUESTS_KEY, endpoint: 'x402', key: presented.id }
  const idle = (thrown: unknown) => thrown instanceof PaymentDue
  const run = async (): Promise<Answer> => {
    const answer = await show(await pay(gateway, paying, presented))
    // The invoice's state is read afresh each time; the payment itself records that it was taken.
    await gateway.store.idempotency.release(ref, gateway.instance)
    return answer
  }
  return onceUnder(gateway, { ref, fingerprint, fingerprintBefore, trace, idle }, run).catch(
    (thrown: unknown) => {
      const conflict = thrown instanceof Refusal && thrown.code === 'idempotency_key_reused'
      throw conflict ? new PaymentDue('payment_already_used') : thrown
    },
  )
}

const pay = async (gateway: Gateway, paying: PayingInvoice, presented: Presented) => {
  const { x402, invoice, fingerprint, trace } = paying
  const { id, walletId } = invoice
  const known = await gateway.store.payments.payment(presented.id)
  if (known === undefined || known.state === 'failed') {
    checkOpen(invoice)
    checkQuoted(gateway, paying, presented)
  } else if (!isFor(known, paying)) throw new PaymentDue('payment_already_used')
  await takePayment({
    x402,
    trace,
    presented,
    requirements: requirementsOf(paying, presented),
    paidFor: `invoice:${id}`,
    fingerprint,
    invoiceId: id,
    creditTo: walletId,
  })
  // The money is here. If this fails, the next round over payments does it.
  const change = await x402.payChange(presented.id, walletId)
  if (change === undefined || !('amount' in change)) throw unconfirmed()
  return change
}
