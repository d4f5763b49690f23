/** Batches in Gemini's form, each a long-running operation. Sources: Gemini API reference, "Batch API"; google.longrunning.Operation. */
import { readAs } from '../../core/body.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { invalid, must, Refusal, refuse } from '../../core/refusal.ts'
import { isoOf, shownBatchId, statusOf } from '../../gateway/batches/batch-summary.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Batch } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { json } from '../answer/reply.ts'
import { sendPieces } from '../answer/send-pieces.ts'
import { callerOf } from '../request/caller.ts'
import { readQuery } from '../request/query.ts'
import { readSmallBody } from '../request/read-body.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import { newGeminiBatch } from '../schema/gemini-batches.ts'
import { beginWith, deleteNamed, keepLines, resultsOf } from './inline-lines.ts'
import { batchNamed, cancelNamed, costShown, headersOf, limitOf, listedAfter } from './named-batch.ts'

const ID = /^[0-9a-f]{32}$/
const idIn = (text = ''): string | undefined => ID.exec(text)?.[0]

const LIST_MOST = 1_000
const TYPE = 'type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch'

/** Begins a batch whose lines all are requests of the model that the address names. */
export const createGeminiBatch = async (gateway: Gateway, call: HttpCall, model: string): Promise<Answer> => {
  const key = await callerOf(gateway, call, 'gemini')
  const read = readAs(newGeminiBatch, await readSmallBody(gateway, call, gateway.options.bodyBytesMax))
  if (read instanceof Refusal) throw read
  const { batch, on_cap: onCap = 'refuse', webhook } = read
  const { displayName } = batch
  const { asked: said, ...more } = await headersOf(gateway, call, key)
  const endpoint = `/v1beta/models/${model}:generateContent`
  const { trace } = call
  const { input, lines } = await keepLines(gateway, { key, trace }, batch.inputConfig.requests.requests)
  const asked = { endpoint, ...said, model, ...(displayName === undefined ? {} : { displayName }), lines }
  const made = { ...more, form: 'gemini' as const, key, asked, onCap, webhook, input, trace }
  return json(operationOf(key)(await beginWith(gateway, made)))
}

const named = async (gateway: Gateway, call: HttpCall, id = call.params.id) => {
  const key = await callerOf(gateway, call, 'gemini')
  return { key, batch: await batchNamed(gateway, key, { form: 'gemini', id: idIn(id) }) }
}

/** The operation, with all results once it has ended. */
export const getGeminiBatch: Handler = async (gateway, call) => {
  const { batch, key } = await named(gateway, call)
  const operation = operationOf(key)(batch)
  if (batch.state !== 'ended') return json(operation)
  const results = await resultsOf(gateway, batch)
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return { status: 200, headers, body: sendPieces(gateway, call, withResults(operation, results)) }
}

const COMMA = 44
const LINE_END = 10

/** Clients read the results in `metadata.output`, callers without a client in `response`: each is the file as one list. */
async function* withResults(
  { metadata, ...operation }: ReturnType<ReturnType<typeof operationOf>>,
  results: () => AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const open = (value: object) => JSON.stringify(value).slice(0, -1)
  const list = '"inlinedResponses":{"inlinedResponses":['
  yield Buffer.from(`${open(operation)},"metadata":${open(metadata)},"output":{${list}`)
  yield* listed(results())
  yield Buffer.from(`]}}},"response":{"@type":"${TYPE}Output",${list}`)
  yield* listed(results())
  yield Buffer.from(']}}}')
}

/** Lines as the members of a list: each line break but the last becomes a comma. */
async function* listed(lines: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let ended = false
  for await (const piece of lines) {
    if (ended) yield Buffer.from(',')
    ended = piece.at(-1) === LINE_END
    yield (ended ? piece.subarray(0, -1) : piece).map((byte) => (byte === LINE_END ? COMMA : byte))
  }
}

export const cancelGeminiBatch: Handler = async (gateway, call) => {
  const [, id] = /^(.+):cancel$/.exec(call.params.id ?? '') ?? []
  if (id === undefined)
    throw refuse('not_found', 'There is nothing at this address; a batch takes the method :cancel.')
  const { key, batch } = await named(gateway, call, id)
  await cancelNamed(gateway, key, batch)
  return json({})
}

export const deleteGeminiBatch: Handler = async (gateway, call) => {
  await deleteNamed(gateway, (await named(gateway, call)).batch)
  return json({})
}

/** Without results, which each batch of its own has. */
export const listGeminiBatches: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call, 'gemini')
  const query = must(readQuery(call.query, ['pageSize', 'pageToken', 'key']))
  const size = query.get('pageSize')
  const most = limitOf(size === '0' ? undefined : size, { name: 'pageSize', most: LIST_MOST })
  const token = query.get('pageToken')
  if (token !== undefined && idIn(token) === undefined)
    throw invalid('pageToken', "'pageToken' is no 'nextPageToken' of this list.")
  const page = { form: 'gemini' as const, after: idIn(token), most: most + 1 }
  const found = await listedAfter(gateway, key, 'pageToken', page)
  const shown = found.slice(0, most)
  const more = found.length > most ? { nextPageToken: shown.at(-1)?.id } : {}
  return json({ operations: shown.map(operationOf(key)), ...more })
}

const states: Readonly<Record<string, string>> = {
  completed: 'SUCCEEDED',
  cancelled: 'CANCELLED',
  expired: 'EXPIRED',
}

/** A batch as the key that asks is shown it. */
const operationOf = (key: Key) => (batch: Batch) => {
  const { asked, state, total, succeeded, errored, stopped } = batch
  const name = shownBatchId(batch)
  const metadata: JsonObject = {
    '@type': TYPE,
    name,
    model: `models/${asked.model}`,
    ...(asked.displayName === undefined ? {} : { displayName: asked.displayName }),
    state: `BATCH_STATE_${states[statusOf(batch)] ?? 'RUNNING'}`,
    createTime: isoOf(batch.createdAt),
    updateTime: isoOf(batch.endedAt ?? batch.cancelAt ?? batch.createdAt),
    ...(batch.endedAt === undefined ? {} : { endTime: isoOf(batch.endedAt) }),
    // 64-bit numbers are texts in the JSON of protocol buffers.
    batchStats: {
      requestCount: String(total),
      successfulRequestCount: String(succeeded),
      failedRequestCount: String(errored + stopped),
      pendingRequestCount: String(batch.waiting + batch.sent),
    },
    ...costShown(batch, key),
    on_cap: batch.onCap,
  }
  return { name, metadata, done: state === 'ended' }
}
