/** A call whose payment was taken, or authorised: holds its money and makes its task. */
import type { Hold } from '../../book/contract.ts'
import { decimalFromNano, type Nano } from '../../core/money.ts'
import { must, type Refusal } from '../../core/refusal.ts'
import type { VoucherRecord } from '../../ledger/voucher.ts'
import { nanoOfUnits } from '../../payment/x402/offer.ts'
import type { Presented } from '../../payment/x402/presented.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import type { Key } from '../../tenancy/key.ts'
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import { giveUp } from '../answer/give-up.ts'
import { checkCarried } from '../ask/own-places.ts'
import { underConditions } from '../enter/conditions.ts'
import { boundSent, type CheckedRequest } from '../enter/incoming.ts'
import { isGuarded, notGuarded, rulesFor } from '../enter/rules.ts'
import { jobShapeOf } from '../hold/job-hold.ts'
import type { Plan } from '../hold/reserve.ts'
import type { Gateway } from '../parts/gateway.ts'
import { holdWith } from '../parts/hold-with.ts'
import { requestHasher } from '../parts/receipt.ts'
import type { Keep } from '../parts/recording.ts'
import type { PaymentFacts, Task } from '../parts/task.ts'
import type { Trace } from '../parts/trace.ts'
import { settleAuthorized } from './pay-after.ts'
import { type TakenVoucher, tellCharged } from './pay-by-voucher.ts'
import { PaymentDue, type Quotable } from './payment-due.ts'
import { reservePaid } from './reserve-paid.ts'

/** The fixed facts of one paid request. */
export type PayingCall = Quotable & {
  readonly bearer: boolean
  readonly request: CheckedRequest
  readonly plan: Plan
  readonly key: Key
  /** The sub-wallet that the call names. */
  readonly sub: string | undefined
  readonly presented: Presented | undefined
  /** What its payment, and its answer, are kept under. */
  readonly keptUnder: Pick<Quotable, 'fingerprint' | 'fingerprintBefore'>
  readonly trace: Trace
  /** Takes the request out of the count of unpaid ones. */
  readonly uncount: () => void
}

/** What pays for the call. */
export type Paid = {
  readonly payment: Pick<Presented, 'id' | 'payer' | 'scheme' | 'offer' | 'units' | 'challenge'>
  /** The account that holds its money. */
  readonly account: string
  /** Undefined while the payment is only authorised. */
  readonly transaction: string | undefined
  /** What the call has of its channel, if a voucher pays. */
  readonly taken?: TakenVoucher
}

type PaidTaskParts = Paid & {
  readonly keep: Keep
  readonly signal: AbortSignal
}

/**
 * The rules of a call that is paid by itself. It is neither looked into nor sent with an organisation's own keys, so it is
 * refused where these are asked for.
 */
export const rulesPaid = async (
  gateway: Gateway,
  { key, trace }: Pick<PayingCall, 'key' | 'trace'>,
  request: CheckedRequest,
): Promise<WalletRules> => {
  const { model } = request
  const rules = must(await rulesFor(gateway, key, model, trace))
  if (isGuarded(key, rules))
    throw notGuarded('a call that is paid by itself is not looked into', 'X-Payment-Protocol')
  checkCarried(rules.ownKeys, model)
  if (trace.conditions !== NO_CONDITIONS) underConditions(request, trace)
  return rules
}

/** Holds the paid money and makes the call's task. */
export const openPaid = async (
  gateway: Gateway,
  paying: PayingCall,
  { payment, account: payer, transaction, taken, keep, signal }: PaidTaskParts,
): Promise<Task> => {
  const { x402, key, sub, bearer, request, plan, trace } = paying
  const { call, model, ceiling, body } = request
  const { id, offer, units } = payment
  const paid = nanoOfUnits(offer, units)
  // They may have changed while the payment was settled; then it is kept.
  await rulesPaid(gateway, paying, request)
  const reserved = await reservePaid(
    gateway,
    { key, sub, call, model, callId: trace.callId, signal, voucher: taken?.voucher },
    { plan, payer, paid },
  )
  if (reserved === 'spent') throw new PaymentDue('payment_already_used')
  const { hold, ...held } = must(reserved)
  const settled = transaction !== undefined
  const isJob = jobShapeOf(gateway.offering, model.id) !== undefined
  const task: Task = {
    key,
    model,
    trace,
    // A job charges its channel when it ends, which may be long after its answer.
    keep: settled || isJob ? keep : { ...keep, collect: collecting(paying, payment, taken) },
    signal,
    payer,
    payment: factsOf({ payment, transaction }),
    requestHash: requestHasher(gateway, body.bytes),
    limit: ceiling,
    ...held,
    outputBound: boundSent(call, held.outputBound, trace),
    hold:
      settled && bearer
        ? payingChange(hold, () => x402.payChange(id, key.walletId))
        : taken === undefined
          ? hold
          : underVoucher(gateway, hold, { paid, record: taken.voucher.record }),
  }
  if (taken?.voucher.record !== undefined) await recorded(gateway, paying, task, taken.voucher.channel)
  return task
}

/**
 * Waits until the ledger has the call's voucher, so that no vendor is asked for a call that is not paid because another process took
 * one beside it. Where no other process serves there is none beside it, and the vendor is asked meanwhile.
 */
const recorded = async (
  gateway: Gateway,
  { x402 }: PayingCall,
  task: Task,
  channel: string,
): Promise<void> => {
  const opened = task.hold.opened.then((isOpen) => {
    x402.voucherOpened(channel)
    return isOpen
  })
  if (gateway.book.health().instances === 1 || (await opened)) return
  await giveUp(gateway, task)
  throw await gateway.book.whyFenced(task.key)
}

/** Once the call is charged, the rest of the payment goes back, before the answer ends. */
const payingChange = (hold: Hold, payChange: () => Promise<unknown>): Hold =>
  holdWith(hold, {
    settle: async (cost, detail, answer) => {
      const settled = await hold.settle(cost, detail, answer)
      // A charge that is still in the outbox is not in the ledger yet; the next round over due change pays it.
      if (settled.remaining !== undefined) await payChange()
      return settled
    },
  })

/**
 * A channel's account has more than the voucher allows. What the intent claimed with the voucher is let go once it is known to be
 * over, which may be later than the call gives up.
 */
const underVoucher = (
  { store, instance }: Gateway,
  hold: Hold,
  { paid, record }: { readonly paid: Nano; readonly record: VoucherRecord | undefined },
): Hold =>
  holdWith(hold, {
    extend: async (to, spent, waits) => (to > paid ? 'refused' : hold.extend(to, spent, waits)),
    ...(record === undefined
      ? {}
      : { void: () => hold.void().then(() => store.idempotency.release(record.ref, instance)) }),
  })

/** Collects a payment that was only authorised; a paid request leaves the count of unpaid ones. */
const collecting =
  (
    { x402, trace, presented, uncount }: PayingCall,
    payment: Paid['payment'],
    taken: TakenVoucher | undefined,
  ) =>
  async (): Promise<Refusal | undefined> => {
    const it = { x402, trace, payment: { ...payment, version: presented?.version ?? 2 } }
    if (taken !== undefined) tellCharged({ ...it, at: x402.now() }, taken, trace.charged ?? 0n)
    const unpaid = taken === undefined ? await settleAuthorized(it) : undefined
    if (unpaid === undefined) uncount()
    return unpaid
  }

/** What the receipt says about the payment. */
const factsOf = ({ payment, transaction }: Omit<Paid, 'account'>): PaymentFacts => {
  const { scheme, offer, id, payer, units, challenge } = payment
  const amount = decimalFromNano(nanoOfUnits(offer, units))
  return {
    // The mode is the account's kind; the protocol says how the money came, if not by x402.
    mode: 'x402',
    ...(challenge === undefined ? {} : { protocol: 'Payment' }),
    scheme,
    network: offer.network,
    asset: offer.asset.toLowerCase(),
    id,
    payer,
    ...(transaction === undefined ? { authorized_usd: amount } : { transaction, paid_usd: amount }),
  }
}
