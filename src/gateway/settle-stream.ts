/**
 * The end of a stream: whatever ended it, what was delivered is charged, and its last bytes tell how much. A kept answer
 * is kept as it was given, broken or whole, so that a repeat is the same and costs nothing.
 */
import type { Nano } from '../core/money.ts'
import { type Refusal, refusalBody } from '../core/refusal.ts'
import type { Progress, StreamRelay } from '../dialects/relay.ts'
import { filled, type Told } from '../dialects/told.ts'
import type { Delivered } from '../metering/estimate.ts'
import type { BodyHasher } from '../receipts/body-hash.ts'
import { brokeOff, vendorDown } from '../routing/vendor-errors.ts'
import { balanceOf, billOf, chargedOf, detailOf, meter } from './bill.ts'
import type { Gateway } from './gateway.ts'
import { giveUp } from './give-up.ts'
import { coverCost } from './keep-within-hold.ts'
import { receiptFor } from './receipt.ts'
import type { Task } from './task.ts'

/** The headers of a streamed answer. */
export const headersOf = ({ call }: Task) => ({
  'content-type': call.listed === true ? 'application/json' : 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
})

/** What the caller has got of the content. */
const deliveredBy = ({ letters, contentEvents, unsaid }: Progress): Delivered => ({
  letters: letters - unsaid.letters,
  events: contentEvents - unsaid.events,
})

type Streamed = { readonly stream: StreamRelay; readonly sent: BodyHasher | undefined }
type Ended = { readonly ended: string; readonly cut: boolean }

/**
 * Settles the stream and returns its last bytes. They leave the balance out while the ledger cannot be asked, and always
 * in a kept answer, so that repeats are the same.
 */
export const settleStream = async (
  gateway: Gateway,
  task: Task,
  { stream, sent }: Streamed,
  { ended, cut }: Ended,
): Promise<Uint8Array> => {
  const { progress } = stream
  const delivered = deliveredBy(progress)
  task.trace.ended = ended
  if (ended === 'vendor_failed' && delivered.events === 0) return nothingCame(gateway, task, stream)
  const tier = stream.tier?.()
  const metered = meter(task, { reported: stream.usage(), whole: progress.finished, delivered, tier })
  await coverCost(gateway, task, metered.cost)
  const bill = billOf(task, metered)
  const charged = chargedOf(task, metered)
  task.trace.charged = charged
  const ending = lastWords(task, stream, { ended, cut, usage: metered.usage, bill, charged })
  sent?.update(encoder.encode(filled(ending, undefined, undefined)))
  const detail = detailOf(gateway, task, metered, ended, () => sent?.digest() ?? '')
  const receipt = endsWell(ended) ? receiptFor(gateway, task, detail, charged) : undefined
  if (task.keep !== undefined) {
    const bytes = encoder.encode(filled(ending, undefined, receipt))
    const answer = {
      ref: task.keep.ref,
      answer: { status: 200, headers: headersOf(task), body: task.keep.textWith([bytes]) },
    }
    await task.hold.settle(metered.cost, detail, answer)
    await remember(task, ended, ending)
    const unpaid = charged === 0n ? undefined : await task.collect?.()
    return unpaid === undefined ? bytes : encoder.encode(failure(task, stream, unpaid))
  }
  const { remaining } = await task.hold.settle(metered.cost, detail)
  await remember(task, ended, ending)
  return encoder.encode(filled(ending, balanceOf(gateway, remaining), receipt))
}

const encoder = new TextEncoder()

/** Nothing delivered is nothing charged; under a key the next attempt has the same id and runs again. */
const nothingCame = async (gateway: Gateway, task: Task, stream: StreamRelay): Promise<Uint8Array> => {
  await giveUp(gateway, task)
  return encoder.encode(failure(task, stream, vendorDown(vendorOf(task), undefined)))
}

const vendorOf = ({ trace, model }: Task): string => trace.vendor ?? model.vendor

/** An answer that has ended well is remembered before its caller knows that it has. */
const remember = async ({ memory }: Task, ended: string, ending: string): Promise<void> => {
  if (memory !== undefined && endsWell(ended)) await memory.keep(filled(ending, undefined, undefined))
}

/** Whether the caller reads an ending in which a receipt has its place. */
const endsWell = (ended: string): boolean => ended === 'ok' || ended === 'cost_ceiling'

/** What ends a stream in place of its own end. */
const failure = ({ trace }: Task, stream: StreamRelay, refusal: Refusal): string =>
  stream.fail(refusalBody(refusal, trace.callId).error)

/** What ends the stream for its caller; nothing for one that has gone. */
const lastWords = (
  task: Task,
  stream: StreamRelay,
  told: Told & Ended & { readonly charged: Nano },
): string => {
  if (told.ended === 'client_gone') return ''
  if (told.ended === 'vendor_failed')
    return failure(task, stream, brokeOff(vendorOf(task), told.charged, task.keep !== undefined))
  const kept = task.memory === undefined ? {} : { kept: task.memory }
  return stream.end({ ...told, ...kept, showUsage: task.call.showUsage })
}
