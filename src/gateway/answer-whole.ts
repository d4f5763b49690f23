/** An answer in one piece: nothing reaches the caller before the charge is durable. */
import { isObject, parseJson } from '../core/json-body.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import { withBalance } from '../dialects/bill-members.ts'
import type { CallCodec, WholeReply } from '../dialects/call-codec.ts'
import { bodyHash } from '../receipts/body-hash.ts'
import { type Exchange, VendorFault } from '../transport/exchange.ts'
import type { Answer } from './answer.ts'
import { askVendor } from './ask-vendor.ts'
import type { Gateway } from './gateway.ts'
import { endUnheard } from './give-up.ts'
import { tellNotCarried } from './not-carried.ts'
import { type Charge, type LastBytes, settle } from './settle.ts'
import type { Task } from './task.ts'

export const answerWhole = async (gateway: Gateway, task: Task): Promise<Answer> => {
  const { opened: reply } = await askVendor(gateway, task, readWhole).catch(async (thrown: unknown) => {
    await endUnheard(gateway, task, thrown)
    throw thrown
  })
  const { trace } = task
  trace.firstByteMs = (trace.begunMs ?? gateway.clock.monotonicMs()) - trace.startedMs
  // Nothing goes out before the charge is durable, and the charge follows the intent in the writer's queue: a vendor
  // that is faster than a commit shares one with its intent.
  return settleWhole(gateway, task, reply)
}

const readWhole = async (exchange: Exchange, codec: CallCodec): Promise<WholeReply> => {
  const body = await exchange.all()
  const reply = codec.readWhole(body, (name) => exchange.headers.get(name))
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
  if (reply.notCarried.length > 0) tellNotCarried(task.trace, reply.notCarried)
  const { headers, bytes, unpaid } = await settle(gateway, task, {
    known: {
      reported: reply.usage,
      whole: true,
      delivered: { letters: reply.usage === undefined ? reply.letters() : 0, events: 0 },
      tier: reply.tier,
    },
    // A caller that has gone pays what its vendor bills to the end.
    ended: task.signal.aborted ? 'client_gone' : 'ok',
    // Only a tightened bound on the input can turn out too small; the usual bound cannot be exceeded.
    mayExceed: task.call.size.textTokens !== undefined,
    receipt: true,
    write: (charge) => written(task, reply, charge),
  })
  if (unpaid !== undefined) throw unpaid
  return { status: 200, headers, body: bytes }
}

const written = ({ memory }: Task, reply: WholeReply, { usage, bill }: Charge): LastBytes => {
  const body = reply.addBill({ usage, bill, ...(memory === undefined ? {} : { kept: memory }) })
  return {
    hash: () => bodyHash(body),
    bytes: (balance) => withBalance(body, balance),
    text: (bytes) => decoder.decode(bytes),
    remembered: () => decoder.decode(body),
    headers: (receipt) => ({
      'content-type': 'application/json',
      'x-cost-usd': bill.cost,
      ...(receipt === undefined ? {} : { 'x-receipt': receipt }),
    }),
  }
}
