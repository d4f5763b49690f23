/** From what the vendor reported to what is charged and shown. */
import type { Price } from '../../core/model.ts'
import { decimalFromNano, least, type Nano } from '../../core/money.ts'
import type { Mutable } from '../../core/mutable.ts'
import { type MeteredUsage, outputTokens, type Usage } from '../../core/usage.ts'
import type { Balance, Bill } from '../../dialects/bill-members.ts'
import type { ReceiptFacts, UsageDetail } from '../../ledger/types.ts'
import { type Delivered, estimateUsage } from '../../metering/estimate.ts'
import { costDetails, costOf, priceOf, unitPrices, withCall } from '../../pricing/charge.ts'
import { inputBound } from '../../pricing/quote.ts'
import type { Key } from '../../tenancy/key.ts'
import { tellsNothing, told } from '../../tenancy/terms.ts'
import { inCredits } from '../parts/credits.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Billed, Task } from '../parts/task.ts'
import { type OwnKeyNote, priceByKey, vendorKeyOf } from './own-call.ts'

/** An answer warns when the balance falls below this many credits. */
const WARNING_CREDITS = 10n

/** A usage and its cost, at the price of the tier that served it. */
export type Metered = MeteredUsage & {
  readonly cost: Nano
  readonly price: Price
  /** What the vendor's cache saved, if it was used. */
  readonly cacheSaved?: Nano | undefined
  readonly vendorCost?: Nano | undefined
  /** Where the organisation has keys of its own: whose answered. */
  readonly byKey?: OwnKeyNote
}

/** What is known of an answer: the vendor's usage, whether that covers the whole answer, and what was delivered. */
export type KnownUsage = {
  readonly reported: Usage | undefined
  readonly whole: boolean
  readonly delivered: Delivered
  /** The tier in which the vendor says it served a discounted model. */
  readonly tier?: string | undefined
  /** The vendor's own bill, if it reports one. */
  readonly vendorCost?: Nano | undefined
}

/**
 * The vendor's usage if it is present and sane, else a bounded estimate that is marked as one. A usage reported in
 * mid-stream may count less output than was delivered by then; the caller pays for what it got.
 */
export const meter = (task: Task, { reported, whole, delivered, tier, vendorCost }: KnownUsage): Metered => {
  const byKey = task.model.own === undefined ? undefined : priceByKey(task, tier)
  const price = byKey?.price ?? task.call.media?.priced?.price ?? priceOf(task.model, tier)
  const metered: MeteredUsage =
    reported === undefined
      ? { usage: estimateFor(task, delivered), estimated: true }
      : whole
        ? { usage: reported, estimated: false }
        : atLeast(reported, estimateFor(task, delivered).output ?? 0)
  const usage = withCall(price, metered.usage)
  const { cost, cacheSaved } = costOf(price, usage)
  const done = { usage, estimated: metered.estimated, price, cost, cacheSaved, vendorCost }
  return byKey === undefined ? done : { ...done, byKey: vendorKeyOf(byKey, metered.usage) }
}

const atLeast = (reported: Usage, output: number): MeteredUsage => {
  const missing = output - outputTokens(reported)
  return missing > 0
    ? { usage: { ...reported, output: (reported.output ?? 0) + missing }, estimated: true }
    : { usage: reported, estimated: false }
}

/** The usage of what was delivered, when nobody else counted it. */
export const estimateFor = (task: Pick<Task, 'model' | 'call'>, delivered: Delivered): Usage =>
  estimateUsage(task.model, task.call, inputBound(task.model, task.call.size), delivered)

/** What is charged: never more than was held. */
export const chargedOf = (task: Pick<Billed, 'hold'>, metered: Pick<Metered, 'cost'>): Nano =>
  least(metered.cost, task.hold.amount())

/** Who is told our price pays nothing for what tenants are told. */
const shownTo = (terms: Key['terms'], amount: Nano): Nano =>
  terms === undefined ? amount : told(amount, terms)

export const billOf = (
  { outputBound, key: { terms } }: Pick<Billed, 'outputBound' | 'key'>,
  metered: Metered,
  charged: Nano,
): Bill => {
  const { estimated } = metered
  if (terms !== undefined && tellsNothing(terms))
    return outputBound === undefined ? { estimated } : { estimated, lowered: outputBound }
  const cost = decimalFromNano(shownTo(terms, charged))
  const details = costDetails(metered.price, metered.usage, terms?.basisPoints)
  // A vendor reported more than was held. The parts still add up to the cost.
  if (charged < metered.cost)
    details.not_charged = decimalFromNano(shownTo(terms, charged) - shownTo(terms, metered.cost))
  return outputBound === undefined
    ? { cost, details, estimated }
    : { cost, details, estimated, lowered: outputBound }
}

/** The balance that an answer shows; none while the ledger cannot be reached, or where no money is told. */
export const balanceOf = (
  gateway: Gateway,
  { terms }: Pick<Key, 'terms'>,
  left: Nano | undefined,
): Balance | undefined => {
  if (left === undefined || (terms !== undefined && tellsNothing(terms))) return undefined
  const remaining = shownTo(terms, left)
  const { creditNano } = gateway.options
  return {
    remainingCredits: inCredits(remaining, creditNano),
    warning: remaining < WARNING_CREDITS * creditNano,
  }
}

/** The record kept of a call. The answer's hash is computed only when receipts are on. */
export const detailOf = (
  gateway: Gateway,
  task: Billed,
  metered: Metered,
  ended: string,
  answer: { hash(): string },
): UsageDetail => {
  const { clock, receipts } = gateway
  const tookMs = Math.round(clock.monotonicMs() - task.trace.startedMs)
  const detail: Mutable<UsageDetail> = {
    keyId: task.key.id,
    model: task.model.id,
    vendor: task.trace.vendor ?? task.model.vendor,
    usage: metered.usage,
    estimated: metered.estimated,
    priceVersion: metered.price.version,
    startedAt: clock.now() - tookMs,
    tookMs,
    firstByteMs: Math.round(task.trace.firstByteMs ?? tookMs),
    ended,
  }
  if (task.trace.tries !== undefined) detail.tries = task.trace.tries
  if (task.trace.tags !== undefined) detail.tags = task.trace.tags
  if (task.trace.guardrails !== undefined) detail.guardrails = task.trace.guardrails
  if (task.trace.met !== undefined) detail.met = task.trace.met
  if (metered.cacheSaved !== undefined) detail.cacheSaved = String(metered.cacheSaved)
  if (metered.vendorCost !== undefined) detail.vendorCost = String(metered.vendorCost)
  if (metered.byKey !== undefined) {
    const { vendorKey, vendorEstimate } = metered.byKey
    detail.vendorKey = vendorKey
    if (vendorEstimate !== undefined) detail.vendorEstimate = String(vendorEstimate)
  }
  if (receipts !== undefined) detail.receipt = factsOf(task, metered, answer.hash())
  return detail
}

/** The facts kept with the charge, for its receipt. */
const factsOf = (task: Billed, metered: Metered, responseHash: string): ReceiptFacts => ({
  prices: unitPrices(metered.price, metered.usage),
  authorized: task.hold.amount(),
  payment: task.payment,
  requestHash: task.requestHash(),
  responseHash,
})
