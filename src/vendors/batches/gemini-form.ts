/** Google's batches: requests of one model in the body, results in the state of the batch. Source: Gemini API reference, "Batch API". */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { joined, type VendorBatchForm } from './vendor-batch.ts'

const ENDED = ['SUCCEEDED', 'FAILED', 'CANCELLED', 'EXPIRED'].map((name) => `BATCH_STATE_${name}`)

/** Statuses by the codes of google.rpc: cancelled and too late were not run. */
const UNSENT: readonly unknown[] = [1, 4]
const statuses: Readonly<Record<string, number>> = {
  3: 400,
  5: 404,
  7: 403,
  8: 429,
  9: 400,
  14: 503,
  16: 401,
}

const listIn = (value: unknown, name: string): readonly unknown[] => {
  const list = isObject(value) ? value[name] : undefined
  return Array.isArray(list) ? list : []
}

export const geminiBatches: VendorBatchForm = {
  // All results come in one answer.
  callsMost: 200,
  bytesMost: 8 * 1024 * 1024,
  takes: (path) => path.endsWith(':generateContent'),
  submit: ({ id, upstreamName, calls }) => {
    const requests = calls.flatMap(({ id: call, body }, at) => [
      `${at === 0 ? '' : ','}{"metadata":{"key":${JSON.stringify(call)}},"request":`,
      body,
      '}',
    ])
    const head = `{"batch":{"displayName":${JSON.stringify(id)},"inputConfig":{"requests":{"requests":[`
    const bytes = joined([head, ...requests, ']}}}}'])
    const path = `/models/${upstreamName}:batchGenerateContent`
    return { method: 'POST', path, body: { raw: { bytes, mediaType: 'application/json' } } }
  },
  readSubmitted: ({ status, json }) =>
    status === 200 && isObject(json) && typeof json.name === 'string' ? json.name : undefined,
  newest: () => ({ method: 'GET', path: '/batches', query: { pageSize: '100' } }),
  found: ({ json }, id) => {
    const one = listIn(json, 'operations').find(
      (operation) =>
        isObject(operation) && isObject(operation.metadata) && operation.metadata.displayName === id,
    )
    return isObject(one) && typeof one.name === 'string' ? one.name : undefined
  },
  poll: (ref) => ({ method: 'GET', path: `/${ref}` }),
  readPoll: ({ status, json }) => {
    const state =
      status === 200 && isObject(json) && isObject(json.metadata) ? json.metadata.state : undefined
    if (typeof state !== 'string' || !isObject(json)) return undefined
    if (!ENDED.includes(state)) return 'running'
    const { response } = json
    const lines = listIn(isObject(response) ? response.inlinedResponses : undefined, 'inlinedResponses')
    return { files: [], lines: lines.filter((line): line is JsonObject => isObject(line)) }
  },
  readResult: ({ metadata, response, error }) => {
    const id = isObject(metadata) ? metadata.key : undefined
    if (typeof id !== 'string') return undefined
    if (isObject(response)) return { id, status: 200, body: response }
    if (!isObject(error)) return undefined
    return UNSENT.includes(error.code)
      ? { id, unsent: true }
      : { id, status: statuses[String(error.code)] ?? 500, body: { error } }
  },
  cancel: (ref) => ({ method: 'POST', path: `/${ref}:cancel` }),
}
