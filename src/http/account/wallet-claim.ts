/** POST /api/wallet/claim: moves the change of an x402 payment made without a key to the calling key's wallet, once. */
import { isObject } from '../../core/json-body.ts'
import { usdNumber } from '../../core/money.ts'
import { unavailable } from '../../core/refusal.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { receiptKeysOf } from '../../gateway/parts/receipt.ts'
import { verifyReceipt } from '../../receipts/token.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'
import { json } from '../answer/reply.ts'
import { callerOf } from '../request/caller.ts'
import { originOfCall } from '../request/origin.ts'
import type { BodyHandler } from '../request/with-body.ts'
import type { ClaimOfChange } from '../schema/funding-bodies.ts'

export const claimChange: BodyHandler<ClaimOfChange> = async (gateway, call, read) => {
  takeGuestTurn(gateway, 'claim', originOfCall(gateway, call), call.trace)
  const caller = await callerOf(gateway, call)
  const body = await read()
  const payment = await paymentOf(gateway, body)
  const known = payment === undefined ? undefined : await gateway.store.payments.payment(payment)
  // The change of a payment that came with a key belongs to that key.
  if (payment === undefined || known === undefined || known.creditTo !== undefined)
    throw new HelperRefusal(
      'unknown_claim',
      'This is not the claim or the receipt of a payment without a key.',
    )
  const change = await gateway.payments.x402?.payChange(payment, caller.walletId)
  if (change === undefined) throw unavailable('The change cannot be paid out now.')
  if (change.outcome === 'paid') return json({ data: { credited_usd: usdNumber(change.amount) } })
  if (change.outcome === 'paid_before')
    throw new HelperRefusal('change_already_claimed', 'The change of that payment was claimed before.')
  throw new HelperRefusal(
    'not_served_yet',
    'A call of the payment is under way; its change is known when that has ended.',
  )
}

/** The payment that this claim, or this valid receipt, belongs to. */
const paymentOf = async (gateway: Gateway, body: ClaimOfChange): Promise<string | undefined> => {
  if ('claim' in body) return gateway.payments.x402?.paymentOfClaim(body.claim)
  const verdict = verifyReceipt(
    body.receipt,
    { keys: await receiptKeysOf(gateway), issuers: gateway.receipts?.issuers },
    gateway.clock.now(),
  )
  const payment = verdict.valid ? verdict.claims.payment : undefined
  return isObject(payment) && payment.mode === 'x402' && typeof payment.id === 'string'
    ? payment.id
    : undefined
}
