/** Batches in Anthropic's form. Source: Anthropic API reference, "Message Batches". */
import { invalid, must } from '../../core/refusal.ts'
import { isoOf, shownBatchId } from '../../gateway/batches/batch-summary.ts'
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
import { beginWith, deleteNamed, keepLines, resultsOf } from './inline-lines.ts'
import { batchNamed, cancelNamed, costShown, headersOf, limitOf, listedAfter } from './named-batch.ts'

const ID = /^msgbatch_([0-9a-f]{32})$/
const idIn = (text: string | undefined): string | undefined => ID.exec(text ?? '')?.[1]

const LIST_MOST = 1_000
export const createMessageBatch: BodyHandler<NewMessageBatchBody> = async (gateway, call, body) => {
  const key = await callerOf(gateway, call, 'messages')
  const { requests, on_cap: onCap = 'refuse', webhook } = await body()
  const { asked: said, ...more } = await headersOf(gateway, call, key)
  const beta = call.request.headers.get('anthropic-beta')
  const { trace } = call
  const { input, lines } = await keepLines(gateway, { key, trace }, requests)
  const asked = { endpoint: '/v1/messages', ...said, ...(beta === null ? {} : { beta }), lines }
  const made = { ...more, form: 'anthropic' as const, key, asked, onCap, webhook, input, trace }
  return json(shown(gateway, await beginWith(gateway, made), key))
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
  await deleteNamed(gateway, batch)
  return json({ id: call.params.id, type: 'message_batch_deleted' })
}

export const listMessageBatches: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call, 'messages')
  const query = must(readQuery(call.query, ['after_id', 'limit']))
  const most = limitOf(query.get('limit'), { most: LIST_MOST })
  const after = query.get('after_id')
  if (after !== undefined && idIn(after) === undefined)
    throw invalid('after_id', "'after_id' must be the id of a batch.")
  const page = { form: 'anthropic' as const, after: idIn(after), most: most + 1 }
  const found = await listedAfter(gateway, key, 'after_id', page)
  const data = found.slice(0, most).map((batch) => shown(gateway, batch, key))
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
  return json({ data, has_more: found.length > most, first_id, last_id })
}

/** The results as lines. They come from here, also out of a bucket: the client would take its key there. */
export const messageBatchResults: Handler = async (gateway, call) => {
  const { batch } = await named(gateway, call)
  const results = await resultsOf(gateway, batch)
  const headers = { 'content-type': 'application/x-jsonl', 'cache-control': 'no-store' }
  return { status: 200, headers, body: sendPieces(gateway, call, results()) }
}

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
    created_at: isoOf(batch.createdAt),
    expires_at: isoOf(batch.expiresAt),
    ended_at: isoOf(batch.endedAt),
    cancel_initiated_at: isoOf(cancelAt),
    archived_at: null,
    results_url: ended ? `${gateway.publicUrl ?? ''}/v1/messages/batches/${id}/results` : null,
    ...costShown(batch, key),
    on_cap: batch.onCap,
  }
}
