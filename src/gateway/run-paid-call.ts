/**
 * A call that brings its own payment (x402). The order: who calls, what is asked, its price; then the payment, which is
 * bound to this request; then, as for any call, hold, ask, meter, settle. One payment, one request, one answer.
 *
 * The payment's id takes the place of an Idempotency-Key: copies join the running call, later ones get the stored answer,
 * and what failed without a charge may be sent again under the same payment, which is not settled a second time.
 */
import { unknownSubWallet } from '../admission/caller.ts'
import { lowerOf } from '../admission/ceiling.ts'
import { canonicalJson } from '../core/canonical.ts'
import { decimalFromNano } from '../core/money.ts'
import { invalid, must, Refusal } from '../core/refusal.ts'
import { monthOf } from '../core/time.ts'
import type { IdempotencyRef } from '../ledger/words.ts'
import { bringsPayment, x402Unavailable } from '../payment/funding.ts'
import { nanoOfUnits } from '../payment/x402/offer.ts'
import { type Presented, readPayment } from '../payment/x402/presented.ts'
import { GUESTS_KEY, type X402 } from '../payment/x402.ts'
import { isEnabled, type Key } from '../tenancy/key.ts'
import type { Answer } from './answer.ts'
import { answerTask } from './answer-task.ts'
import { waitForRoom } from './discount-lane.ts'
import type { Gateway } from './gateway.ts'
import { takeGuestTurn } from './guest-turn.ts'
import { type Asked, type Incoming, readAsked, takeTurn, whoCalls } from './incoming.ts'
import { onceUnder, type Run, readIdempotencyKey } from './once-only.ts'
import { payingChange } from './paying-change.ts'
import {
  checkQuoted,
  PaymentDue,
  planPaid,
  type Quotable,
  quoteAnswer,
  requirementsOf,
  resourceAt,
} from './payment-due.ts'

import { requestHasher } from './receipt.ts'
import type { Plan } from './reserve.ts'
import { checkCaps, reservePaid } from './reserve-paid.ts'
import { rulesFor } from './rules.ts'
import { takePayment, tellPaid } from './take-payment.ts'
import type { Task } from './task.ts'
import type { Trace } from './trace.ts'

/** One paid request: everything about it that does not change. */
type Paying = Quotable & {
  readonly bearer: boolean
  readonly asked: Asked
  readonly plan: Plan
  readonly key: Key
  /** The sub-wallet that the call names. */
  readonly sub: string | undefined
  readonly presented: Presented | undefined
  readonly trace: Trace
}

/** Answers one call that is paid for by x402, or quotes its price. */
export const runPaidCall = async (gateway: Gateway, incoming: Incoming, trace: Trace): Promise<Answer> => {
  const { x402 } = gateway
  const bearer = incoming.authorization !== null
  const own = bearer ? await whoCalls(gateway, incoming.authorization, trace) : undefined
  const [offer, ...more] = x402?.offers() ?? []
  const { payment } = incoming
  if (x402 === undefined || offer === undefined || payment === undefined) throw x402Unavailable()
  const pays = bringsPayment(payment)
  const kind = pays ? 'payment' : 'quote'
  const uncount = bearer ? undefined : takeGuestTurn(gateway, kind, payment.origin(), trace)
  const key = own ?? (await guests(gateway, x402, trace))
  const sub = must(await subWalletOf(gateway, incoming, own))
  const read = await readAsked(gateway, incoming, trace)
  const { perCallMax } = must(await rulesFor(gateway, key, read.model))
  const asked = { ...read, ceiling: lowerOf(read.ceiling, perCallMax) }
  const offers = [offer, ...more] as const
  const plan = must(planPaid(gateway, asked, offers, x402.options.outputTokens))
  const { call, model } = asked
  const paying: Paying = {
    x402,
    offers,
    key,
    sub,
    bearer,
    asked,
    plan,
    bound: plan.amount,
    outputTokens: call.maxOutput === undefined && call.kind === 'chat' ? plan.output : undefined,
    fingerprint: fingerprintOf(gateway, incoming, asked, own),
    resource: resourceAt(x402, payment.url, `One call of ${model.id}`),
    change: bearer ? 'bearer' : 'none',
    presented: pays ? must(readPayment(payment, x402.options.offers)) : undefined,
    trace,
  }
  try {
    const answer = await payOnce(gateway, incoming, paying)
    // An answer that is only repeated is not paid again.
    if (trace.ended !== 'replayed' && trace.ended !== 'joined') uncount?.()
    return answer
  } catch (thrown) {
    if (!(thrown instanceof PaymentDue)) throw thrown
    // A payment that is not for anything taken here.
    const foreign = pays && paying.presented === undefined
    const reason = foreign ? 'quote_mismatch' : thrown.reason
    trace.ended = reason
    return quoteAnswer(gateway, paying, reason)
  }
}

/** The sub-wallet a call names, which must be the key's before anything is paid: a ceiling is never left out in silence. */
const subWalletOf = async (
  gateway: Gateway,
  { subWallet }: Incoming,
  own: Key | undefined,
): Promise<string | Refusal | undefined> => {
  if (subWallet === undefined) return undefined
  if (own === undefined)
    return invalid('X-Sub-Wallet', "'X-Sub-Wallet' names a part of a key's wallet; send the key with it.")
  return (await gateway.store.subWallet(own, subWallet)) === undefined ? unknownSubWallet() : subWallet
}

/** The key of callers without one; the operator may limit or disable it like any other. */
const guests = async (gateway: Gateway, x402: X402, trace: Trace): Promise<Key> => {
  const key = must(await gateway.book.caller(x402.guestsHash))
  if (key === undefined || !isEnabled(key, monthOf(gateway.clock.now()))) throw x402Unavailable()
  trace.keyId = key.id
  return key
}

const fingerprintOf = (gateway: Gateway, incoming: Incoming, asked: Asked, own: Key | undefined): string =>
  gateway.hash(
    canonicalJson([
      'x402',
      incoming.endpoint,
      asked.body.value,
      incoming.maxCostUsd ?? null,
      own?.id ?? null,
      incoming.subWallet ?? null,
    ]),
  )

/** Under what the answer is kept: the caller's own Idempotency-Key, else the payment. Neither means a quote. */
const refOf = (incoming: Incoming, { bearer, key, presented }: Paying): IdempotencyRef | undefined => {
  if (bearer && incoming.idempotencyKey !== undefined)
    return {
      keyId: key.id,
      endpoint: incoming.endpoint,
      key: must(readIdempotencyKey(incoming.idempotencyKey)),
    }
  return presented === undefined ? undefined : { keyId: GUESTS_KEY, endpoint: 'x402', key: presented.id }
}

/** A call that ends in a quote has done nothing: whoever sends junk leaves nothing behind. */
const isDue = (thrown: unknown): boolean => thrown instanceof PaymentDue

const payOnce = async (gateway: Gateway, incoming: Incoming, paying: Paying): Promise<Answer> => {
  const { presented, fingerprint, trace } = paying
  const ref = refOf(incoming, paying)
  if (ref === undefined) throw new PaymentDue('payment_required')
  if (presented === undefined)
    return onceUnder(gateway, { ref, fingerprint, trace, idle: isDue }, () =>
      Promise.reject(new PaymentDue('payment_required')),
    )
  const known = await gateway.store.payment(presented.id)
  const bound = known !== undefined && known.state !== 'failed'
  // Before the claim: a request that is not the one it pays for must not touch what the right one left.
  if (bound && known.fingerprint !== fingerprint) throw new PaymentDue('payment_already_used')
  const run: Run = async (keep, signal) => {
    if (!bound) await checkFirst(gateway, paying, presented)
    await waitForRoom(gateway, paying.asked.model, signal)
    const transaction = await takePayment({
      ...payerOf(paying, presented),
      requirements: requirementsOf(paying, presented),
      paidFor: trace.callId,
      fingerprint,
    })
    return answerTask(gateway, await openPaid(gateway, paying, { presented, transaction, keep, signal }))
  }
  const answer = await onceUnder(gateway, { ref, fingerprint, trace, idle: isDue }, run).catch(
    (thrown: unknown) => {
      const conflict = thrown instanceof Refusal && thrown.code === 'idempotency_key_reused'
      throw conflict && ref.keyId === GUESTS_KEY ? new PaymentDue('payment_already_used') : thrown
    },
  )
  // Copies that joined and later ones are told of the payment as well.
  if (trace.headers['payment-response'] === undefined) {
    const settled = await gateway.store.payment(presented.id)
    if (settled?.transaction !== undefined) tellPaid(payerOf(paying, presented), settled.transaction)
  }
  return answer
}

/** Who is told of the payment, and whose its change is. */
const payerOf = ({ x402, trace, bearer, key }: Paying, presented: Presented) => ({
  x402,
  trace,
  presented,
  creditTo: bearer ? key.walletId : undefined,
})

/** What can be told before any money moves: that the quote holds, and that the caller may call. */
const checkFirst = async (gateway: Gateway, paying: Paying, presented: Presented): Promise<void> => {
  const { key, sub, bearer, plan, trace } = paying
  checkQuoted(gateway, paying, presented)
  // Guests pay before anything is done for them; they are counted only if the operator has set them a rate.
  if (bearer || key.limits.rpm !== undefined) await takeTurn(gateway, key, trace)
  await checkCaps(gateway, { key, sub }, plan.amount)
}

type Opening = {
  readonly presented: Presented
  readonly transaction: string
  readonly keep: Task['keep']
  readonly signal: AbortSignal
}

/** Holds the paid money and makes the task that carries it. */
const openPaid = async (
  gateway: Gateway,
  paying: Paying,
  { presented, transaction, keep, signal }: Opening,
): Promise<Task> => {
  const { x402, key, sub, bearer, asked, plan, trace } = paying
  const { call, model, ceiling, body } = asked
  const { id, payer, offer, units } = presented
  const account = x402.accountOf(id)
  const paid = nanoOfUnits(offer, units)
  const reserved = await reservePaid(
    gateway,
    { key, sub, call, model, callId: trace.callId },
    { plan, account, paid },
  )
  if (reserved === 'spent') throw new PaymentDue('payment_already_used')
  const { lowered, hold, ...held } = must(reserved)
  if (lowered !== undefined) trace.headers['x-max-tokens-lowered'] = String(lowered)
  const payChange = async () => {
    if (bearer) await x402.payChange(id, key.walletId)
  }
  return {
    key,
    call,
    model,
    trace,
    keep,
    signal,
    account,
    payment: {
      mode: 'x402',
      scheme: 'exact',
      network: offer.network,
      asset: offer.asset.toLowerCase(),
      id,
      payer,
      transaction,
      paid_usd: decimalFromNano(paid),
    },
    requestHash: requestHasher(gateway, body.bytes),
    limit: ceiling,
    ...held,
    hold: payingChange(hold, payChange),
  }
}
