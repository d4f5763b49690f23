/**
 * A call that brings its own payment (x402). The order: who calls, what they ask, its price; then the payment, which is
 * bound to this request; then, as for any call, hold, ask, meter, settle. One payment, one request, one answer.
 *
 * The payment's id takes the place of an Idempotency-Key: copies join the running call, and later ones get the stored
 * answer. A call that failed without a charge may be sent again under the same payment, which is not settled twice.
 */
import { unknownSubWallet } from '../../admission/caller.ts'
import { lowerOf } from '../../admission/ceiling.ts'
import type { Soon } from '../../book/contract.ts'
import type { Call } from '../../core/call.ts'
import { canonicalJson } from '../../core/canonical.ts'
import { invalid, must, Refusal, refuse } from '../../core/refusal.ts'
import type { IdempotencyRef } from '../../ledger/types.ts'
import { bringsPayment, x402Unavailable } from '../../payment/funding.ts'
import type { Presented } from '../../payment/x402/presented.ts'
import { GUESTS_KEY } from '../../payment/x402.ts'
import type { Claim } from '../../store/calls/idempotency-port.ts'
import type { Payment } from '../../store/payments/payment-port.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { requiring } from '../enter/conditions.ts'
import { waitForCapacity } from '../enter/discount-lane.ts'
import { type CheckedRequest, type Incoming, readRequest, whoCalls } from '../enter/incoming.ts'
import { hasRates, takeCallTurn } from '../enter/key-turn.ts'
import { onceUnder, type RunCall, readIdempotencyKey } from '../enter/once-only.ts'
import { correctingAtEnd, type TokenTurn } from '../enter/token-turn.ts'
import { jobShapeOf } from '../hold/job-hold.ts'
import { answerRun, orItsRun } from '../jobs/answer-job.ts'
import { beginPaid, boundBefore } from '../paid/begin-paid.ts'
import { guestKey } from '../paid/guest-key.ts'
import { takeGuestTurn } from '../paid/guest-turn.ts'
import { openPaid, type Paid, type PayingCall, rulesPaid } from '../paid/open-paid.ts'
import { checkPaidFor, uptoSecondsOf } from '../paid/pay-after.ts'
import { usedBefore } from '../paid/pay-by-voucher.ts'
import {
  cardsWithin,
  checkQuoted,
  fingerprintsOf,
  PaymentDue,
  planPaid,
  quoteAnswer,
  resourceAt,
  underQuote,
} from '../paid/payment-due.ts'
import { askingOf, readBrought, realmOf } from '../paid/read-brought.ts'
import { checkCaps } from '../paid/reserve-paid.ts'
import { presentedIn, repeatPaymentHeaders, takeNow, takenBefore } from '../paid/take-paid.ts'
import { tellsPayment } from '../paid/take-payment.ts'
import type { Answer } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { answerTask } from './answer-task.ts'

const nothing = (): void => undefined

/** Who pays us call by call pays our price, and the reseller's statement bills the call once more. */
const billedByReseller = (): Refusal =>
  refuse(
    'forbidden',
    "The reseller of this key bills its calls, so that none is paid for by itself; leave 'X-Payment-Protocol' out.",
  )

const callerFor = async (gateway: Gateway, incoming: Incoming, trace: Trace): Promise<Key> =>
  requiring(await whoCalls(gateway, incoming.authorization, trace), incoming.requires)

/** Answers one call that is paid by x402, or quotes its price. */
export const runPaidCall = async (gateway: Gateway, incoming: Incoming, trace: Trace): Promise<Answer> => {
  const { x402 } = gateway.payments
  const bearer = hasKey(incoming)
  const own = bearer ? await callerFor(gateway, incoming, trace) : undefined
  if (own !== undefined && own.ancestors.length > 0) throw billedByReseller()
  const [offer, ...more] = x402?.offers() ?? []
  const { payment } = incoming
  if (x402 === undefined || offer === undefined || payment === undefined) throw x402Unavailable()
  const pays = bringsPayment(payment)
  const kind = pays ? 'payment' : 'quote'
  const uncount = bearer ? nothing : takeGuestTurn(gateway, kind, payment.origin(), trace)
  const key = own ?? requiring(await guestKey(gateway, x402, trace), incoming.requires)
  const sub = must(await subWalletOf(gateway, incoming, own))
  const read = await readRequest(gateway, incoming, { key, trace, keeps: false })
  checkAllRead(read.call)
  const { perCallMax } = await rulesPaid(gateway, { key, trace }, read)
  const request = { ...read, ceiling: lowerOf(read.ceiling, perCallMax) }
  const offers = [offer, ...more] as const
  const plan = must(planPaid(gateway, request, offers, x402.options.outputTokens))
  const { call, model } = request
  const fingerprints = fingerprintsOf(gateway, canonicalRequest(incoming, request, own))
  const realm = bearer ? undefined : realmOf(x402, payment, request.body)
  const brought = pays ? must(readBrought(x402, payment, { ...fingerprints, realm })) : undefined
  const presented = brought instanceof PaymentDue ? undefined : brought
  const job = jobShapeOf(gateway.offering, model.id)
  const paying: PayingCall = {
    x402,
    offers,
    key,
    sub,
    bearer,
    request,
    plan,
    bound: plan.amount,
    outputTokens: call.maxOutput === undefined && call.kind === 'chat' ? plan.output : undefined,
    ...fingerprints,
    resource: resourceAt(x402, payment.url, `One call of ${model.id}`),
    change: bearer ? 'bearer' : 'none',
    mpp: realm && {
      ...askingOf(realm, payment),
      cards: cardsWithin(x402, plan.amount, request.ceiling),
    },
    // The payer could empty the account while a job runs, so jobs take no payment that is only authorised.
    uptoSeconds: job === undefined ? uptoSecondsOf(gateway, x402) : undefined,
    voucherMs: job?.deadlineMs ?? gateway.options.timeouts.totalMs,
    presented,
    keptUnder: isNamed(incoming) ? fingerprints : underQuote(gateway, fingerprints, presented?.quoteId),
    trace,
    uncount,
  }
  return answerPaid(gateway, incoming, paying, brought)
}

/** Answers the call, or quotes its price; `brought` is what its payment was read as. */
const answerPaid = async (
  gateway: Gateway,
  incoming: Incoming,
  paying: PayingCall,
  brought: Presented | PaymentDue | undefined,
): Promise<Answer> => {
  const { trace, uncount } = paying
  try {
    if (brought instanceof PaymentDue) throw brought
    const answer = await payOnce(gateway, incoming, paying)
    // A repeated answer is not paid for again, and one that is paid for after the call is not paid for yet.
    const repeated = trace.ended === 'replayed' || trace.ended === 'joined'
    if (!repeated && paying.presented?.scheme === 'exact') uncount()
    return answer
  } catch (thrown) {
    if (thrown instanceof Refusal) throw tellKept(paying, thrown)
    if (!(thrown instanceof PaymentDue)) throw thrown
    // The payment is not for anything that we take here.
    const foreign = bringsPayment(incoming.payment) && brought === undefined
    const reason = foreign ? 'quote_mismatch' : thrown.reason
    trace.ended = reason
    return quoteAnswer(gateway, paying, reason, thrown.stands)
  }
}

/** A credential of the scheme `Payment` stands where a key would. */
const hasKey = ({ authorization, payment }: Incoming): boolean =>
  authorization !== null && payment?.mpp === undefined

/** Whether a key of the caller's stands for the request, whichever payment it brings. */
const isNamed = (incoming: Incoming): boolean => hasKey(incoming) || incoming.idempotencyKey !== undefined

/**
 * Whether anyone who reads the chain could send this payment: version 1 has no part that stays between payer and server.
 * What was taken is then given again only to who brings an Idempotency-Key, or the claim that came with the answer.
 */
const isPublic = ({ x402 }: PayingCall, incoming: Incoming, { version, id }: Presented): boolean =>
  version === 1 &&
  !isNamed(incoming) &&
  x402.paymentOfClaim(incoming.payment?.headers.get('x-change-claim') ?? '') !== id

/** The refusal of a call whose payment was taken says where the money is: its caller would sign another payment. */
const tellKept = ({ presented, trace, bearer }: PayingCall, refusal: Refusal): Refusal => {
  const { code, message, members, headers } = refusal
  const taken = presented?.scheme === 'exact' && tellsPayment(trace)
  // Its draft allows a receipt only on an answer that was good.
  delete trace.headers['payment-receipt']
  if (!taken || code === 'payment_unconfirmed') return refusal
  const later = bearer ? '; after that it is in the wallet' : ', or claim it at once (X-Change-Claim)'
  // A job is not run again: what it does not cost is change once it has ended.
  const kept =
    members.run_id === undefined
      ? `The payment is kept: send the same request with it again within a day${later}.`
      : `What the run does not cost of the payment ${bearer ? 'is in the wallet' : 'can be claimed (X-Change-Claim)'} when it has ended.`
  return refuse(code, `${message}${/[.!?]$/.test(message) ? '' : '.'} ${kept}`, { members, headers })
}

/** The quote is for what the request itself contains: nothing is fetched for a caller who has not paid. */
const checkAllRead = ({ media }: Call): void => {
  const [first] = media?.unread?.media ?? []
  if (first !== undefined)
    throw invalid(first.param, `'${first.param}' must be a data: address in a call that is paid by x402.`)
}

/**
 * The sub-wallet that the call names. It must be the key's before anything is paid, because a limit is never silently
 * ignored.
 */
const subWalletOf = async (
  gateway: Gateway,
  { subWallet }: Incoming,
  own: Key | undefined,
): Promise<string | Refusal | undefined> => {
  if (subWallet === undefined) return undefined
  if (own === undefined)
    return invalid('X-Sub-Wallet', "'X-Sub-Wallet' names a part of a key's wallet; send the key with it.")
  return (await gateway.store.subWallets.serving(own, subWallet)) === undefined
    ? unknownSubWallet()
    : subWallet
}

/** The request as a text that no other request has. */
const canonicalRequest = (incoming: Incoming, request: CheckedRequest, own: Key | undefined): string =>
  canonicalJson([
    'x402',
    incoming.endpoint,
    request.body.value,
    incoming.maxCostUsd ?? null,
    own?.id ?? null,
    incoming.subWallet ?? null,
    ...(incoming.requires === undefined ? [] : [incoming.requires]),
  ])

/**
 * The name under which the answer is kept: the caller's own Idempotency-Key, else the payment. Without either, a quote.
 * A guest has no key, so its payer tells its Idempotency-Keys from those of others.
 */
const refOf = (incoming: Incoming, { bearer, key, presented }: PayingCall): IdempotencyRef | undefined => {
  const { endpoint, idempotencyKey } = incoming
  const own = idempotencyKey === undefined ? undefined : must(readIdempotencyKey(idempotencyKey))
  if (bearer && own !== undefined) return { keyId: placeOf(key), endpoint, key: own }
  if (presented === undefined) return undefined
  const { id, payer } = presented
  return { keyId: GUESTS_KEY, endpoint: 'x402', key: own === undefined ? id : `${endpoint} ${payer} ${own}` }
}

/** A call that ends in a quote has done nothing, so junk requests leave nothing behind. */
const isDue = (thrown: unknown): boolean => thrown instanceof PaymentDue

const payOnce = async (gateway: Gateway, incoming: Incoming, paying: PayingCall): Promise<Answer> => {
  const { x402, presented, keptUnder, trace } = paying
  const ref = refOf(incoming, paying)
  if (ref === undefined) throw new PaymentDue('payment_required')
  const proposed = trace.callId
  const known: { payment?: Payment | undefined; begun?: Paid | undefined } = {}
  const bound = () => boundBefore(gateway, paying, (it) => isPublic(paying, incoming, it))
  const begin = async (claim: Claim): Promise<boolean> => {
    known.begun = await beginPaid(gateway, paying, claim)
    if (known.begun === undefined) known.payment = await bound()
    return known.begun !== undefined
  }
  const isVoucher = presented?.scheme === 'batch-settlement'
  if (!isVoucher) known.payment = await bound()
  const run: RunCall = async (keep, signal) => {
    const again = trace.callId !== proposed
    const before = known.begun ?? (await takenBefore(gateway, paying, { known: known.payment, again }))
    const turn = await (before === undefined ? checkFirst(gateway, paying) : takePaidTurn(gateway, paying))
    const open = async () => {
      if (before === undefined) await checkCaps(gateway, paying, paying.plan.amount)
      await waitForCapacity(gateway, paying.request.model, signal)
      return openPaid(gateway, paying, { ...(before ?? (await takeNow(gateway, paying))), keep, signal })
    }
    return answerTask(gateway, turn === undefined ? await open() : await correctingAtEnd(turn, open))
  }
  const checkRepeat = () => checkPaidFor(gateway, x402, trace)
  const ofRun = (id: string, kept?: IdempotencyRef) =>
    answerRun(gateway, { id, call: paying.request.call, trace, ref: kept })
  const once = {
    ref,
    ...keptUnder,
    trace,
    begin: isVoucher ? begin : undefined,
    idle: isDue,
    checkRepeat,
    ofRun,
  }
  const runOrIts: RunCall = (keep, signal) =>
    orItsRun(gateway, { keep, trace, ofRun }, () => run(keep, signal))
  const answer = await onceUnder(gateway, once, runOrIts).catch(async (thrown: unknown) => {
    const voucher = known.begun?.taken?.voucher
    if (voucher?.record !== undefined) x402.voucherOpened(voucher.channel)
    const conflict = thrown instanceof Refusal && thrown.code === 'idempotency_key_reused'
    throw conflict && ref.key === presented?.id ? await usedBefore(x402, presented) : thrown
  })
  if (presented !== undefined) await repeatPaymentHeaders(gateway, paying, presented)
  return answer
}

/** All checks that are possible before money moves: the quote holds, and the caller may call. */
const checkFirst = (gateway: Gateway, paying: PayingCall): Soon<TokenTurn | undefined> => {
  checkQuoted(gateway, paying, presentedIn(paying))
  return takePaidTurn(gateway, paying)
}

/** Each attempt takes its turn, also on money that was taken before: the vendor is asked again. */
const takePaidTurn = (
  gateway: Gateway,
  { key, bearer, plan, trace, request }: PayingCall,
): Soon<TokenTurn | undefined> => {
  // Guests pay before any work is done for them; they are counted only if the operator has set them a rate.
  if (!bearer && !hasRates(key)) return undefined
  const call = { ...request.call, maxOutput: plan.output }
  const planRpm = bearer ? gateway.options.planRpm : undefined
  return takeCallTurn(gateway, { key, call, model: request.model, trace }, planRpm)
}
