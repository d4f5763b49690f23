/** An answer in one piece: nothing reaches the caller before the charge is durable. */

import type { Settled } from '../book/words.ts'
import type { JsonBody } from '../core/json-body.ts'
import { type Refusal, unavailable } from '../core/refusal.ts'
import { deliveredCharacters, readReply, writeReply } from '../dialects/chat-reply.ts'
import { usageFinder } from '../metering/find-usage.ts'
import { type Exchange, VendorFault } from '../transport/exchange.ts'
import type { Answer } from './answer.ts'
import { askVendor } from './ask-vendor.ts'
import { balanceOf, billOf, chargedOf, detailOf, meter, totalsOf } from './bill.ts'
import type { Gateway } from './gateway.ts'
import type { Task } from './task.ts'

export const answerWhole = async (gateway: Gateway, task: Task): Promise<Answer> => {
  let settling = false
  try {
    const { opened: reply } = await askVendor(gateway, task, (exchange) => readWhole(exchange, task))
    task.trace.firstByteMs = gateway.clock.monotonicMs() - task.trace.startedMs
    // Nothing goes out before the charge is durable, and the charge follows the intent in the writer's queue: a vendor
    // that is faster than a commit shares one with its intent.
    settling = true
    return await settleWhole(gateway, task, reply)
  } finally {
    if (!settling) task.hold.void()
  }
}

/** The 503 of a call whose intent could not be made durable. */
export const ledgerUnavailable = (): Refusal => unavailable('The ledger cannot be reached.')

const readWhole = async (exchange: Exchange, task: Task): Promise<JsonBody> => {
  const reply = readReply(await exchange.all(), task.call.kind === 'chat' ? 'choices' : 'data')
  if (reply === undefined) throw new VendorFault('body', 'the vendor answered with something else')
  return reply
}

const settleWhole = async (gateway: Gateway, task: Task, reply: JsonBody): Promise<Answer> => {
  const { trace, keep } = task
  const found = usageFinder(gateway.vendors.get(task.model.vendor)?.vendor)(reply.value)
  const metered = meter(gateway, task, found, { characters: deliveredCharacters(reply.value), events: 0 })
  const bill = billOf(task, metered)
  const headers = { 'content-type': 'application/json', 'x-cost-usd': bill.cost }
  const detail = detailOf(gateway, task, metered, 'ok')
  trace.charged = chargedOf(task, metered)
  trace.ended = 'ok'
  if (keep === undefined) {
    const { remaining } = await settled(task, task.hold.settle(metered.cost, detail))
    return {
      status: 200,
      headers,
      body: writeReply(reply, totalsOf(metered), bill, balanceOf(gateway, remaining)),
    }
  }
  // A kept answer is written before the balance is known, so that repeats are the same to the byte.
  const body = writeReply(reply, totalsOf(metered), bill, undefined)
  const answer = { status: 200, headers, body: new TextDecoder().decode(body) }
  await settled(task, task.hold.settle(metered.cost, detail, { ref: keep.ref, answer }))
  return { status: 200, headers, body }
}

/** A charge that found no open call: its intent was fenced, so nothing was charged and nothing may be answered. */
const settled = async (task: Task, settling: Promise<Settled>): Promise<Settled> => {
  try {
    return await settling
  } catch (fault) {
    if (await task.hold.opened) throw fault
    throw ledgerUnavailable()
  }
}
