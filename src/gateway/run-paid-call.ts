/**
 * A call that brings its own payment (x402). The order: who calls, what is asked, its price; then the payment, which is
 * bound to this request; then, as for any call, hold, ask, meter, settle. One payment, one request, one answer.
 *
 * The payment's id takes the place of an Idempotency-Key: copies join the running call, later ones get the stored answer,
 * and what failed without a charge may be sent again under the same payment, which is not settled a second time.
 */
import { lowerOf } from '../admission/ceiling.ts'
import { canonicalJson } from '../core/canonical.ts'
import { decimalFromNano } from '../core/money.ts'
import { must, Refusal, refuse, retryIn, unavailable } from '../core/refusal.ts'
import { monthOf } from '../core/time.ts'
import type { IdempotencyRef } from '../ledger/words.ts'
import { bringsPayment, x402Unavailable } from '../payment/funding.ts'
import { nanoOfUnits } from '../payment/x402/offer.ts'
import { type Presented, readPayment } from '../payment/x402/presented.ts'
import { checkQuote } from '../payment/x402/quote.ts'
import { outcomeHeaders, type Resource } from '../payment/x402/required.ts'
import type { Collected } from '../payment/x402/settlement.ts'
import { GUESTS_KEY, type X402 } from '../payment/x402.ts'
import { isEnabled, type Key } from '../tenancy/key.ts'
import type { Answer } from './answer.ts'
import { answerTask } from './answer-task.ts'
import { waitForRoom } from './discount-lane.ts'
import type { Gateway } from './gateway.ts'
import { type Asked, type Incoming, readAsked, takeTurn, whoCalls } from './incoming.ts'
import { onceUnder, type Run, readIdempotencyKey } from './once-only.ts'
import { payingChange } from './paying-change.ts'
import { PaymentDue, planPaid, type Quotable, quoteAnswer, requirementsOf } from './payment-due.ts'
import { requestHasher } from './receipt.ts'
import { checkCaps, reservePaid } from './reserve-paid.ts'
import { rulesFor } from './rules.ts'
import type { Task } from './task.ts'
import type { Trace } from './trace.ts'

/** One paid request: everything about it that does not change. */
type Paying = Quotable & {
  readonly key: Key
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
  const key = own ?? (await guests(gateway, x402, trace))
  const read = await readAsked(gateway, incoming, trace)
  const { perCallMax } = must(await rulesFor(gateway, key, read.model))
  const asked = { ...read, ceiling: lowerOf(read.ceiling, perCallMax) }
  const offers = [offer, ...more] as const
  const pays = bringsPayment(payment)
  const paying: Paying = {
    x402,
    offers,
    key,
    bearer,
    asked,
    plan: must(planPaid(gateway, asked, offers, x402.options.outputTokens)),
    fingerprint: fingerprintOf(gateway, incoming, asked, own),
    resource: resourceOf(x402, payment.url, asked),
    presented: pays ? must(readPayment(payment, x402.options.offers)) : undefined,
    trace,
  }
  try {
    return await payOnce(gateway, incoming, paying)
  } catch (thrown) {
    if (!(thrown instanceof PaymentDue)) throw thrown
    // A payment that is not for anything taken here.
    const foreign = pays && paying.presented === undefined
    const reason = foreign ? 'quote_mismatch' : thrown.reason
    trace.ended = reason
    return quoteAnswer(gateway, paying, reason)
  }
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
    ]),
  )

const resourceOf = (x402: X402, url: string, { model }: Asked): Resource => {
  const { origin, pathname } = new URL(url)
  return {
    url: (x402.options.publicUrl ?? origin) + pathname,
    description: `One call of ${model.id}`,
  }
}

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
    const transaction = await takeMoney(paying, presented)
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
    if (settled?.transaction !== undefined) tellPaid(paying, presented, settled.transaction)
  }
  return answer
}

/** What can be told before any money moves: that the quote holds, and that the caller may call. */
const checkFirst = async (gateway: Gateway, paying: Paying, presented: Presented): Promise<void> => {
  const { x402, key, bearer, plan, fingerprint, trace } = paying
  const { units, quoteId, offer } = presented
  const verdict = checkQuote(
    x402.hash,
    offer,
    { fingerprint, bound: plan.amount },
    { units, quoteId, now: gateway.clock.now() },
  )
  if (verdict !== 'good') throw new PaymentDue(verdict)
  // Guests pay before anything is done for them; they are counted only if the operator has set them a rate.
  if (bearer || key.limits.rpm !== undefined) await takeTurn(gateway, key, trace)
  await checkCaps(gateway, key, plan.amount)
}

/** Takes the payment, and gives the transaction on the chain. */
const takeMoney = async (paying: Paying, presented: Presented): Promise<string> => {
  const { x402, key, bearer, fingerprint, trace } = paying
  const collected: Collected = await x402.collect({
    presented,
    requirements: requirementsOf(paying, presented),
    callId: trace.callId,
    fingerprint,
    creditTo: bearer ? key.walletId : undefined,
  })
  switch (collected.outcome) {
    case 'settled':
      tellPaid(paying, presented, collected.transaction)
      return collected.transaction
    case 'refused': {
      const { version, offer, payer } = presented
      const { reason } = collected
      Object.assign(
        trace.headers,
        outcomeHeaders({ version, offer, payer, success: false, errorReason: reason }),
      )
      throw new PaymentDue(reason)
    }
    case 'used':
      throw new PaymentDue('payment_already_used')
    case 'unreachable':
      throw unavailable('The facilitator of x402 payments cannot be asked now.')
    default:
      throw unconfirmed()
  }
}

/** Never a 402: whoever is told to pay pays again. */
const unconfirmed = (): Refusal =>
  refuse(
    'payment_unconfirmed',
    'It is not known yet whether the payment went through. Send the same payment again in 5 s; do not sign a new one.',
    retryIn(5),
  )

const tellPaid = (paying: Paying, presented: Presented, transaction: string): void => {
  const { version, offer, payer, id } = presented
  Object.assign(paying.trace.headers, {
    ...outcomeHeaders({ version, offer, payer, success: true, transaction }),
    'cache-control': 'private, no-store',
    'access-control-expose-headers': 'PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Change-Claim',
    ...(paying.bearer ? {} : { 'x-change-claim': paying.x402.claimFor(id) }),
  })
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
  const { x402, key, bearer, asked, plan, trace } = paying
  const { call, model, ceiling, body } = asked
  const { id, payer, offer, units } = presented
  const account = x402.accountOf(id)
  const paid = nanoOfUnits(offer, units)
  const reserved = await reservePaid(
    gateway,
    { key, call, model, callId: trace.callId },
    {
      plan,
      account,
      paid,
    },
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
