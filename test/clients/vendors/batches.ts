/**
 * Vendors' own batches, strict by their API references: those of OpenAI, Anthropic and Google. Lines are run by the scripted
 * vendor of the dialect. A test decides when a batch ends, and how its vendor misbehaves.
 */
import { isObject, type JsonObject, parseJson } from '../../../src/core/json-body.ts'
import type { VendorFetch } from '../../../src/vendors/setup.ts'
import type { VendorRequest } from '../../server/harness.ts'
import { chatVendor } from './chat.ts'
import { objectWith } from './check.ts'
import { geminiVendor } from './gemini.ts'
import { messagesVendor } from './messages.ts'
import { responsesVendor } from './responses.ts'
import { need, newMemory, newName, VendorRefuses } from './script.ts'

type Line = { readonly id: string; readonly path: string; readonly body: JsonObject }

/** A batch as its vendor has it. */
export type Held = {
  readonly id: string
  /** Our name of it, where the vendor keeps one. */
  readonly name: string | undefined
  readonly lines: readonly Line[]
  ended: boolean
  cancelled: boolean
  /** The lines of its results, once it has ended. */
  results: string[]
}

export type BatchVendor = {
  readonly fetch: VendorFetch
  readonly held: Held[]
  /** Each request as method and path; calls outside of batches too. */
  readonly asked: string[]
  /** Changed by tests. */
  readonly how: {
    /** Whether a batch ends when it is next asked for. Cancelled, it always does. */
    ends: boolean
    /** How many lines ran before it was cancelled. */
    ranBefore: number
    /** The results as they are told. */
    tells: (lines: string[]) => string[]
    /** Called once the vendor has a new batch; what it returns is answered in place of the vendor's answer. */
    taken: () => Response | undefined | Promise<undefined>
    /** Answers before anything is read. */
    before: (asked: string) => Response | undefined
  }
}

type Form = {
  /** A batch out of a request that makes one; undefined for others. */
  readonly made: (
    request: Asked,
    keeps: Map<string, string>,
  ) => Promise<Omit<Held, 'ended' | 'cancelled' | 'results'> | undefined>
  readonly created: (held: Held) => JsonObject
  readonly shown: (held: Held) => JsonObject
  readonly listed: (held: readonly Held[]) => JsonObject
  /** A line of the results: the vendor's answer, or that it was not run. */
  readonly line: (
    line: Line,
    answer: { readonly status: number; readonly body: JsonObject } | undefined,
  ) => JsonObject
  readonly refuses: (status: number, message: string) => JsonObject
  readonly key: (headers: Headers) => string | null
  readonly run: (request: VendorRequest) => Response
}

type Asked = {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: Uint8Array
}

const unknown = (name: string, at: string) => `Unknown parameter: '${at}.${name}'.`
const json = (body: Uint8Array): JsonObject => {
  const read = parseJson(new TextDecoder().decode(body))
  need(isObject(read), 'The body is not JSON.')
  return read
}
const unique = (lines: readonly Line[]): readonly Line[] => {
  need(lines.length > 0, 'The batch is empty.')
  need(new Set(lines.map(({ id }) => id)).size === lines.length, 'A custom_id is not unique.')
  for (const { id } of lines) need(/^[a-zA-Z0-9_-]{1,64}$/.test(id), `custom_id ${id} does not match.`)
  return lines
}

const openai = (): Form => {
  const chat = chatVendor(newMemory())
  const responses = responsesVendor(newMemory())
  const shown = ({ id, name, ended, cancelled }: Held): JsonObject => ({
    ...{ id, object: 'batch', completion_window: '24h', metadata: { part: name ?? '' } },
    status: ended ? (cancelled ? 'cancelled' : 'completed') : cancelled ? 'cancelling' : 'in_progress',
    output_file_id: ended ? `file-of-${id}` : null,
    error_file_id: null,
  })
  return {
    key: (headers) => headers.get('authorization'),
    run: (request) => (request.url.endsWith('/responses') ? responses : chat)(request),
    made: async ({ method, path, headers, body }, keeps) => {
      if (method !== 'POST') return undefined
      if (path === '/files') {
        const form = await new Response(body as never, { headers }).formData()
        const file = form.get('file')
        need(form.get('purpose') === 'batch' && file instanceof File, 'purpose and file are needed')
        need(file.name.endsWith('.jsonl'), 'Expected a .jsonl file.')
        const id = newName('file-')
        keeps.set(id, await file.text())
        throw new Answered({ id, object: 'file', bytes: file.size, filename: file.name, purpose: 'batch' })
      }
      if (path !== '/batches') return undefined
      const asked = objectWith(
        json(body),
        '',
        ['input_file_id', 'endpoint', 'completion_window', 'metadata'],
        unknown,
      )
      need(asked.completion_window === '24h', 'completion_window must be 24h')
      const file = keeps.get(String(asked.input_file_id))
      need(file !== undefined, 'No such file')
      const lines = file
        .trimEnd()
        .split('\n')
        .map((text): Line => {
          const line = objectWith(parseJson(text), 'line', ['custom_id', 'method', 'url', 'body'], unknown)
          need(line.method === 'POST' && line.url === asked.endpoint && isObject(line.body), 'a wrong line')
          return { id: String(line.custom_id), path: String(line.url), body: line.body }
        })
      need(new Set(lines.map(({ body: { model } }) => model)).size === 1, 'A batch has one model.')
      const name = isObject(asked.metadata) ? String(asked.metadata.part) : undefined
      return { id: newName('batch_'), name, lines: unique(lines) }
    },
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

const anthropic = (): Form => {
  const messages = messagesVendor(newMemory())
  const shown = ({ id, ended, cancelled }: Held): JsonObject => ({
    ...{ id, type: 'message_batch' },
    processing_status: ended ? 'ended' : cancelled ? 'canceling' : 'in_progress',
    results_url: ended ? `https://vendor.invalid/${id}` : null,
  })
  return {
    key: (headers) => `Bearer ${headers.get('x-api-key')}`,
    run: messages,
    made: async ({ method, path, headers, body }) => {
      if (method !== 'POST' || path !== '/messages/batches') return undefined
      need(headers.get('anthropic-version') === '2023-06-01', 'anthropic-version is needed')
      const { requests } = objectWith(json(body), '', ['requests'], unknown)
      need(Array.isArray(requests), 'requests must be a list')
      const lines = requests.map((one): Line => {
        const line = objectWith(one, 'requests', ['custom_id', 'params'], unknown)
        need(isObject(line.params), 'params must be an object')
        return { id: String(line.custom_id), path: '/v1/messages', body: line.params }
      })
      return { id: newName('msgbatch_'), name: undefined, lines: unique(lines) }
    },
    created: shown,
    shown,
    listed: (held) => ({ data: held.map(shown) }),
    line: ({ id }, answer) => ({
      custom_id: id,
      result:
        answer === undefined
          ? { type: 'canceled' }
          : answer.status === 200
            ? { type: 'succeeded', message: answer.body }
            : { type: 'errored', error: answer.body },
    }),
    refuses: (_status, message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
  }
}

const google = (): Form => {
  const gemini = geminiVendor(newMemory())
  const states = (held: Held) => (held.ended ? (held.cancelled ? 'CANCELLED' : 'SUCCEEDED') : 'RUNNING')
  const shown = (held: Held): JsonObject => ({
    name: held.id,
    metadata: { displayName: held.name, state: `BATCH_STATE_${states(held)}` },
    done: held.ended,
    ...(held.ended
      ? {
          response: {
            inlinedResponses: { inlinedResponses: held.results.map((line) => parseJson(line) ?? null) },
          },
        }
      : {}),
  })
  return {
    key: (headers) => `Bearer ${headers.get('x-goog-api-key')}`,
    run: gemini,
    made: async ({ method, path, body }) => {
      const model = /^\/models\/([\w.-]+):batchGenerateContent$/.exec(path)?.[1]
      if (method !== 'POST' || model === undefined) return undefined
      const { batch } = objectWith(json(body), '', ['batch'], unknown)
      const { displayName, inputConfig } = objectWith(batch, 'batch', ['displayName', 'inputConfig'], unknown)
      const { requests: outer } = objectWith(inputConfig, 'inputConfig', ['requests'], unknown)
      const { requests } = objectWith(outer, 'requests', ['requests'], unknown)
      need(Array.isArray(requests), 'requests must be a list')
      const lines = requests.map((one): Line => {
        const { request, metadata } = objectWith(one, 'request', ['request', 'metadata'], unknown)
        need(isObject(request) && isObject(metadata), 'a request and its metadata are needed')
        return { id: String(metadata.key), path: `/v1beta/models/${model}:generateContent`, body: request }
      })
      return { id: newName('batches/'), name: String(displayName), lines: unique(lines) }
    },
    created: shown,
    shown,
    listed: (held) => ({ operations: held.map(shown) }),
    line: ({ id }, answer) => ({
      metadata: { key: id },
      ...(answer === undefined
        ? { error: { code: 1, message: 'It was cancelled.' } }
        : answer.status === 200
          ? { response: answer.body }
          : { error: { code: answer.status === 400 ? 3 : 13, message: 'The scripted failure.' } }),
    }),
    refuses: (status, message) => ({ error: { code: status, message, status: 'INVALID_ARGUMENT' } }),
  }
}

/** An answer that makes no batch. */
class Answered extends Error {
  readonly body: JsonObject
  constructor(body: JsonObject) {
    super('answered')
    this.body = body
  }
}

const forms = { openai, anthropic, google } as const
/** What a line of a batch inherits from it. */
const HEADERS = new Headers({ 'anthropic-version': '2023-06-01' })
const BASE = /^https?:\/\/[^/]+\/v1(?:beta)?/

/** Makes a vendor of one form, at `<anything>/v1`, whose key is `house-key`. */
export const batchVendor = (kind: keyof typeof forms): BatchVendor => {
  const form = forms[kind]()
  const keeps = new Map<string, string>()
  const vendor: Omit<BatchVendor, 'fetch'> = {
    ...{ held: [], asked: [] },
    how: {
      ...{ ends: true, ranBefore: 0, tells: (lines) => lines },
      ...{ taken: () => undefined, before: () => undefined },
    },
  }
  const end = async (held: Held): Promise<void> => {
    const { how } = vendor
    if (held.ended || !(how.ends || held.cancelled)) return
    held.ended = true
    const ran = held.cancelled ? how.ranBefore : held.lines.length
    const results: string[] = []
    for (const [n, line] of held.lines.entries()) {
      const url = `http://vendor.invalid${line.path}`
      const request = { url, headers: HEADERS, body: line.body, text: '', signal: undefined }
      const response = n < ran ? form.run(request as never) : undefined
      const answer = response && { status: response.status, body: (await response.json()) as JsonObject }
      results.push(JSON.stringify(form.line(line, answer)))
    }
    held.results = how.tells(results)
  }
  const answer = async (asked: Asked): Promise<Response> => {
    const { method, path } = asked
    if (form.key(asked.headers) !== 'Bearer house-key')
      return Response.json(form.refuses(401, 'No key.'), { status: 401 })
    const made = await form.made(asked, keeps)
    if (made !== undefined) {
      const held = { ...made, ended: false, cancelled: false, results: [] }
      vendor.held.push(held)
      return (await vendor.how.taken()) ?? Response.json(form.created(held))
    }
    const [bare = ''] = path.split('?')
    if (method === 'GET' && /^\/(?:messages\/)?batches$/.test(bare))
      return Response.json(form.listed(vendor.held.toReversed()))
    const one = vendor.held.find(({ id }) => bare.includes(id))
    if (one === undefined)
      return Response.json(form.refuses(404, `${method} ${path} is unknown.`), { status: 404 })
    if (/[/:]cancel$/.test(bare)) {
      need(method === 'POST', 'Cancel is a POST.')
      one.cancelled ||= !one.ended
      return Response.json(form.shown(one))
    }
    need(method === 'GET', 'Reading is a GET.')
    if (/\/(?:content|results)$/.test(bare))
      return new Response(one.results.map((line) => `${line}\n`).join(''))
    await end(one)
    return Response.json(form.shown(one))
  }
  const fetch: VendorFetch = async (url, init) => {
    const method = init.method ?? 'GET'
    const path = url.replace(BASE, '')
    vendor.asked.push(`${method} ${path}`)
    const before = vendor.how.before(`${method} ${path}`)
    if (before !== undefined) return before
    try {
      const body = new Uint8Array(await new Response(init.body as never).arrayBuffer())
      return await answer({ method, path, headers: new Headers(init.headers), body })
    } catch (thrown) {
      if (thrown instanceof Answered) return Response.json(thrown.body)
      if (!(thrown instanceof VendorRefuses)) throw thrown
      return Response.json(form.refuses(400, thrown.message), { status: 400 })
    }
  }
  return { ...vendor, fetch }
}
