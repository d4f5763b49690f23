/** Batches in OpenAI's form. Source: OpenAI API reference, "Batch". */
import { readFileId, shownFileId } from '../../core/file-id.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import { shownBatchId, statusOf } from '../../gateway/batches/batch-summary.ts'
import { createBatch } from '../../gateway/batches/create-batch.ts'
import type { Batch } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { json } from '../answer/reply.ts'
import { anyCallerOf, callerOf } from '../request/caller.ts'
import { readQuery } from '../request/query.ts'
import type { BodyHandler } from '../request/with-body.ts'
import type { Handler } from '../route/route.ts'
import type { NewBatchBody } from '../schema/batches.ts'
import {
  assetsOf,
  batchNamed,
  cancelNamed,
  costShown,
  headersOf,
  limitOf,
  listedAfter,
} from './named-batch.ts'

const ID = /^batch_([0-9a-f]{32})$/
const idIn = (text: string | undefined): string | undefined => ID.exec(text ?? '')?.[1]

const LIST_MOST = 100

export const createOpenaiBatch: BodyHandler<NewBatchBody> = async (gateway, call, body) => {
  const key = await callerOf(gateway, call)
  const { input_file_id: fileId, endpoint, metadata, on_cap: onCap = 'refuse', webhook } = await body()
  const file = readFileId(fileId)
  const upload = file === undefined ? undefined : await assetsOf(gateway).uploads.findFor(file, key.id)
  if (upload === undefined)
    throw refuse('not_found', 'There is no file of this id, it has expired, or it is not yours.', {
      members: { param: 'input_file_id' },
    })
  if (upload.purpose !== 'batch')
    throw invalid(
      'input_file_id',
      "'input_file_id' must name a file that was uploaded with the purpose batch.",
    )
  const { asked: said, ...more } = await headersOf(gateway, call, key)
  const asked = { endpoint, ...said, fileId, ...(metadata ? { metadata } : {}) }
  const made = {
    ...more,
    form: 'openai' as const,
    key,
    asked,
    onCap,
    webhook,
    input: upload,
    trace: call.trace,
  }
  return json(shown(await createBatch(gateway, made), key))
}

export const getOpenaiBatch: Handler = async (gateway, call) => {
  const key = await anyCallerOf(gateway, call)
  return json(shown(await batchNamed(gateway, key, { form: 'openai', id: idIn(call.params.id) }), key))
}

export const cancelOpenaiBatch: Handler = async (gateway, call) => {
  const key = await anyCallerOf(gateway, call)
  const batch = await batchNamed(gateway, key, { form: 'openai', id: idIn(call.params.id) })
  return json(shown(await cancelNamed(gateway, key, batch), key))
}

export const listOpenaiBatches: Handler = async (gateway, call) => {
  const key = await anyCallerOf(gateway, call)
  const query = must(readQuery(call.query, ['after', 'limit']))
  const most = limitOf(query.get('limit'), { most: LIST_MOST })
  const after = query.get('after')
  if (after !== undefined && idIn(after) === undefined)
    throw invalid('after', "'after' must be the id of a batch.")
  const page = { form: 'openai' as const, after: idIn(after), most: most + 1 }
  const found = await listedAfter(gateway, key, 'after', page)
  const data = found.slice(0, most).map((batch) => shown(batch, key))
  return json({
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: found.length > most,
  })
}

const secondsOf = (at: number | undefined): number | null => (at === undefined ? null : Math.floor(at / 1000))
const fileOf = (id: string | undefined): string | null => (id === undefined ? null : shownFileId(id))

const shown = (batch: Batch, key: Key) => {
  const { asked, total, succeeded, errored, stopped, inputTokens, outputTokens } = batch
  const status = statusOf(batch)
  const endedAs = (as: string) => (status === as ? secondsOf(batch.endedAt) : null)
  return {
    id: shownBatchId(batch),
    object: 'batch',
    endpoint: asked.endpoint,
    errors: null,
    input_file_id: asked.fileId ?? '',
    completion_window: '24h',
    status,
    output_file_id: fileOf(batch.output),
    error_file_id: fileOf(batch.errors),
    created_at: secondsOf(batch.createdAt),
    in_progress_at: secondsOf(batch.createdAt),
    expires_at: secondsOf(batch.expiresAt),
    completed_at: endedAs('completed'),
    expired_at: endedAs('expired'),
    cancelling_at: secondsOf(batch.cancelAt),
    cancelled_at: endedAs('cancelled'),
    request_counts: { total, completed: succeeded, failed: errored + stopped },
    metadata: asked.metadata ?? null,
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: batch.cachedTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: batch.reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
    ...costShown(batch, key),
    on_cap: batch.onCap,
  }
}
