/**
 * A product that is not chat, asked in one exchange. Its results are stored here before the call is charged, and the
 * answer is the vendor's own body with our addresses in it. If nothing was delivered, nothing is charged.
 */
import { AssetFault } from '../../assets/take.ts'
import { type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import type { Priced } from '../../core/model.ts'
import { refuse, unavailable } from '../../core/refusal.ts'
import type { Secret } from '../../core/secret.ts'
import { encodeOutgoing } from '../../media/encode.ts'
import type { Done, OnceShape } from '../../media/shape.ts'
import { withoutSecrets } from '../../routing/vendor-errors.ts'
import type { Exchange } from '../../transport/exchange.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import { askVendor } from '../ask/ask-vendor.ts'
import type { Answer } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'
import { OWN_KEY } from '../parts/trace.ts'
import { promptBlocked } from './answer-whole.ts'
import { giveUp } from './give-up.ts'
import { containsBytes, written } from './media-results.ts'
import { settle } from './settle.ts'
import { measuredOf, storageRefusal, storeOutputs } from './store-outputs.ts'
import { type Preview, readEvents, streamed } from './stream-images.ts'
import { watchVendorCost } from './vendor-cost.ts'

type Whole = Answer & { readonly body: Uint8Array }

export const answerMedia = (gateway: Gateway, task: Task, priced: Priced): Promise<Answer> =>
  task.call.stream
    ? streamed(gateway, task, (preview) => answerWith(gateway, task, { priced, preview }))
    : answerWith(gateway, task, { priced })

type PricedCall = { readonly priced: Priced; readonly preview?: Preview }

const answerWith = async (gateway: Gateway, task: Task, { priced, preview }: PricedCall): Promise<Whole> => {
  const shape = gateway.offering.media.get(task.model.id)
  const full = await storageRefusal(gateway, task)
  if (shape?.flow !== 'once' || full !== undefined) {
    await giveUp(gateway, task)
    throw full ?? unavailable('Results cannot be kept here.')
  }
  const delivered = async () => {
    const { opened: done } = await askOnce(gateway, task, { shape, priced, preview })
    task.trace.firstByteMs = gateway.clock.monotonicMs() - task.trace.startedMs
    const whose = {
      keyId: task.key.id,
      runId: task.trace.callId,
      needsBytes: containsBytes(task.call.media?.results),
    }
    const { outputs, measured } = done
    const it = { ...whose, outputs, measured, most: priced.most }
    return { done, ...(await storeOutputs(gateway.assets, it)) }
  }
  const results = await delivered().catch(async (thrown: unknown) => {
    await giveUp(gateway, task)
    throw notStored(gateway, task, thrown)
  })
  const createdS = Math.floor(gateway.clock.now() / 1000)
  const { headers, bytes, unpaid } = await settle(gateway, task, {
    known: {
      reported: measuredOf(results.done, priced, results.lengths),
      whole: true,
      delivered: { letters: 0, events: 0 },
      vendorCost: results.done.vendorCost,
    },
    ended: task.signal.aborted ? 'client_gone' : 'ok',
    mayExceed: false,
    receipt: true,
    write: (charge) => written(task, { ...results, createdS, preview: preview?.shown() ?? [] }, charge),
  })
  watchVendorCost(gateway, {
    call: task.trace.callId,
    vendor: task.trace.vendor ?? task.model.vendor,
    // What its vendor bills for an organisation's own key is not ours.
    vendorCost: task.trace.vendorKey === OWN_KEY ? undefined : results.done.vendorCost,
    charged: task.trace.charged ?? 0n,
  })
  if (unpaid !== undefined) throw unpaid
  return { status: 200, headers, body: bytes }
}

type Once = { readonly shape: OnceShape; readonly priced: Priced; readonly preview: Preview | undefined }

const askOnce = (gateway: Gateway, task: Task, { shape, priced: { inputs }, preview }: Once) =>
  askVendor(gateway, task, {
    request: ({ model }) => ({
      ...encodeOutgoing(shape.ask(inputs, model.upstreamName), task.trace.callId),
      notCarried: [],
    }),
    open: async (exchange, _request, { secret }) => {
      const bytes = await bytesOf(gateway, task, exchange, { shape, preview })
      const shown = (preview?.shown().length ?? 0) > 0
      return readDone(exchange, { shape, inputs, secret, bytes, shown })
    },
    refused: ({ status, body }) => {
      const verdict = shape.read({ status, header: () => undefined, bytes: body, json: jsonOf(body) }, inputs)
      return verdict?.verdict === 'blocked' ? promptBlocked() : undefined
    },
  })

/** The whole answer. If it comes as events, those that the caller may see are shown as they come. */
const bytesOf = (
  gateway: Gateway,
  task: Task,
  exchange: Exchange,
  { shape, preview }: Pick<Once, 'shape' | 'preview'>,
): Promise<Uint8Array> => {
  const look = shape.preview
  const type = exchange.headers.get('content-type') ?? ''
  if (look === undefined || preview === undefined || !type.startsWith('text/event-stream'))
    return exchange.all()
  return readEvents({ gateway, task }, exchange, async (event) => {
    const shown = look(event)
    if (shown !== undefined) await preview.show(shown)
  })
}

type Reading = {
  readonly bytes: Uint8Array
  /** The caller has seen part of the answer, so no other vendor is asked. */
  readonly shown: boolean
  readonly shape: OnceShape
  readonly inputs: JsonObject
  /** The vendor's key, which must not appear in any text of its answers. */
  readonly secret: Secret | undefined
}

const readDone = (exchange: Exchange, { bytes, shown, shape, inputs, secret }: Reading): Done => {
  const header = (name: string) => exchange.headers.get(name) ?? undefined
  const type = header('content-type') ?? ''
  const json = /json/i.test(type) || type === '' ? jsonOf(bytes) : undefined
  const verdict = shape.read({ status: exchange.status, header, bytes, json }, inputs)
  if (verdict === undefined) throw new VendorFault('body', 'the vendor answered with something else')
  if (verdict.verdict === 'blocked') throw promptBlocked()
  if (verdict.verdict === 'failed')
    throw verdict.fault === 'inputs'
      ? refuse('invalid_parameter', withoutSecrets(verdict.message, secret?.reveal()), {
          members: { param: 'inputs' },
        })
      : new VendorFault('body', 'the vendor did not make it', { mayBill: shown })
  return verdict
}

const decoder = new TextDecoder()
const jsonOf = (bytes: Uint8Array): Json | undefined => parseJson(decoder.decode(bytes))

/** The error for a result that could not be stored. */
const notStored = ({ log }: Gateway, { trace, model }: Task, thrown: unknown): unknown => {
  if (!(thrown instanceof AssetFault)) return thrown
  const { side, message, cause } = thrown
  const error = cause === undefined ? message : `${message}: ${messageOf(cause)}`
  log.warn('a result could not be stored', { call: trace.callId, vendor: model.vendor, error })
  return side === 'storage'
    ? unavailable('The result could not be stored.')
    : refuse('upstream_error', "The vendor's result could not be fetched. Nothing was charged.", {
        members: { provider: model.vendor },
      })
}
