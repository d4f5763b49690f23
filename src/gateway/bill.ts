/** From what the vendor reported to what is charged and told. */

import type { JsonObject } from '../core/json-body.ts'
import { decimalFromNano, least, type Nano } from '../core/money.ts'
import { inputTokens, type MeteredUsage, outputTokens, type Usage } from '../core/usage.ts'
import type { Balance, Bill, Totals } from '../dialects/chat-reply.ts'
import type { UsageDetail } from '../ledger/words.ts'
import { type Delivered, estimateUsage } from '../metering/estimate.ts'
import { readUsage } from '../metering/read-usage.ts'
import { chargeFor, costDetails } from '../pricing/charge.ts'
import { inputBound } from '../pricing/quote.ts'
import { creditsOf } from './credits.ts'
import type { Gateway } from './gateway.ts'
import type { Task } from './task.ts'

/** Credits below which an answer warns. */
const WARNING_CREDITS = 10

export type Metered = MeteredUsage & { readonly cost: Nano }

/** The vendor's usage if it is there and sane, else a bounded estimate that is marked as one. */
export const meter = (
  gateway: Gateway,
  task: Task,
  reported: JsonObject | undefined,
  delivered: Delivered,
): Metered => {
  const vendor = gateway.vendors.get(task.model.vendor)?.vendor
  const read = reported === undefined || vendor === undefined ? undefined : readUsage(reported, vendor)
  const metered: MeteredUsage =
    read === undefined
      ? { usage: estimateFor(task, delivered), estimated: true }
      : { usage: read, estimated: false }
  return { ...metered, cost: chargeFor(task.model.price, metered.usage) }
}

/** The usage of what was delivered, when nobody else counted. */
export const estimateFor = (task: Task, delivered: Delivered): Usage =>
  estimateUsage(task.model, task.call, inputBound(task.model, task.call.size), delivered)

/** What is charged: never more than was held. */
export const chargedOf = (task: Task, metered: Metered): Nano => least(metered.cost, task.hold.amount())

export const billOf = (task: Task, metered: Metered): Bill => ({
  cost: decimalFromNano(chargedOf(task, metered)),
  details: costDetails(task.model.price, metered.usage),
  estimated: metered.estimated,
})

export const totalsOf = (metered: Metered): Totals => ({
  input: inputTokens(metered.usage),
  output: outputTokens(metered.usage),
})

export const balanceOf = (gateway: Gateway, remaining: Nano): Balance => {
  const credits = creditsOf(gateway)(remaining)
  return { remainingCredits: String(credits), warning: credits < WARNING_CREDITS }
}

export const detailOf = (gateway: Gateway, task: Task, metered: Metered, ended: string): UsageDetail => {
  const tookMs = Math.round(gateway.clock.monotonicMs() - task.trace.startedMs)
  return {
    keyId: task.key.id,
    model: task.model.id,
    vendor: task.model.vendor,
    usage: metered.usage,
    estimated: metered.estimated,
    priceVersion: task.model.price.version,
    startedAt: gateway.clock.now() - tookMs,
    tookMs,
    firstByteMs: Math.round(task.trace.firstByteMs ?? tookMs),
    ended,
  }
}
