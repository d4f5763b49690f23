/** Batches in Anthropic's form. Source: Anthropic API reference, "Message Batches". */
import type { Uploads } from '../../assets/uploads.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import { shownBatchId } from '../../gateway/batches/batch-summary.ts'
import { createBatch } from '../../gateway/batches/create-batch.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Batch } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { json } from '../answer/reply.ts'
import { sendPieces } from '../answer/send-pieces.ts'
import { callerOf } from '../request/caller.ts'
import { readQuery } from '../request/query.ts'
import type { BodyHandler } from '../request/with-body.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import type { NewMessageBatchBody } from '../schema/batches.ts'
import { assetsOf, batchNamed, cancelNamed, costShown, headersOf, limitOf } from './named-batch.ts'

const ID = /^msgbatch_([0-9a-f]{32})$/
const idIn = (text: string | undefined): string | undefined => ID.exec(text ?? '')?.[1]

const LIST_MOST = 1_000
const PART_BYTES = 256 * 1024
const WRITTEN_TOGETHER = 100
/** The lines are kept somewhat longer than they may wait; a batch that begins keeps them as long as it needs them. */
const INPUT_MS = 3_600_000

async function* linesOf(requests: readonly JsonObject[]): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < requests.length; at += WRITTEN_TOGETHER) {
    const lines = requests.slice(at, at + WRITTEN_TOGETHER).map((one) => `${JSON.stringify(one)}\n`)
    yield Buffer.from(lines.join(''))
  }
}

export const createMessageBatch: BodyHandler<NewMessageBatchBody> = async (gateway, call, body) => {
  const key = await callerOf(gateway, call, 'messages')
  const { uploads } = assetsOf(gateway)
  const { requests, on_cap: onCap = 'refuse', webhook } = await body()
  const { mode, ...more } = headersOf(gateway, call, key)
  const beta = call.request.headers.get('anthropic-beta')
  const asked = { endpoint: '/v1/messages', mode, ...(beta === null ? {} : { beta }) }
  const full = await uploads.full(key.id)
  if (full !== undefined) throw full
  const { trace } = call
  const at = { keyId: key.id, runId: trace.callId, place: 0, lifeMs: INPUT_MS }
  const input = await uploads.keep({ ...at, pieces: linesOf(requests) })
  const made = { ...more, form: 'anthropic' as const, key, asked, onCap, webhook, input, trace }
  return json(shown(gateway, await createBatch(gateway, made), key))
}

const named = async (gateway: Gateway, call: HttpCall) => {
  const key = await callerOf(gateway, call, 'messages')
  return { key, batch: await batchNamed(gateway, key, { form: 'anthropic', id: idIn(call.params.id) }) }
}

export const getMessageBatch: Handler = async (gateway, call) => {
  const { key, batch } = await named(gateway, call)
  return json(shown(gateway, batch, key))
}

export const cancelMessageBatch: Handler = async (gateway, call) => {
  const { key, batch } = await named(gateway, call)
  return json(shown(gateway, await cancelNamed(gateway, key, batch), key))
}

export const deleteMessageBatch: Handler = async (gateway, call) => {
  const { batch } = await named(gateway, call)
  if (!(await gateway.store.batches.remove(batch.id)))
    throw invalid('id', 'The batch has not ended; cancel it first, and delete it when it has ended.')
  for (const file of [batch.input, batch.output])
    if (file !== undefined) await assetsOf(gateway).end(file, batch.keyId)
  return json({ id: call.params.id, type: 'message_batch_deleted' })
}

export const listMessageBatches: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call, 'messages')
  const query = must(readQuery(call.query, ['after_id', 'limit']))
  const most = limitOf(query.get('limit'), LIST_MOST)
  const after = query.get('after_id')
  if (after !== undefined && idIn(after) === undefined)
    throw invalid('after_id', "'after_id' must be the id of a batch.")
  const page = { form: 'anthropic' as const, after: idIn(after), most: most + 1 }
  const found = await gateway.store.batches.list(key.id, page)
  const data = found.slice(0, most).map((batch) => shown(gateway, batch, key))
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
  return json({ data, has_more: found.length > most, first_id, last_id })
}

/** The results as lines. They come from here, also out of a bucket: the client would take its key there. */
export const messageBatchResults: Handler = async (gateway, call) => {
  const { batch } = await named(gateway, call)
  const assets = assetsOf(gateway)
  const file = batch.output === undefined ? undefined : await assets.find(batch.output)
  if (file === undefined)
    throw refuse('not_found', 'The batch has not ended, or its results are no longer kept (BATCH_DAYS).')
  const headers = { 'content-type': 'application/x-jsonl', 'cache-control': 'no-store' }
  return { status: 200, headers, body: sendPieces(gateway, call, partsOf(assets.uploads, file)) }
}

async function* partsOf({ part }: Uploads, { id, bytes }: { readonly id: string; readonly bytes: number }) {
  for (let first = 0; first < bytes; first += PART_BYTES) {
    const read = await part(id, { first, last: Math.min(first + PART_BYTES, bytes) - 1 })
    if (read === undefined) throw new Error('the results of a batch are gone')
    yield read
  }
}

const timeOf = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString()

/** Without a public address of the server the results' is a path: clients put it behind the address that they call. */
const shown = (gateway: Gateway, batch: Batch, key: Key) => {
  const { state, stop, stopped, cancelAt } = batch
  const id = shownBatchId(batch)
  const ended = state === 'ended'
  const stoppedBy = (why: string) => (stop === why ? stopped : 0)
  const [canceled, expired] = [stoppedBy('cancelled'), stoppedBy('expired')]
  return {
    id,
    type: 'message_batch',
    processing_status: ended ? 'ended' : cancelAt === undefined ? 'in_progress' : 'canceling',
    request_counts: {
      processing: batch.waiting + batch.sent,
      succeeded: batch.succeeded,
      errored: batch.errored + stopped - canceled - expired,
      canceled,
      expired,
    },
    created_at: timeOf(batch.createdAt),
    expires_at: timeOf(batch.expiresAt),
    ended_at: timeOf(batch.endedAt),
    cancel_initiated_at: timeOf(cancelAt),
    archived_at: null,
    results_url: ended ? `${gateway.publicUrl ?? ''}/v1/messages/batches/${id}/results` : null,
    ...costShown(batch, key),
    on_cap: batch.onCap,
  }
}
