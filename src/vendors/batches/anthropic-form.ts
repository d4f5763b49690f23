/** Anthropic's batches: the requests are the body, and the results one file of lines. Source: Anthropic API reference, "Message Batches". */
import { isObject } from '../../core/json-body.ts'
import { joined, usualPart, type VendorBatchForm } from './vendor-batch.ts'

const BATCHES = '/messages/batches'

export const anthropicBatches: VendorBatchForm = {
  ...usualPart,
  takes: (path) => path === '/messages',
  submit: ({ calls }) => {
    const requests = calls.flatMap(({ id, body }, at) => [
      `${at === 0 ? '' : ','}{"custom_id":${JSON.stringify(id)},"params":`,
      body,
      '}',
    ])
    const bytes = joined(['{"requests":[', ...requests, ']}'])
    return { method: 'POST', path: BATCHES, body: { raw: { bytes, mediaType: 'application/json' } } }
  },
  readSubmitted: ({ status, json }) =>
    status === 200 && isObject(json) && typeof json.id === 'string' ? json.id : undefined,
  poll: (ref) => ({ method: 'GET', path: `${BATCHES}/${ref}` }),
  readPoll: ({ status, json }, ref) => {
    if (status !== 200 || !isObject(json) || typeof json.processing_status !== 'string') return undefined
    if (json.processing_status !== 'ended') return 'running'
    return { files: [{ method: 'GET', path: `${BATCHES}/${ref}/results` }], lines: [] }
  },
  readResult: ({ custom_id: id, result }) => {
    if (typeof id !== 'string' || !isObject(result)) return undefined
    const { type, message, error } = result
    if (type === 'canceled' || type === 'expired') return { id, unsent: true }
    if (type === 'succeeded') return { id, status: 200, body: message ?? null }
    if (type !== 'errored' || !isObject(error)) return undefined
    const kind = isObject(error.error) ? error.error.type : undefined
    return { id, status: kind === 'invalid_request_error' ? 400 : 500, body: error }
  },
  cancel: (ref) => ({ method: 'POST', path: `${BATCHES}/${ref}/cancel` }),
}
