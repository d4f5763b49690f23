/** A call whose payment was taken, or authorised: its money held, and the task that carries it. */
import { decimalFromNano } from '../core/money.ts'
import { must } from '../core/refusal.ts'
import { nanoOfUnits } from '../payment/x402/offer.ts'
import type { Presented } from '../payment/x402/presented.ts'
import type { Key } from '../tenancy/key.ts'
import type { Gateway } from './gateway.ts'
import { type Asked, boundSent } from './incoming.ts'
import { settleAuthorized } from './pay-after.ts'
import { payingChange } from './paying-change.ts'
import { PaymentDue, type Quotable } from './payment-due.ts'
import { requestHasher } from './receipt.ts'
import type { Plan } from './reserve.ts'
import { reservePaid } from './reserve-paid.ts'
import type { PaymentFacts, Task } from './task.ts'
import type { Trace } from './trace.ts'

/** One paid request: everything about it that does not change. */
export type Paying = Quotable & {
  readonly bearer: boolean
  readonly asked: Asked
  readonly plan: Plan
  readonly key: Key
  /** The sub-wallet that the call names. */
  readonly sub: string | undefined
  readonly presented: Presented | undefined
  readonly trace: Trace
  /** Takes the request out of the count of those that nobody paid for. */
  readonly uncount: () => void
}

/** What pays for the call. */
export type Paid = {
  readonly payment: Pick<Presented, 'id' | 'payer' | 'scheme' | 'offer' | 'units'>
  /** Undefined while the payment is only authorised. */
  readonly transaction: string | undefined
}

type Opening = Paid & {
  readonly keep: Task['keep']
  readonly signal: AbortSignal
}

/** Holds the paid money and makes the task that carries it. */
export const openPaid = async (
  gateway: Gateway,
  paying: Paying,
  { payment, transaction, keep, signal }: Opening,
): Promise<Task> => {
  const { x402, key, sub, bearer, asked, plan, trace } = paying
  const { call, model, ceiling, body } = asked
  const { id, offer, units } = payment
  const account = x402.accountOf(id)
  const paid = nanoOfUnits(offer, units)
  const reserved = await reservePaid(
    gateway,
    { key, sub, call, model, callId: trace.callId, signal },
    { plan, account, paid },
  )
  if (reserved === 'spent') throw new PaymentDue('payment_already_used')
  const { hold, ...held } = must(reserved)
  return {
    key,
    model,
    trace,
    keep,
    signal,
    account,
    payment: factsOf({ payment, transaction }),
    requestHash: requestHasher(gateway, body.bytes),
    limit: ceiling,
    ...held,
    outputBound: boundSent(call, held.outputBound, trace),
    ...(transaction === undefined
      ? {
          hold,
          collect: async () => {
            const unpaid = await settleAuthorized({
              x402,
              trace,
              payment: { ...payment, version: paying.presented?.version ?? 2 },
            })
            if (unpaid === undefined) paying.uncount()
            return unpaid
          },
        }
      : { hold: bearer ? payingChange(hold, () => x402.payChange(id, key.walletId)) : hold }),
  }
}

/** What the receipt tells of the payment. */
const factsOf = ({ payment, transaction }: Paid): PaymentFacts => {
  const { scheme, offer, id, payer, units } = payment
  const amount = decimalFromNano(nanoOfUnits(offer, units))
  return {
    mode: 'x402',
    scheme,
    network: offer.network,
    asset: offer.asset.toLowerCase(),
    id,
    payer,
    ...(transaction === undefined ? { authorized_usd: amount } : { transaction, paid_usd: amount }),
  }
}
