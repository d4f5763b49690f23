/** An answer in one piece: nothing reaches the caller before the charge is durable. */
import type { Settled } from '../book/words.ts'
import { isObject, parseJson } from '../core/json-body.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import type { Form, WholeReply } from '../dialects/form.ts'
import { withBalance } from '../dialects/told.ts'
import { bodyHash } from '../receipts/body-hash.ts'
import { type Exchange, VendorFault } from '../transport/exchange.ts'
import type { Answer } from './answer.ts'
import { askVendor } from './ask-vendor.ts'
import { balanceOf, billOf, chargedOf, detailOf, meter } from './bill.ts'
import type { Gateway } from './gateway.ts'
import { endUnheard } from './give-up.ts'
import { coverCost } from './keep-within-hold.ts'
import { tellNotCarried } from './not-carried.ts'
import { receiptFor } from './receipt.ts'
import type { Task } from './task.ts'

export const answerWhole = async (gateway: Gateway, task: Task): Promise<Answer> => {
  const { opened: reply } = await askVendor(gateway, task, readWhole).catch(async (thrown: unknown) => {
    await endUnheard(gateway, task, thrown)
    throw thrown
  })
  task.trace.firstByteMs = gateway.clock.monotonicMs() - task.trace.startedMs
  // Nothing goes out before the charge is durable, and the charge follows the intent in the writer's queue: a vendor
  // that is faster than a commit shares one with its intent.
  return settleWhole(gateway, task, reply)
}

const readWhole = async (exchange: Exchange, form: Form): Promise<WholeReply> => {
  const body = await exchange.all()
  const reply = form.readWhole(body, (name) => exchange.headers.get(name))
  if (reply === undefined)
    throw new VendorFault('body', 'the vendor answered with something else', { mayBill: !isError(body) })
  if (reply.blocked) throw promptBlocked()
  return reply
}

/** Some vendors refuse with an error in an answer of status 200. */
const isError = (body: Uint8Array): boolean => {
  const value = parseJson(decoder.decode(body))
  return isObject(value) && value.error !== undefined && value.error !== null
}

const decoder = new TextDecoder()

/** The 400 of a prompt that the vendor's filters blocked before there was an answer. */
export const promptBlocked = (): Refusal =>
  refuse('content_policy_violation', "The prompt was blocked by the vendor's safety filters.")

const settleWhole = async (gateway: Gateway, task: Task, reply: WholeReply): Promise<Answer> => {
  const { trace, keep, memory } = task
  const metered = meter(task, {
    reported: reply.usage,
    whole: true,
    delivered: { letters: reply.letters, events: 0 },
    tier: reply.tier,
  })
  if (task.call.size.textTokens !== undefined) await coverCost(gateway, task, metered.cost)
  const bill = billOf(task, metered)
  const charged = chargedOf(task, metered)
  tellNotCarried(trace, reply.lost)
  const body = reply.tell({ usage: metered.usage, bill, ...(memory === undefined ? {} : { kept: memory }) })
  // One that has gone is charged what its vendor bills to the end.
  const ended = task.signal.aborted ? 'client_gone' : 'ok'
  const detail = detailOf(gateway, task, metered, ended, () => bodyHash(body))
  const receipt = receiptFor(gateway, task, detail, charged)
  const headers = {
    'content-type': 'application/json',
    'x-cost-usd': bill.cost,
    ...(receipt === undefined ? {} : { 'x-receipt': receipt }),
  }
  trace.charged = charged
  trace.ended = ended
  if (keep === undefined) {
    const { remaining } = await settled(gateway, task, task.hold.settle(metered.cost, detail))
    await memory?.keep(decoder.decode(body))
    return { status: 200, headers, body: withBalance(body, balanceOf(gateway, remaining)) }
  }
  // A kept answer leaves the balance out, so that repeats are the same to the byte.
  const answer = { status: 200, headers, body: decoder.decode(body) }
  await settled(gateway, task, task.hold.settle(metered.cost, detail, { ref: keep.ref, answer }))
  await memory?.keep(answer.body)
  const unpaid = charged === 0n ? undefined : await task.collect?.()
  if (unpaid !== undefined) throw unpaid
  return { status: 200, headers, body }
}

/** A charge that found no open call: its intent was fenced, so nothing was charged and nothing may be answered. */
const settled = async (gateway: Gateway, task: Task, settling: Promise<Settled>): Promise<Settled> => {
  try {
    return await settling
  } catch (fault) {
    if (await task.hold.opened) throw fault
    throw await gateway.book.whyFenced(task.key)
  }
}
