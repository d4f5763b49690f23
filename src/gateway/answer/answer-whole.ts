/** An answer in one piece: nothing reaches the caller before the charge is durable. */
import type { JsonObject } from '../../core/json-body.ts'
import { type Refusal, refuse } from '../../core/refusal.ts'
import { type Balance, type Bill, withBalance } from '../../dialects/bill-members.ts'
import type { CallCodec, WholeReply } from '../../dialects/codec.ts'
import { bodyHash } from '../../receipts/claims.ts'
import { errorInside } from '../../routing/error-inside.ts'
import { amountText, costMember } from '../../routing/vendor-errors.ts'
import type { Exchange } from '../../transport/exchange.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import { askVendor, inDialect } from '../ask/ask-vendor.ts'
import type { Answer } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import { addNotCarried } from '../parts/not-carried.ts'
import type { Task } from '../parts/task.ts'
import { endUnheard } from './give-up.ts'
import { type Charge, type LastBytes, settle } from './settle.ts'

/** Asks and answers; `given` is an answer that its vendor gave already. */
export const answerWhole = async (gateway: Gateway, task: Task, given?: WholeReply): Promise<Answer> => {
  const { trace } = task
  let reply: WholeReply
  try {
    reply = given ?? (await askVendor(gateway, task, whole)).opened
  } catch (thrown) {
    await endUnheard(gateway, task, thrown)
    throw thrown
  }
  trace.firstByteMs = (trace.times.begunMs ?? gateway.clock.monotonicMs()) - trace.startedMs
  if (reply.notCarried.length > 0) addNotCarried(trace, reply.notCarried)
  if (task.guard?.asks === true) await task.guard.approve(reply.addBill(UNBILLED))
  // Nothing goes out before the charge is durable, and the charge follows the intent in the writer's queue. If the
  // vendor answers faster than a commit takes, both share one commit.
  const { headers, bytes, unpaid } = await settle(gateway, task, {
    known: {
      reported: reply.usage,
      whole: true,
      delivered: { letters: reply.usage === undefined ? reply.letters() : 0, events: 0 },
      tier: reply.tier,
    },
    // A caller that has gone pays for what its vendor bills to the end.
    ended: task.signal.aborted ? 'client_gone' : 'ok',
    // Only a tightened bound on the input can be too small; the usual bound cannot be exceeded.
    mayExceed: task.call.size.textTokens !== undefined,
    receipt: true,
    write: (charge) => new WholeAnswer(task, reply, charge),
  })
  if (unpaid !== undefined) throw unpaid
  if (task.guard?.blocked !== undefined) throw blockedAnswer(task.guard.blocked, trace)
  return { status: 200, headers, body: bytes }
}

/** Hooks of guardrails see an answer before anybody knows its bill. */
const UNBILLED = { usage: {}, bill: { estimated: false } }

/** The refusal of an answer that was charged. */
const blockedAnswer = ({ code, message, members }: Refusal, trace: Task['trace']): Refusal => {
  return refuse(code, `${message} What its vendor bills was charged${amountText(trace.charged)}.`, {
    members: { ...members, ...costMember(trace.charged) },
  })
}

/** Reads the vendor's whole answer. Throws VendorFault, or the Refusal of a blocked prompt. */
export const readWhole = async (
  exchange: Pick<Exchange, 'all' | 'headers'>,
  codec: CallCodec,
): Promise<WholeReply> => {
  const body = await exchange.all()
  const reply = codec.readWhole(body, exchange.headers)
  if (reply === undefined)
    throw new VendorFault('body', 'the vendor answered with something else', {
      said: errorInside(decoder.decode(body)),
    })
  if (reply.blocked) throw promptBlocked()
  if (reply.fault !== undefined) throw new VendorFault('body', reply.fault)
  return reply
}

/** A stream that begins with an error. An answer that has ended is billed, whatever is wrong with it. */
export const beganWith = (error: JsonObject, finished: boolean): VendorFault =>
  new VendorFault('body', 'the vendor began with an error', finished ? {} : { said: { error } })

const whole = inDialect(readWhole)

const decoder = new TextDecoder()

/** The 400 for a prompt that the vendor's filters blocked before it answered. */
export const promptBlocked = (): Refusal =>
  refuse('content_policy_violation', "The prompt was blocked by the vendor's safety filters.")

/** The whole body, with its bill. */
class WholeAnswer implements LastBytes {
  readonly #body: Uint8Array
  readonly #bill: Bill

  constructor({ memory, guard }: Task, reply: WholeReply, { usage, bill }: Charge) {
    const body = reply.addBill(memory === undefined ? { usage, bill } : { usage, bill, kept: memory })
    this.#body = guard === undefined ? body : guard.whole(body)
    this.#bill = bill
  }

  hash(): string {
    return bodyHash(this.#body)
  }

  bytes(balance: Balance | undefined): Uint8Array {
    return withBalance(this.#body, balance)
  }

  text(bytes: Uint8Array): string {
    return decoder.decode(bytes)
  }

  remembered(): string {
    return decoder.decode(this.#body)
  }

  headers(receipt: string | undefined): Readonly<Record<string, string>> {
    const type = 'application/json'
    const { cost } = this.#bill
    if (cost === undefined) return { 'content-type': type }
    return receipt === undefined
      ? { 'content-type': type, 'x-cost-usd': cost }
      : { 'content-type': type, 'x-cost-usd': cost, 'x-receipt': receipt }
  }
}
