/**
 * Batches of files: lines are uploaded as a file, a batch is made of it, and results are files. Sources: OpenAI API reference,
 * "Batch" and "Files"; GroqCloud, "Batch Processing", which is the same; Mistral AI API, "Batch" and "Files", which has
 * other names.
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { Outgoing, VendorAnswer } from '../../media/shape.ts'
import { type EndedPart, joined, type NewPart, type VendorBatchForm } from './vendor-batch.ts'

/** The names of one vendor. */
type Names = {
  readonly batches: string
  /** Where a batch ends, by its `status`; others run. */
  readonly ended: readonly string[]
  readonly files: readonly string[]
  readonly create: (file: string, part: NewPart, endpoint: string) => JsonObject
  /** What stands beside the body in a line. */
  readonly line: (endpoint: string) => JsonObject
  readonly endpoints: readonly string[]
}

const CALLS_MOST = 2_000
const BYTES_MOST = 16 * 1024 * 1024
/** Where our id of a part is in the batch's `metadata`. */
const PART = 'part'
/** Codes of lines that were never run. */
const UNSENT: readonly (Json | undefined)[] = ['batch_expired', 'batch_cancelled']

const member = (answer: VendorAnswer, name: string): Json | undefined =>
  answer.status >= 200 && answer.status < 300 && isObject(answer.json) ? answer.json[name] : undefined

const fileForm = (names: Names): VendorBatchForm => {
  const { batches, files, ended, create } = names
  const endpointOf = (path: string) => `/v1${path}`
  const upload = ({ id, path, calls }: NewPart): Outgoing => {
    const beside = JSON.stringify(names.line(endpointOf(path))).slice(1, -1)
    const bytes = joined(
      calls.flatMap(({ id: call, body }) => [
        `{"custom_id":${JSON.stringify(call)},${beside === '' ? '' : `${beside},`}"body":`,
        body,
        '}\n',
      ]),
    )
    const file = { bytes, mediaType: 'application/jsonl' }
    const form = [
      { name: 'purpose', text: 'batch' },
      { name: 'file', filename: `${id}.jsonl`, file },
    ]
    return { method: 'POST', path: '/files', body: { form } }
  }
  return {
    callsMost: CALLS_MOST,
    bytesMost: BYTES_MOST,
    takes: (path) => names.endpoints.includes(path),
    submit: upload,
    readSubmitted: (answer, part) => {
      const id = member(answer, 'id')
      if (typeof id !== 'string') return undefined
      if (member(answer, 'object') !== 'file') return id
      return {
        next: { method: 'POST', path: batches, body: { json: create(id, part, endpointOf(part.path)) } },
      }
    },
    newest: { method: 'GET', path: batches },
    found: (answer, id) => {
      const listed = member(answer, 'data')
      const one = (Array.isArray(listed) ? listed : []).find(
        (batch) => isObject(batch) && isObject(batch.metadata) && batch.metadata[PART] === id,
      )
      return isObject(one) && typeof one.id === 'string' ? one.id : undefined
    },
    poll: (ref) => ({ method: 'GET', path: `${batches}/${ref}` }),
    readPoll: (answer): 'running' | EndedPart | undefined => {
      const status = member(answer, 'status')
      if (typeof status !== 'string') return undefined
      if (!ended.includes(status)) return 'running'
      const named = files.map((name) => member(answer, name)).filter((id) => typeof id === 'string')
      return { files: named.map((id) => ({ method: 'GET', path: `/files/${id}/content` })), lines: [] }
    },
    readResult: ({ custom_id: id, response, error }) => {
      if (typeof id !== 'string') return undefined
      if (isObject(error) && UNSENT.includes(error.code)) return { id, unsent: true }
      if (isObject(response) && typeof response.status_code === 'number')
        return { id, status: response.status_code, body: response.body ?? null }
      return isObject(error) ? { id, status: 500, body: { error } } : undefined
    },
    cancel: (ref) => ({ method: 'POST', path: `${batches}/${ref}/cancel` }),
  }
}

const openaiNames: Names = {
  batches: '/batches',
  ended: ['completed', 'failed', 'expired', 'cancelled'],
  files: ['output_file_id', 'error_file_id'],
  create: (file, { id }, endpoint) => ({
    input_file_id: file,
    endpoint,
    completion_window: '24h',
    metadata: { [PART]: id },
  }),
  line: (url) => ({ method: 'POST', url }),
  endpoints: ['/chat/completions', '/responses', '/embeddings'],
}

export const openaiBatches = fileForm(openaiNames)

export const groqBatches = fileForm({ ...openaiNames, endpoints: ['/chat/completions'] })

export const mistralBatches = fileForm({
  batches: '/batch/jobs',
  ended: ['SUCCESS', 'FAILED', 'TIMEOUT_EXCEEDED', 'CANCELLED'],
  files: ['output_file', 'error_file'],
  create: (file, { id, upstreamName }, endpoint) => ({
    input_files: [file],
    endpoint,
    model: upstreamName,
    timeout_hours: 24,
    metadata: { [PART]: id },
  }),
  line: () => ({}),
  endpoints: ['/chat/completions', '/embeddings'],
})
