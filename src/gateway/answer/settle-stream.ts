/**
 * The end of a stream. Whatever ended it, what was delivered is charged, and the last bytes say how much. An answer for
 * repeats is kept as it was given, broken or whole, so that a repeat is the same and costs nothing.
 */
import { type Nano, nanoFromDecimal } from '../../core/money.ts'
import { Refusal, refusalBody, refuse, retryIn } from '../../core/refusal.ts'
import { filled } from '../../dialects/bill-members.ts'
import type { Progress, StreamRelay } from '../../dialects/relay.ts'
import type { Delivered } from '../../metering/estimate.ts'
import type { BodyHasher } from '../../receipts/claims.ts'
import { amountText, brokeOff, costMember, vendorDown } from '../../routing/vendor-errors.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'
import { giveUp } from './give-up.ts'
import { type Charge, settle } from './settle.ts'

/** The headers of a streamed answer. */
export const headersOf = ({ call }: Task) => ({
  'content-type':
    call.listed === true ? 'application/json' : (call.streamType ?? 'text/event-stream; charset=utf-8'),
  'cache-control': 'no-cache',
})

/** How much of the content the caller has got. */
const deliveredBy = ({ letters, contentEvents, unsaid }: Progress): Delivered => ({
  letters: letters - unsaid.letters,
  events: contentEvents - unsaid.events,
})

type Streamed = { readonly stream: StreamRelay; readonly sent: BodyHasher | undefined }
type Ended = { readonly ended: string }

/** Settles the stream and returns its last bytes; they leave out the balance while the ledger cannot be reached. */
export const settleStream = async (
  gateway: Gateway,
  task: Task,
  { stream, sent }: Streamed,
  ended: string,
): Promise<Uint8Array> => {
  const { progress } = stream
  const delivered = deliveredBy(progress)
  if (ended === 'vendor_failed' && delivered.events === 0) return nothingCame(gateway, task, stream)
  const settled = await settle(gateway, task, {
    known: { reported: stream.usage(), whole: progress.finished, delivered, tier: stream.tier?.() },
    ended,
    mayExceed: true,
    receipt: endsWell(ended),
    write: (charge) => {
      const ending = streamEnd(gateway, task, stream, { ended, ...charge })
      sent?.update(encoder.encode(filled(ending, undefined, undefined)))
      return {
        hash: () => sent?.digest() ?? '',
        bytes: (balance, receipt) => encoder.encode(filled(ending, balance, receipt)),
        text: (bytes) => task.keep?.textWith([bytes]) ?? '',
        remembered: () => (endsWell(ended) ? filled(ending, undefined, undefined) : undefined),
        headers: () => headersOf(task),
      }
    },
  }).catch(refusalIn)
  // The caller has all but the end, and learns why the end is missing.
  if (settled instanceof Refusal) return endless(task, stream, settled)
  const { bytes, unpaid } = settled
  return unpaid === undefined ? bytes : endless(task, stream, unpaid)
}

/** Log and metrics tell what the caller is told. */
const endless = (task: Task, stream: StreamRelay, refusal: Refusal): Uint8Array => {
  task.trace.ended = refusal.code
  return encoder.encode(failure(task, stream, refusal))
}

const encoder = new TextEncoder()

const refusalIn = (thrown: unknown): Refusal => {
  if (thrown instanceof Refusal) return thrown
  throw thrown
}

/**
 * If nothing was delivered, nothing is charged; under an Idempotency-Key the next attempt has the same id and runs
 * again.
 */
const nothingCame = async (gateway: Gateway, task: Task, stream: StreamRelay): Promise<Uint8Array> => {
  task.trace.ended = 'vendor_failed'
  await giveUp(gateway, task)
  return encoder.encode(failure(task, stream, vendorDown(vendorOf(task), undefined)))
}

const vendorOf = ({ trace, model }: Task): string => trace.vendor ?? model.vendor

/** Whether the caller's ending has a place for a receipt. */
const endsWell = (ended: string): boolean => ended === 'ok' || ended === 'cost_ceiling'

/** What replaces the stream's own end. */
const failure = ({ trace }: Task, stream: StreamRelay, refusal: Refusal): string =>
  stream.fail(refusalBody(refusal, trace.callId).error)

/** The error that ends a stream which needed more money than was held while the ledger was away. */
const ledgerAway = (patienceMs: number, charged: Nano | undefined): Refusal =>
  refuse(
    'service_unavailable',
    `The ledger has been away for ${patienceMs / 1_000} s, and this answer needs more money than was held for it. What was delivered was charged${amountText(charged)}.`,
    { members: { ...retryIn(2).members, ...costMember(charged) } },
  )

/** What was read of the answer by then is charged. */
const blockedAnswer = ({ code, message, members }: Refusal, charged: Nano | undefined): Refusal =>
  refuse(code, `${message} What came of it was charged${amountText(charged)}.`, {
    members: { ...members, ...costMember(charged) },
  })

/** What ends the stream for its caller; nothing if the caller has gone. */
const streamEnd = (
  { options }: Gateway,
  task: Task,
  stream: StreamRelay,
  settled: Charge & Ended,
): string => {
  if (settled.ended === 'client_gone') return ''
  const { cost } = settled.bill
  const charged = cost === undefined ? undefined : nanoFromDecimal(cost)
  if (settled.ended === 'vendor_failed')
    return failure(
      task,
      stream,
      brokeOff(vendorOf(task), {
        charged,
        estimated: settled.bill.estimated,
        kept: task.keep !== undefined,
      }),
    )
  if (task.guard?.blocked !== undefined)
    return failure(task, stream, blockedAnswer(task.guard.blocked, charged))
  if (settled.ended === 'ledger_away')
    return failure(task, stream, ledgerAway(options.ledgerPatienceMs, charged))
  const kept = task.memory === undefined ? {} : { kept: task.memory }
  const cut = settled.ended === 'cost_ceiling'
  return stream.end({ ...settled, cut, ...kept, showUsage: task.call.showUsage })
}
