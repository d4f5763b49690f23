/**
 * Settles a payment: recorded before it is sent, posted when the money is ours. An unknown outcome stays open until the
 * facilitator or the chain gives it. It is never taken as a no, because a payer who hears no pays again.
 */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Log } from '../../core/log.ts'
import type { Instant } from '../../core/time.ts'
import type { Payment, PaymentStore } from '../../store/payments/payment-port.ts'
import type { Chain } from './chain.ts'
import type { Facilitator, FacilitatorSettled } from './facilitator.ts'
import type { ChainState } from './node.ts'
import { nanoOfUnits, type Offer } from './offer.ts'
import type { Presented } from './presented.ts'

export type SettlementParts = {
  readonly store: PaymentStore
  readonly facilitator: Facilitator
  readonly chain: Chain
  readonly log: Log
  readonly now: () => Instant
  readonly firstTryMs: number
}

export type Collected =
  | { readonly outcome: 'settled'; readonly transaction: string }
  /** No money moved; the reason is a code. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** It pays for another request. */
  | { readonly outcome: 'used' }
  /** The facilitator cannot be reached; nothing was sent for settlement. */
  | { readonly outcome: 'unreachable' }
  | { readonly outcome: 'unknown' }

export type PaymentToCollect = {
  readonly presented: Presented
  readonly requirements: JsonObject
  readonly callId: string
  readonly fingerprint: string
  readonly account: string
  /** What is paid for, if it is not a call. */
  readonly invoiceId?: string | undefined
  readonly creditTo: string | undefined
}

/** What is stored of a payment while its outcome is open. */
type SentPayment = {
  readonly payload: JsonObject
  readonly requirements: JsonObject
  readonly network: string
  readonly asset: string
  readonly payer: string
  readonly nonce: string
  /** The units that the payer signed for. */
  readonly units: string
  readonly validBefore: number
}

/** A facilitator's reasons that may mean that the authorization is already on the chain. */
const MAY_BE_PAID = /nonce_already_used$|simulation_failed$/
/** After a successful verification, this reason means that the nonce has been used since. */
const WAS_TAKEN = /nonce_already_used$/

/** A chain's clock may be behind. */
const CHAIN_LATE_MS = 60_000

/** Takes the payment for one call: only once, however often and from however many processes this is called. */
export const collect = async (parts: SettlementParts, it: PaymentToCollect): Promise<Collected> => {
  const { store, facilitator } = parts
  const { presented, requirements } = it
  const known = await store.payment(presented.id)
  if (known !== undefined && known.state !== 'failed') {
    if (known.callId !== it.callId) return { outcome: 'used' }
    return resolve(parts, known, presented.offer)
  }
  const verified = await facilitator.verify({ payload: presented.payload, requirements })
  if (verified.outcome === 'unknown') return { outcome: 'unreachable' }
  if (verified.outcome === 'invalid') {
    // Anyone can put a signed authorization on the chain: then the money arrived without our doing.
    const seen = MAY_BE_PAID.test(verified.reason) ? await parts.chain.look(presented) : undefined
    if (seen?.state !== 'paid') return { outcome: 'refused', reason: verified.reason }
  }
  const payment = await store.beginPayment({
    id: presented.id,
    callId: it.callId,
    fingerprint: it.fingerprint,
    account: it.account,
    amount: nanoOfUnits(presented.offer, presented.units),
    payer: presented.payer,
    ...(it.invoiceId === undefined ? {} : { invoiceId: it.invoiceId }),
    ...(it.creditTo === undefined ? {} : { creditTo: it.creditTo }),
    sent: JSON.stringify(sentOf(presented, requirements)),
    firstTryMs: parts.firstTryMs,
  })
  if (payment.callId !== it.callId) return { outcome: 'used' }
  return resolve(parts, payment, presented.offer, 'first')
}

/** Ends an open payment if its outcome can be known by now; for one that has ended, returns how. */
export const resolve = async (
  parts: SettlementParts,
  payment: Payment,
  offer: Offer,
  attempt: 'first' | 'again' = 'again',
): Promise<Collected> => {
  if (payment.state === 'settled') return { outcome: 'settled', transaction: payment.transaction ?? '' }
  const sent = payment.sent === undefined ? undefined : readSent(payment.sent)
  if (sent === undefined) return { outcome: 'unknown' }
  const { payload } = sent
  const units = (payment.amount / offer.nanoPerUnit).toString()
  const { scheme } = payment
  // An authorised payment is settled for what its call was charged.
  const requirements = scheme === 'upto' ? { ...sent.requirements, amount: units } : sent.requirements
  let answer = await parts.facilitator.settle({ payload, requirements })
  const pending = answer.outcome === 'unknown' && answer.reason === 'settlement_pending'
  // On its way. If we ask again, the facilitator waits for that transaction, or refuses because it used the nonce.
  if (pending) answer = await parts.facilitator.settle({ payload, requirements })
  const first = attempt === 'first' && !pending
  // The operator may have named another address since.
  const { payTo } = sent.requirements
  const asked = typeof payTo === 'string' ? { ...offer, payTo } : offer
  const verdict = await judge(parts, answer, { sent: { ...sent, units }, scheme, offer: asked, first })
  const line = { payment: payment.id, outcome: verdict.outcome }
  if (verdict.outcome === 'unknown') parts.log.warn('the outcome of a payment is not known', line)
  else parts.log.info('payment', line)
  if (verdict.outcome === 'settled') await parts.store.settlePayment(payment.id, verdict.transaction)
  if (verdict.outcome === 'refused') await parts.store.failPayment(payment.id, verdict.reason, payment.sent)
  if (verdict.outcome !== 'unknown') return verdict
  // Another attempt may have learnt it meanwhile.
  const now = await parts.store.payment(payment.id)
  return now?.state === 'settled' ? { outcome: 'settled', transaction: now.transaction ?? '' } : verdict
}

type Case = {
  readonly sent: SentPayment
  readonly scheme: Payment['scheme']
  readonly offer: Offer
  readonly first: boolean
}

const judge = async (
  { chain, now }: SettlementParts,
  answer: FacilitatorSettled,
  { sent, scheme, offer, first }: Case,
): Promise<Exclude<Collected, { outcome: 'used' | 'unreachable' }>> => {
  if (answer.outcome === 'settled') return answer
  if (answer.outcome === 'refused' && answer.certain) return { outcome: 'refused', reason: answer.reason }
  const seen: ChainState = await chain.look({ ...sent, scheme, offer })
  if (seen.state === 'paid') return { outcome: 'settled', transaction: seen.transaction }
  const reason = answer.reason
  if (seen.state === 'spent') return { outcome: 'refused', reason }
  if (seen.state === 'unused' && seen.blockTime >= sent.validBefore)
    return { outcome: 'refused', reason: 'payment_expired' }
  if (answer.outcome === 'unknown') return { outcome: 'unknown' }
  // An answered call is not given up while its payer's money may still come.
  if (scheme === 'upto') {
    const over = seen.state === 'unknown' && now() >= sent.validBefore * 1000 + CHAIN_LATE_MS
    return over ? { outcome: 'refused', reason } : { outcome: 'unknown' }
  }
  // The first clear no counts, unless it says that the nonce was used and nobody can tell by whom. After an unknown
  // outcome an earlier transaction may still be on its way, so a no counts only once the chain can no longer take the
  // authorization.
  const taken = WAS_TAKEN.test(reason) && seen.state === 'unknown'
  return first && !taken ? { outcome: 'refused', reason } : { outcome: 'unknown' }
}

/** What is stored of a payment until its outcome is known. */
export const sentOf = (presented: Presented, requirements: JsonObject): SentPayment => ({
  payload: presented.payload,
  requirements,
  network: presented.offer.network,
  asset: presented.offer.asset,
  payer: presented.payer,
  nonce: presented.nonce,
  units: presented.units,
  validBefore: presented.validBefore,
})

const readSent = (text: string): SentPayment | undefined => {
  const value = parseJson(text)
  if (!isObject(value) || !isObject(value.payload) || !isObject(value.requirements)) return undefined
  const { payload, requirements, network, asset, payer, nonce, units, validBefore } = value
  if (typeof network !== 'string' || typeof asset !== 'string' || typeof payer !== 'string') return undefined
  if (typeof nonce !== 'string' || typeof units !== 'string' || typeof validBefore !== 'number')
    return undefined
  return { payload, requirements, network, asset, payer, nonce, units, validBefore }
}

/** Whether an open payment was made in this token, or a voucher on its chain. */
export const isIn = (payment: Payment, offer: Offer): boolean =>
  payment.id.startsWith(
    payment.scheme === 'batch-settlement'
      ? `${offer.network}:`
      : `${offer.network}:${offer.asset}:`.toLowerCase(),
  )
