/**
 * Batches of files: lines are uploaded as a file, a batch is made of it, and results are files. Sources: OpenAI API reference,
 * "Batch" and "Files"; GroqCloud, "Batch Processing", which is the same. Those of vendors with other names stand with each.
 */
import { isObject, type Json, type JsonObject, readJsonBody, splice } from '../../core/json-body.ts'
import { must } from '../../core/refusal.ts'
import { postJson } from '../../media/post-json.ts'
import { listAt, member, objectOf, textAt } from '../../media/read-answer.ts'
import type { FormPart, Outgoing, VendorAnswer } from '../../media/shape.ts'
import { type EndedPart, jsonLines, type NewPart, usualPart, type VendorBatchForm } from './vendor-batch.ts'

/** The names of one vendor. */
type Names = {
  readonly batches: string
  /** Where a batch ends, by its `status` in small letters; others run. */
  readonly ended: readonly string[]
  readonly files: readonly string[]
  /** Where files are uploaded, and what stands in the form before the file of this name. */
  readonly upload: {
    readonly path: string
    readonly fields: (filename: string) => Readonly<Record<string, string>>
  }
  /** The status of a file that a batch can be made of, where the vendor refuses it before. */
  readonly usable?: string
  readonly create: (file: string, part: NewPart, endpoint: string) => JsonObject
  /** The member of the answer that has the new batch, if it is not the answer itself. */
  readonly created?: string
  /** Set where a batch has no place for our name, so that none can be found by it. */
  readonly nameless?: true
  /** What stands beside the body in a line. */
  readonly line: (endpoint: string) => JsonObject
  readonly endpoints: readonly string[]
  readonly inPart?: VendorBatchForm['inPart']
}

/** Where our id of a part is in the batch's `metadata`. */
const PART = 'part'
/** How long a file that cannot be used yet is left alone. */
const FILE_PAUSE_MS = 1_000
/** Codes of lines that were never run. */
const UNSENT: readonly (Json | undefined)[] = ['batch_expired', 'batch_cancelled']

const fileForm = (names: Names): VendorBatchForm => {
  const { batches, files, ended, create } = names
  const endpointOf = (path: string) => `/v1${path}`
  const upload = ({ id, path, calls }: NewPart): Outgoing => {
    const beside = JSON.stringify(names.line(endpointOf(path))).slice(1, -1)
    const members = beside === '' ? '' : `${beside},`
    const bytes = jsonLines(calls, (call) => `{"custom_id":${call},${members}"body":`)
    const filename = `${id}.jsonl`
    const fields = Object.entries(names.upload.fields(filename)).map(
      ([name, text]): FormPart => ({ name, text }),
    )
    const file: FormPart = { name: 'file', filename, file: { bytes, mediaType: 'application/jsonl' } }
    return { method: 'POST', path: names.upload.path, body: { form: [...fields, file] } }
  }
  const readFile = (answer: VendorAnswer, id: string, part: NewPart) =>
    names.usable !== undefined && member(objectOf(answer), 'status') !== names.usable
      ? { next: { method: 'GET', path: `/files/${id}` } as const, pauseMs: FILE_PAUSE_MS }
      : { next: postJson(batches, create(id, part, endpointOf(part.path))) }
  return {
    ...usualPart,
    takes: (path) => names.endpoints.includes(path),
    ...(names.inPart === undefined ? {} : { inPart: names.inPart }),
    submit: upload,
    readSubmitted: (answer, part) => {
      const body = objectOf(answer)
      const inside = names.created === undefined ? undefined : member(body, names.created)
      const id = textAt(isObject(inside) ? inside : body, 'id')
      if (id === undefined) return undefined
      return member(body, 'object') === 'file' ? readFile(answer, id, part) : id
    },
    ...(names.nameless ? {} : { newest: () => ({ method: 'GET', path: batches }) as const }),
    found: (answer, id) => {
      const listed = listAt(objectOf(answer), 'data') ?? []
      return textAt(
        listed.find((batch) => member(member(batch, 'metadata'), PART) === id),
        'id',
      )
    },
    poll: (ref) => ({ method: 'GET', path: `${batches}/${ref}` }),
    readPoll: (answer): 'running' | EndedPart | undefined => {
      const body = objectOf(answer)
      const status = textAt(body, 'status')
      if (status === undefined) return undefined
      if (!ended.includes(status.toLowerCase())) return 'running'
      const named = files.map((name) => textAt(body, name)).filter((id) => id !== undefined)
      return { files: named.map((id) => ({ method: 'GET', path: `/files/${id}/content` })), lines: [] }
    },
    readResult: ({ custom_id: id, response, error }) => {
      if (typeof id !== 'string') return undefined
      if (isObject(error) && UNSENT.includes(error.code)) return { id, unsent: true }
      if (isObject(response) && typeof response.status_code === 'number')
        return { id, status: response.status_code, body: response.body ?? null }
      if (!isObject(error)) return undefined
      const refused = typeof error.code === 'string' && error.code.startsWith('invalid')
      return { id, status: refused ? 400 : 500, body: { error } }
    },
    cancel: (ref) => ({ method: 'POST', path: `${batches}/${ref}/cancel` }),
  }
}

const openaiNames: Names = {
  batches: '/batches',
  ended: ['completed', 'failed', 'expired', 'cancelled'],
  files: ['output_file_id', 'error_file_id'],
  upload: { path: '/files', fields: () => ({ purpose: 'batch' }) },
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

/** Source: Mistral AI API, "Batch" and "Files". */
export const mistralBatches = fileForm({
  ...openaiNames,
  batches: '/batch/jobs',
  ended: ['success', 'failed', 'timeout_exceeded', 'cancelled'],
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

/** The shortest life of a file. Without one a resource has room for 500 files, with one for 10,000. */
const AZURE_FILE_SECONDS = 1_209_600

/**
 * Source: Azure OpenAI, "Getting started with Azure OpenAI batch deployments" (REST, 2026-08-14): the endpoint is written
 * without `/v1`, unlike the lines' addresses; embeddings are not taken. That a batch of a file that is not processed yet is
 * refused: openai/openai-dotnet, issue 312.
 */
export const azureBatches = fileForm({
  ...openaiNames,
  upload: {
    path: '/files',
    fields: () => ({
      purpose: 'batch',
      'expires_after.seconds': String(AZURE_FILE_SECONDS),
      'expires_after.anchor': 'created_at',
    }),
  },
  usable: 'processed',
  // Its model's own name has decided before how a call is written.
  inPart: (body, deployment) => splice(must(readJsonBody(body)), { model: JSON.stringify(deployment) }),
  create: (file, part, endpoint) => ({
    ...openaiNames.create(file, part, endpoint),
    endpoint: part.path,
    output_expires_after: { anchor: 'created_at', seconds: AZURE_FILE_SECONDS },
  }),
  endpoints: ['/chat/completions', '/responses'],
})

/**
 * Source: Together AI's OpenAPI document (togethercomputer/openapi, 2026-04-28), "Upload a file" and "Batches". A line is
 * its id and its body; a batch keeps no name of ours.
 */
export const togetherBatches = fileForm({
  ...openaiNames,
  upload: {
    path: '/files/upload',
    fields: (filename) => ({ purpose: 'batch-api', file_name: filename, file_type: 'jsonl' }),
  },
  create: (file, _part, endpoint) => ({ input_file_id: file, endpoint, completion_window: '24h' }),
  created: 'job',
  nameless: true,
  line: () => ({}),
  endpoints: ['/chat/completions'],
})
