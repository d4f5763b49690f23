/** One line of a batch: a call like any other, whose money is held by the batch and whose answer is a line of a file. */
import type { Hold } from '../../book/contract.ts'
import { must, Refusal, type RefusalCode, refuse, retryIn } from '../../core/refusal.ts'
import { payingAccount } from '../../payment/funding.ts'
import type { Deployment } from '../../routing/deployments.ts'
import { judgeVendorError, vendorDown } from '../../routing/vendor-errors.ts'
import type { Batch, LineEnd, SentLine } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { termsIn } from '../../tenancy/terms.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import type { PartResult } from '../../vendors/batches/vendor-batch.ts'
import { answerWhole, readWhole } from '../answer/answer-whole.ts'
import { refusalFor } from '../answer/refusal-for.ts'
import { codecOf } from '../ask/ask-vendor.ts'
import { answerTask } from '../call/answer-task.ts'
import { takeCallTurn } from '../enter/key-turn.ts'
import { correctingAtEnd } from '../enter/token-turn.ts'
import { doesNotFit } from '../hold/does-not-fit.ts'
import { listHoldOf } from '../hold/reserve.ts'
import type { Answer } from '../parts/answer.ts'
import { letGo, takeBytes, takePlace } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { requestHasher } from '../parts/receipt.ts'
import type { Task } from '../parts/task.ts'
import { newTrace, noteKey, type Trace } from '../parts/trace.ts'
import { keptRefusal } from './forms.ts'
import type { EndLine } from './line-ends.ts'
import { type PlannedLine, planLine } from './plan-line.ts'
import type { ReadLine } from './read-lines.ts'

/** How often a line is sent, whatever goes wrong; and the pause after the first try, which doubles. */
const TRIES = 4
const PAUSE_MS = 2_000
/** What may go better later. */
const passing: readonly RefusalCode[] = [
  'rate_limit_exceeded',
  'service_unavailable',
  'upstream_error',
  'own_keys_unavailable',
  'balance_held',
  'moving',
]

/** What a vendor's own batch says of a line that it ran, and with which of its keys it was sent. */
type AnsweredLine = {
  readonly result: Extract<PartResult, { readonly status: number }>
  readonly at: Deployment
}

const encoder = new TextEncoder()

type LineParts = {
  readonly batch: Batch
  readonly key: Key
  readonly line: SentLine
  readonly read: ReadLine
  /** Absent for a line that is run here. */
  readonly answered?: AnsweredLine
}

/**
 * Runs the line, or ends it as its vendor's batch says. `ended` resolves once its end is durable; it is called once. Rejects
 * for a line that was answered and cannot end now.
 */
export const runLine = async (gateway: Gateway, it: LineParts, ended: EndLine): Promise<void> => {
  const { clock, watch } = gateway
  const { line } = it
  const key = toldIn(it.key, line)
  const { n, callId, tries } = line
  const trace = newTrace(callId, clock.monotonicMs())
  noteKey(trace, key.id)
  Object.assign(trace, { key, endpoint: '/v1/batches', path: '/v1/batches', method: 'POST' })
  let settled = false
  const settle: EndLine = async (end) => {
    settled = true
    return ended(end)
  }
  let status = 200
  try {
    await answerLine(gateway, { ...it, key }, trace, settle)
  } catch (thrown) {
    const refusal = refusalFor(gateway, trace, thrown)
    status = refusal.status
    trace.ended = refusal.code
    if (settled) return
    // Its vendor bills it, so it is not sent again for a fault of ours.
    if (it.answered !== undefined && !saysVendor(it.answered) && passing.includes(refusal.code)) throw refusal
    await ended(endOf(refusal, { n, callId, tries }))
  } finally {
    letGo(gateway.capacity, trace.taken)
    watch.meters?.called(trace, status, clock.monotonicMs())
  }
}

/** A tenant is told a line at the price of the month that it counts in; it may be sent, or end, in the next one. */
const toldIn = (key: Key, { month }: SentLine): Key =>
  key.terms === undefined || month === undefined ? key : { ...key, terms: termsIn(key.terms, month) }

/** A refusal ends the line, unless it may go better later. */
export const endOf = (
  refusal: Refusal,
  { n, callId, tries }: Pick<SentLine, 'n' | 'callId' | 'tries'>,
  pauseMs = PAUSE_MS,
): LineEnd => {
  const again = passing.includes(refusal.code) && tries < TRIES
  if (!again) return { n, callId, state: 'errored', result: keptRefusal(refusal) }
  const asked = Number(refusal.members.retry_after ?? 0) * 1000
  return { n, callId, state: 'waiting', pauseMs: Math.max(asked, pauseMs * 2 ** (tries - 1)) }
}

/** Whether the vendor refused the line. */
const saysVendor = ({ result: { status } }: AnsweredLine): boolean => status < 200 || status >= 300

const answerLine = async (
  gateway: Gateway,
  { batch, key, line, read, answered }: LineParts,
  trace: Trace,
  settle: EndLine,
): Promise<Answer> => {
  const { capacity, options } = gateway
  takePlace(capacity, trace.taken)
  takeBytes(capacity, trace.taken, line.bytes)
  const bytes = await read(line)
  const { form, asked } = batch
  const { n, route, bound } = line
  const sent = { n, bytes, trace, route, bound, answered: answered !== undefined }
  const planned = await planLine(gateway, { form, asked, key }, sent)
  const task = taskOf(gateway, { batch, key, line, trace, planned }, settle)
  if (answered !== undefined) return answerFrom(gateway, task, { n, answered }, settle)
  const { call, model } = planned
  const turn = options.batchRates ? await takeCallTurn(gateway, { key, call, model, trace }) : undefined
  const counted = () => withEstimate(gateway, task, { sub: batch.sub, output: planned.plan.output })
  return answerTask(gateway, turn === undefined ? await counted() : await correctingAtEnd(turn, counted))
}

/** Charges the line for what its vendor's batch answered. */
const answerFrom = async (
  gateway: Gateway,
  task: Task,
  {
    n,
    answered: {
      result: { status, body },
      at,
    },
  }: { readonly n: number; readonly answered: AnsweredLine },
  settle: EndLine,
): Promise<Answer> => {
  const { trace } = task
  const { setup, secret, place } = at
  const vendor = setup.vendor.id
  const bytes = encoder.encode(JSON.stringify(body))
  Object.assign(trace, { vendor, vendorKey: place })
  if (status < 200 || status >= 300)
    throw judgeVendorError({ status, retryAfter: null, body: bytes }, vendor, { secret: secret?.reveal() })
      .refusal
  const codec = must(codecOf(at, gateway, task))
  try {
    const reply = await readWhole({ all: async () => bytes, headers: new Headers() }, codec)
    return await answerWhole(gateway, task, reply)
  } catch (thrown) {
    if (!(thrown instanceof VendorFault)) throw thrown
    // Sent again it would be billed again.
    const refusal = vendorDown(vendor, 200)
    await settle({ n, callId: trace.callId, state: 'errored', result: keptRefusal(refusal) })
    throw refusal
  }
}

type TaskParts = Omit<LineParts, 'read'> & { readonly trace: Trace; readonly planned: PlannedLine }

const taskOf = (gateway: Gateway, it: TaskParts, settle: EndLine): Task => {
  const { batch, key, line, trace, planned } = it
  const { call, model, plan, ceiling, body, outputBound } = planned
  const { mode } = batch.asked
  return {
    key,
    payer: payingAccount(mode, key),
    payment: { mode, batch: batch.id },
    call,
    model,
    trace,
    // The answer is written with the charge, as one that is kept for repeats; but into the line.
    keep: {
      ref: { keyId: key.id, endpoint: 'batch', key: line.callId },
      full: () => false,
      textWith: () => '',
    },
    memory: undefined,
    signal: new AbortController().signal,
    hold: holdOf(line, settle),
    outputBound,
    heldOutput: plan.output * call.choices,
    fullOutput: plan.output * call.choices,
    limit: ceiling,
    requestHash: requestHasher(gateway, body.bytes),
  }
}

/**
 * The batch holds what its lines are charged. What the vendor bills for an own key counts under caps as for any call, so room
 * for it is taken before the line is sent. Throws the Refusal of one for which there is none.
 */
const withEstimate = async (
  gateway: Gateway,
  task: Task,
  { sub, output }: { readonly sub: string | undefined; readonly output: number },
): Promise<Task> => {
  const { key, call, model, hold } = task
  const list = listHoldOf(call, model, output)
  if (list === undefined) return task
  const { callId } = hold
  const both = await gateway.book.holdBeside(hold, { callId, key, sub, ...list, waits: true })
  if (both instanceof Refusal) throw both
  if ('outcome' in both)
    throw doesNotFit({ ...both, key }, { required: list.amount, leastOutput: undefined }, gateway)
  return { ...task, hold: both }
}

/** What the batch holds for the line. Its intent was durable before the line was read. */
const holdOf = ({ n, callId, bound }: SentLine, settle: EndLine): Hold => ({
  callId,
  amount: () => bound,
  opened: Promise.resolve(true),
  extend: async () => 'refused',
  checkpoint: () => undefined,
  settle: async (cost, detail, kept) => {
    const charge = cost < bound ? cost : bound
    const was = await settle({
      ...{ n, callId, state: 'succeeded' },
      settle: { charge, excess: cost - charge, detail },
      result: kept?.answer.body ?? noAnswer(),
      receipt: kept?.answer.headers['x-receipt'],
    })
    // Whoever took it over tells what becomes of it.
    if (!was) throw refuse('idempotency_in_progress', 'Another process runs this line.', retryIn(2))
    return { charged: charge, remaining: undefined }
  },
  // However the line ends says what becomes of its money.
  void: async () => undefined,
})

const noAnswer = (): never => {
  throw new Error('a line was charged without its answer')
}
