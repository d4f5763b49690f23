/**
 * The end of every call that is charged, whole or streamed: meter, bill, detail, receipt, settle, collect. The last
 * bytes go out after the charge is durable.
 */
import type { SettledHold } from '../../book/contract.ts'
import type { Nano } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Usage } from '../../core/usage.ts'
import type { Balance, Bill } from '../../dialects/bill-members.ts'
import { keepsNothing } from '../../tenancy/conditions.ts'
import { balanceOf, billOf, chargedOf, detailOf, type KnownUsage, type Metered, meter } from '../ask/bill.ts'
import { noteGate } from '../ask/time-attempt.ts'
import { NOT_KEPT } from '../enter/once-only.ts'
import type { Gateway } from '../parts/gateway.ts'
import { receiptFor } from '../parts/receipt.ts'
import type { Task } from '../parts/task.ts'
import { coverCost } from './keep-within-hold.ts'

/** What the answer says about the charge, before it is made. */
export type Charge = {
  readonly usage: Usage
  readonly bill: Bill
  readonly charged: Nano
}

/** An answer's last bytes, written before the charge so that the receipt can cover them. */
export type LastBytes = {
  /** Hash of the body without balance and receipt. */
  hash(): string
  /** The body or its end, with what is known after the charge. */
  bytes(balance: Balance | undefined, receipt: string | undefined): Uint8Array
  /** The whole text for repeats; `bytes` are those that go out now. */
  text(bytes: Uint8Array): string
  /** What is remembered for requests that name this answer; undefined if it did not end well. */
  remembered(): string | undefined
  headers(receipt: string | undefined): Readonly<Record<string, string>>
}

/** How an answer ended, and what is known of its cost. */
type AnswerEnd = {
  readonly known: KnownUsage
  readonly ended: string
  /** Whether it may cost more than is held. */
  readonly mayExceed: boolean
  /** Whether its caller reads a receipt with it. */
  readonly receipt: boolean
  readonly write: (charge: Charge) => LastBytes
}

type SettledAnswer = {
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  /** Why an authorised payment did not come; then the caller does not get the bytes. */
  readonly unpaid: Refusal | undefined
}

/** Charges the call and returns the last bytes. Throws when its intent was not durable: then nothing is charged. */
export const settle = async (gateway: Gateway, task: Task, ending: AnswerEnd): Promise<SettledAnswer> => {
  const { trace, keep, hold } = task
  const { ended } = ending
  trace.ended = ended
  const metered = meter(task, ending.known)
  if (ending.mayExceed) await coverCost(gateway, task, metered)
  const charged = chargedOf(task, metered)
  trace.charged = charged
  const last = ending.write({ usage: metered.usage, bill: billOf(task, metered, charged), charged })
  // The last words of a stream may be what is blocked.
  const endedAs = isBlocked(task) ? BLOCKED : ended
  trace.ended = endedAs
  const detail = detailOf(gateway, task, metered, endedAs, last)
  const receipt = ending.receipt ? receiptFor(gateway, task, detail, charged) : undefined
  const headers = last.headers(receipt)
  if (keep === undefined) {
    const { remaining } = await durable(gateway, task, metered, hold.settle(metered.cost, detail))
    await remember(task, last)
    return { headers, bytes: last.bytes(balanceOf(gateway, task.key, remaining), receipt), unpaid: undefined }
  }
  // A kept answer leaves out the balance, so that repeats have the same bytes.
  const bytes = last.bytes(undefined, receipt)
  const answer =
    keepsNothing(trace) || isBlocked(task)
      ? { status: NOT_KEPT, headers: {}, body: '' }
      : { status: 200, headers, body: last.text(bytes) }
  await durable(gateway, task, metered, hold.settle(metered.cost, detail, { ref: keep.ref, answer }))
  await remember(task, last)
  return { headers, bytes, unpaid: charged === 0n ? undefined : await keep.collect?.() }
}

/** A charge that found no open call: its intent was fenced, so nothing was charged and nothing may be answered. */
const durable = async (
  gateway: Gateway,
  task: Task,
  { usage, cacheSaved }: Metered,
  settling: Promise<SettledHold>,
): Promise<SettledHold> => {
  const askedMs = gateway.clock.monotonicMs()
  try {
    const settled = await settling
    task.trace.usage = usage
    task.trace.cacheSaved = cacheSaved
    noteGate(gateway, task.trace, 'settle', { fromMs: askedMs, toMs: gateway.clock.monotonicMs() })
    return settled
  } catch (fault) {
    if (fault instanceof Refusal || (await task.hold.opened)) throw fault
    throw await gateway.book.whyFenced(task.key)
  }
}

/** How an answer ended in which guardrails found what they block. */
export const BLOCKED = 'guardrail_blocked'

/** Known once the last bytes are written. What guardrails keep from the caller is kept for no repeat and no later turn. */
export const isBlocked = ({ guard }: Pick<Task, 'guard'>): boolean => guard?.blocked !== undefined

/** An answer is remembered before its caller learns that it has ended. */
const remember = async (task: Task, last: LastBytes): Promise<void> => {
  if (task.memory === undefined || isBlocked(task)) return
  const text = last.remembered()
  if (text !== undefined) await task.memory.keep(text)
}
