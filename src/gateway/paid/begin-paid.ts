/** What is known of a payment before its call claims its answer; most vouchers are new, and taken in one step with that claim. */
import { Refusal } from '../../core/refusal.ts'
import type { Presented } from '../../payment/x402/presented.ts'
import type { Claim } from '../../store/calls/idempotency-port.ts'
import type { Payment } from '../../store/payments/payment-port.ts'
import { hasRates } from '../enter/key-turn.ts'
import { jobShapeOf } from '../hold/job-hold.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Paid, PayingCall } from './open-paid.ts'
import { beginVoucher, usedBefore } from './pay-by-voucher.ts'
import { isFor, PaymentDue, quoteFault } from './payment-due.ts'
import { checkCaps } from './reserve-paid.ts'

/**
 * Takes the voucher with the claim, after all checks that a call would have to pass between the two. Undefined where one of them
 * fails, or where it must wait for its turn: then nothing was done, and whoever goes on in the usual order is told why.
 */
export const beginPaid = async (
  gateway: Gateway,
  paying: PayingCall,
  claim: Claim,
): Promise<Paid | undefined> => {
  const { x402, presented, key, bearer, request, plan, keptUnder, trace } = paying
  if (presented?.scheme !== 'batch-settlement') return undefined
  if (bearer || hasRates(key) || request.model.cheaper !== undefined) return undefined
  if (quoteFault(gateway, paying, presented) !== undefined) return undefined
  if (!(await fits(checkCaps(gateway, paying, plan.amount)))) return undefined
  const { fingerprint } = keptUnder
  // A job is noted by itself, and a name of the caller's own may be claimed beside it.
  const withIntent =
    claim.ref.key === presented.id && jobShapeOf(gateway.offering, request.model.id) === undefined
  const taken = await beginVoucher({ x402, trace, presented, fingerprint }, { claim, withIntent })
  return taken && { payment: presented, account: taken.channel.account, transaction: undefined, taken }
}

/**
 * The payment that the call brings, if it was taken before, for this request. Checked before the claim: a request that it is not for
 * must not touch the answer of the one it is for.
 */
export const boundBefore = async (
  gateway: Gateway,
  { x402, presented, keptUnder }: PayingCall,
  isPublic: (presented: Presented) => boolean,
): Promise<Payment | undefined> => {
  const known = presented && (await gateway.store.payments.payment(presented.id))
  if (presented === undefined || known === undefined || known.state === 'failed') return undefined
  const mine = isFor(known, keptUnder)
  // A voucher whose call was not charged pays for any other.
  if (known.scheme === 'batch-settlement' && known.state === 'authorized' && !mine) return undefined
  if (isPublic(presented)) throw new PaymentDue('payment_already_used')
  if (!mine) throw await usedBefore(x402, presented)
  return known
}

const fits = (check: Promise<void>): Promise<boolean> =>
  check.then(
    () => true,
    (thrown: unknown) => {
      if (thrown instanceof Refusal) return false
      throw thrown
    },
  )
