/**
 * Vendors' own batches, strict by their API references: those of OpenAI, Azure OpenAI, Together, Fireworks, Anthropic, Google,
 * Amazon Bedrock and Vertex. Lines are
 * run by the scripted vendor of the dialect. A test decides when a batch ends, and how its vendor misbehaves.
 */
import { isObject, type JsonObject, parseJson } from '../../../src/core/json-body.ts'
import type { VendorFetch } from '../../../src/vendors/setup.ts'
import {
  Answered,
  type Asked,
  type BatchVendor,
  type Form,
  type Held,
  json,
  type Line,
  unique,
  unknown,
} from './batch-form.ts'
import { bedrock, vertex } from './bucket-batches.ts'
import { objectWith } from './check.ts'
import { fireworks } from './dataset-batches.ts'
import { azure, openai, together } from './file-batches.ts'
import { geminiVendor } from './gemini.ts'
import { messagesVendor } from './messages.ts'
import { need, newMemory, newName, VendorRefuses } from './script.ts'

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

const forms = { openai, azure, together, fireworks, anthropic, google, bedrock, vertex } as const
/** The bucket of those that have one: the address of its server, or its objects. */
type Buckets = { readonly bedrock: string; readonly vertex: Map<string, string> }
/** What a line of a batch inherits from it. */
const HEADERS = new Headers({ 'anthropic-version': '2023-06-01' })
const BASE = /^https?:\/\/[^/]+(?:\/openai)?\/v1(?:beta)?/

/** Makes a vendor of one form, at `<anything>/v1`, whose key is `house-key`. */
export const batchVendor = (
  kind: keyof typeof forms,
  buckets: Buckets = { bedrock: '', vertex: new Map() },
): BatchVendor => {
  const form =
    kind === 'bedrock' ? bedrock(buckets.bedrock) : kind === 'vertex' ? vertex(buckets.vertex) : forms[kind]()
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
      const told = form.line(line, answer)
      if (told !== undefined) results.push(JSON.stringify(told))
    }
    held.results = how.tells(results)
    await form.ended?.(held)
  }
  const answer = async (asked: Asked): Promise<Response> => {
    const { method, path } = asked
    const beside = await form.beside?.(asked, vendor.held)
    if (beside !== undefined) return beside
    if (form.key(asked.headers) !== 'Bearer house-key')
      return Response.json(form.refuses(401, 'No key.'), { status: 401 })
    const made = await form.made(asked, keeps)
    if (made !== undefined) {
      const held = { ...made, ended: false, cancelled: false, results: [] }
      vendor.held.push(held)
      return (
        (await vendor.how.taken()) ?? Response.json(form.created(held), { status: form.createdStatus ?? 200 })
      )
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
      return new Response(
        (form.inFile?.(bare, one.results) ?? one.results).map((line) => `${line}\n`).join(''),
      )
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
