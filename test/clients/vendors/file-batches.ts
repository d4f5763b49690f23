/** Vendors whose batches are files of lines, strict by their API references: OpenAI's, and how others differ from it. */
import { isObject, type JsonObject, parseJson } from '../../../src/core/json-body.ts'
import { Answered, type Asked, type Form, type Held, json, type Line, unique, unknown } from './batch-form.ts'
import { chatVendor } from './chat.ts'
import { objectWith } from './check.ts'
import { responsesVendor } from './responses.ts'
import { need, newMemory, newName } from './script.ts'

type Keeps = Map<string, string>

/** How a vendor differs. */
type Names = {
  readonly upload: string
  /** Checks the form's members beside the file. */
  readonly fields: (members: JsonObject, filename: string) => void
  readonly uploaded: JsonObject
  readonly members: readonly string[]
  readonly lineMembers: readonly string[]
  /** The addresses that lines may have, by the batch's endpoint. */
  readonly line: (line: JsonObject, endpoint: string) => Line
}

const runner = (): Form['run'] => {
  const chat = chatVendor(newMemory())
  const responses = responsesVendor(newMemory())
  return (request) => (request.url.endsWith('/responses') ? responses : chat)(request)
}

/** Reads an upload or a new batch. */
const madeBy =
  (names: Names): Form['made'] =>
  async ({ method, path, headers, body }: Asked, keeps: Keeps) => {
    if (method !== 'POST') return undefined
    if (path === names.upload) {
      need(headers.get('content-type')?.startsWith('multipart/form-data') === true, 'a form is needed')
      const form = await new Response(body as never, { headers }).formData()
      const file = form.get('file')
      need(file instanceof File, 'a file is needed')
      need(file.name.endsWith('.jsonl'), 'Expected a .jsonl file.')
      const members = [...form.keys()].filter((name) => name !== 'file')
      names.fields(Object.fromEntries(members.map((name) => [name, String(form.get(name))])), file.name)
      const id = newName('file-')
      keeps.set(id, await file.text())
      throw new Answered({ id, object: 'file', bytes: file.size, filename: file.name, ...names.uploaded })
    }
    if (path !== '/batches') return undefined
    const asked = objectWith(json(body), '', names.members, unknown)
    need(asked.completion_window === '24h', 'completion_window must be 24h')
    const file = keeps.get(String(asked.input_file_id))
    need(file !== undefined, 'No such file, or it is not processed yet')
    const lines = file
      .trimEnd()
      .split('\n')
      .map((text) =>
        names.line(objectWith(parseJson(text), 'line', names.lineMembers, unknown), String(asked.endpoint)),
      )
    need(new Set(lines.map(({ body: { model } }) => model)).size === 1, 'A batch has one model.')
    if (isObject(asked.output_expires_after))
      need(
        asked.output_expires_after.anchor === 'created_at' && livesLong(asked.output_expires_after.seconds),
        'output_expires_after is wrong',
      )
    const name = isObject(asked.metadata) ? String(asked.metadata.part) : undefined
    return { id: newName('batch_'), name, lines: unique(lines) }
  }

const bodyIn = ({ custom_id: id, body }: JsonObject, path: string): Line => {
  need(isObject(body), 'a wrong line')
  return { id: String(id), path, body }
}

const OPENAI_LINE = ['custom_id', 'method', 'url', 'body']

export const openai = (): Form => {
  const shown = ({ id, name, ended, cancelled }: Held): JsonObject => ({
    ...{ id, object: 'batch', completion_window: '24h', metadata: { part: name ?? '' } },
    status: ended ? (cancelled ? 'cancelled' : 'completed') : cancelled ? 'cancelling' : 'in_progress',
    output_file_id: ended ? `file-of-${id}` : null,
    error_file_id: null,
  })
  return {
    key: (headers) => headers.get('authorization'),
    run: runner(),
    made: madeBy({
      upload: '/files',
      fields: ({ purpose }) => need(purpose === 'batch', 'purpose must be batch'),
      uploaded: { purpose: 'batch' },
      members: ['input_file_id', 'endpoint', 'completion_window', 'metadata'],
      lineMembers: OPENAI_LINE,
      line: (line, endpoint) => {
        need(line.method === 'POST' && line.url === endpoint, 'a wrong line')
        return bodyIn(line, endpoint)
      },
    }),
    created: shown,
    shown,
    listed: (held) => ({ object: 'list', data: held.map(shown), has_more: false }),
    line: ({ id }, answer) => ({
      ...{ id: newName('batch_req_'), custom_id: id },
      response:
        answer === undefined
          ? null
          : { status_code: answer.status, request_id: newName('r'), body: answer.body },
      error: answer === undefined ? { code: 'batch_cancelled', message: 'It was cancelled.' } : null,
    }),
    refuses: (_status, message) => ({
      error: { message, type: 'invalid_request_error', param: null, code: null },
    }),
  }
}

/** What failed is in a file of its own. */
const split = (path: string, results: readonly string[]): readonly string[] => {
  const failed = (text: string): boolean => {
    const line = parseJson(text)
    return isObject(line) && !(isObject(line.response) && line.response.status_code === 200)
  }
  return results.filter((text) => failed(text) === path.includes('/errors-of-'))
}

const livesLong = (seconds: unknown): boolean => Number(seconds) >= 1_209_600 && Number(seconds) <= 2_592_000

/** The deployment of the type for batches; no other is taken. */
export const AZURE_DEPLOYMENT = 'house-batch'

/** Azure OpenAI in Microsoft Foundry Models, "Getting started with Azure OpenAI batch deployments", REST. */
export const azure = (): Form => {
  const base = openai()
  /** Files that are still being processed. */
  const pending: Keeps = new Map()
  const states = ({ ended, cancelled }: Held) =>
    ended ? (cancelled ? 'cancelled' : 'completed') : cancelled ? 'cancelling' : 'Validating'
  const shown = (held: Held): JsonObject => ({
    ...base.shown(held),
    endpoint: null,
    status: states(held),
    output_file_id: held.ended ? `file-of-${held.id}` : null,
    // There is one also when nothing failed.
    error_file_id: held.ended ? `errors-of-${held.id}` : null,
  })
  const made = madeBy({
    upload: '/files',
    fields: (form) => {
      const { purpose, ...rest } = objectWith(
        form,
        'form',
        ['purpose', 'expires_after.seconds', 'expires_after.anchor'],
        unknown,
      )
      need(purpose === 'batch', 'purpose must be batch')
      need(
        rest['expires_after.anchor'] === 'created_at' && livesLong(rest['expires_after.seconds']),
        'expires_after is wrong',
      )
    },
    uploaded: { purpose: 'batch', status: 'pending' },
    members: ['input_file_id', 'endpoint', 'completion_window', 'metadata', 'output_expires_after'],
    lineMembers: OPENAI_LINE,
    line: (line, endpoint) => {
      need(['/chat/completions', '/responses'].includes(endpoint), `${endpoint} is not supported`)
      need(line.method === 'POST' && line.url === `/v1${endpoint}`, 'url_mismatch')
      const read = bodyIn(line, `/v1${endpoint}`)
      need(read.body.model === AZURE_DEPLOYMENT, 'invalid_request: the deployment SKU must be globalbatch')
      return read
    },
  })
  return {
    ...base,
    key: (headers) => (headers.has('authorization') ? null : `Bearer ${headers.get('api-key')}`),
    made: async (asked, keeps) => {
      const [, id = ''] = /^\/files\/([^/]+)$/.exec(asked.path) ?? []
      const waits = pending.get(id)
      if (asked.method === 'GET' && waits !== undefined) {
        keeps.set(id, waits)
        throw new Answered({ id, object: 'file', status: 'processed', purpose: 'batch' })
      }
      const before = new Set(keeps.keys())
      try {
        return await made(asked, keeps)
      } finally {
        for (const [name, text] of keeps)
          if (!before.has(name)) {
            pending.set(name, text)
            keeps.delete(name)
          }
      }
    },
    created: shown,
    shown,
    listed: (held) => ({ data: held.map(shown), has_more: false }),
    inFile: split,
    line: (line, answer) => (answer === undefined ? undefined : base.line(line, answer)),
  }
}

/** Together AI's OpenAPI document, "Upload a file" and "Batches"; its docs, "Manage batch jobs". */
export const together = (): Form => {
  const shown = ({ id, ended, cancelled }: Held): JsonObject => ({
    ...{ id, user_id: 'user_1', endpoint: '/v1/chat/completions' },
    status: ended ? (cancelled ? 'CANCELLED' : 'COMPLETED') : 'IN_PROGRESS',
    ...(ended ? { output_file_id: `file-of-${id}`, error_file_id: `errors-of-${id}` } : {}),
  })
  return {
    key: (headers) => headers.get('authorization'),
    run: runner(),
    made: madeBy({
      upload: '/files/upload',
      fields: (form, filename) => {
        const members = objectWith(form, 'form', ['purpose', 'file_name', 'file_type'], unknown)
        need(
          members.purpose === 'batch-api' && members.file_type === 'jsonl',
          'purpose or file_type is wrong',
        )
        need(members.file_name === filename, 'file_name is needed')
      },
      uploaded: { purpose: 'batch-api', Processed: true, FileType: 'jsonl' },
      members: ['input_file_id', 'endpoint', 'completion_window', 'priority', 'model_id'],
      lineMembers: ['custom_id', 'body'],
      line: (line, endpoint) => {
        need(endpoint === '/v1/chat/completions', `${endpoint} is not supported`)
        const { id, path, body } = bodyIn(line, endpoint)
        const { max_tokens, ...rest } = body
        need(rest.max_completion_tokens === undefined, "Unknown parameter: 'max_completion_tokens'.")
        return {
          ...{ id, path },
          body: max_tokens === undefined ? rest : { ...rest, max_completion_tokens: max_tokens },
        }
      },
    }),
    created: (held) => ({ job: shown(held) }),
    createdStatus: 201,
    shown,
    listed: (held) => held.map(shown),
    inFile: split,
    line: ({ id }, answer) => {
      if (answer === undefined) return undefined
      if (answer.status === 200) return { custom_id: id, response: { status_code: 200, body: answer.body } }
      const code = answer.status === 400 ? 'invalid_request' : 'timeout'
      return { custom_id: id, error: { message: 'The scripted failure.', code } }
    },
    refuses: (_status, message) => ({ error: message }),
  }
}
