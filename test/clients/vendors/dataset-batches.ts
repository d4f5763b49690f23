/**
 * Fireworks' batches, strict by its docs ("Batch API", the references of datasets and batch inference jobs) and by what others
 * recorded of its answers on 2026-08-30.
 */
import { isObject, type JsonObject, parseJson } from '../../../src/core/json-body.ts'
import { Answered, type Form, type Held, json, type Line, unique, unknown } from './batch-form.ts'
import { chatVendor } from './chat.ts'
import { objectWith } from './check.ts'
import { need, newMemory } from './script.ts'

/** The operator's account. */
export const FIREWORKS_ACCOUNT = 'house'
const ACCOUNT = `/accounts/${FIREWORKS_ACCOUNT}`
const MODEL = 'accounts/fireworks/models/deepseek-v3p2'
const STORAGE = 'https://storage.googleapis.com/'

type DataSet = { readonly count: number; text?: string; looks: number }

export const fireworks = (): Form => {
  const dataSets = new Map<string, DataSet>()
  const outOf = (held: Held) => held.id.replace('batchInferenceJobs/', 'datasets/out-')
  const shown = (held: Held): JsonObject => ({
    name: held.id,
    model: MODEL,
    outputDatasetId: outOf(held),
    state: `JOB_STATE_${held.ended ? (held.cancelled ? 'DELETING_CLEANING_UP' : 'COMPLETED') : 'RUNNING'}`,
    status: { code: 'OK', message: '' },
  })
  const known = (id: string): DataSet => {
    const found = dataSets.get(id)
    need(found !== undefined, `the dataset ${id} is unknown`)
    return found
  }
  const lineOf = (text: string): Line => {
    const line = objectWith(parseJson(text), 'line', ['custom_id', 'body'], unknown)
    need(isObject(line.body), 'a line needs a body')
    need(line.body.model === undefined, 'the model is set on the job')
    const { max_tokens, ...rest } = line.body
    need(rest.max_completion_tokens === undefined, 'max_completion_tokens is unknown')
    return {
      ...{ id: String(line.custom_id), path: '/v1/chat/completions' },
      body: {
        ...rest,
        model: MODEL,
        ...(max_tokens === undefined ? {} : { max_completion_tokens: max_tokens }),
      },
    }
  }
  const failed = (text: string): boolean => {
    const line = parseJson(text)
    return isObject(line) && line.error !== undefined
  }
  return {
    key: (headers) => headers.get('authorization'),
    run: chatVendor(newMemory()),
    made: async ({ method, path, headers, body }) => {
      const [bare = '', query = ''] = path.split('?')
      const [, id = '', act] =
        new RegExp(`^${ACCOUNT}/datasets/([a-z][a-z0-9-]{0,62})(:upload)?$`).exec(bare) ?? []
      if (method === 'POST' && bare === `${ACCOUNT}/datasets`) {
        const asked = objectWith(json(body), '', ['datasetId', 'dataset'], unknown)
        const set = objectWith(asked.dataset, 'dataset', ['userUploaded', 'exampleCount'], unknown)
        need(
          isObject(set.userUploaded) && /^\d+$/.test(String(set.exampleCount)),
          'example_count is required',
        )
        const name = String(asked.datasetId)
        need(/^[a-z][a-z0-9-]{0,62}$/.test(name) && !dataSets.has(name), 'the id is wrong')
        dataSets.set(name, { count: Number(set.exampleCount), looks: 0 })
        throw new Answered({ name: `${ACCOUNT.slice(1)}/datasets/${name}`, state: 'UPLOADING' })
      }
      if (method === 'POST' && act === ':upload') {
        const file = (await new Response(body as never, { headers }).formData()).get('file')
        need(file instanceof File && file.name.endsWith('.jsonl'), 'a .jsonl file is needed')
        known(id).text = await file.text()
        throw new Answered({ id: `${ACCOUNT.slice(1)}/datasets/${id}`, object: 'file', purpose: 'dataset' })
      }
      if (method === 'GET' && id !== '') {
        // It is not ready at once.
        const state = known(id).text !== undefined && known(id).looks++ > 0 ? 'READY' : 'UPLOADING'
        throw new Answered({ name: bare.slice(1), state })
      }
      if (method !== 'POST' || bare !== `${ACCOUNT}/batchInferenceJobs`) return undefined
      const job = new URLSearchParams(query).get('batchInferenceJobId') ?? ''
      need(/^[a-z][a-z0-9-]{0,62}$/.test(job), 'batchInferenceJobId is wrong')
      const { model, inputDatasetId } = objectWith(json(body), '', ['model', 'inputDatasetId'], unknown)
      need(model === MODEL, `the model ${String(model)} is unknown`)
      const [, input = ''] = String(inputDatasetId).split(`${ACCOUNT.slice(1)}/datasets/`)
      const { text, count, looks } = known(input)
      need(text !== undefined && looks > 1, 'the dataset is not ready')
      const lines = text.trimEnd().split('\n').map(lineOf)
      need(lines.length === count, 'the count of examples is wrong')
      return { id: `${ACCOUNT.slice(1)}/batchInferenceJobs/${job}`, name: job, lines: unique(lines) }
    },
    beside: ({ method, path, headers }, held) => {
      if (path.startsWith(STORAGE)) {
        need(method === 'GET' && !headers.has('authorization'), 'the key is not for this host')
        const one = held.find((each) => path.startsWith(`${STORAGE}${outOf(each)}/`))
        need(one?.ended === true && path.endsWith('?X-Goog-Signature=s'), 'the signature is wrong')
        const lines = one.results.filter((text) => failed(text) === path.includes('/error-data?'))
        return new Response(lines.map((line) => `${line}\n`).join(''))
      }
      const one = held.find((each) => path.includes(outOf(each)) || path.includes(each.id))
      if (one !== undefined && path.endsWith(':getDownloadEndpoint')) {
        need(method === 'GET' && headers.get('authorization') === 'Bearer house-key', 'a key is needed')
        const names = ['BIJOutputSet.jsonl', 'error-data'].map((file) => `${outOf(one)}/${file}`)
        const filenameToSignedUrls = Object.fromEntries(
          names.map((name) => [name, `${STORAGE}${name}?X-Goog-Signature=s`]),
        )
        return one.ended
          ? Response.json({ filenameToSignedUrls })
          : Response.json({ code: 5 }, { status: 404 })
      }
      if (one === undefined || method !== 'DELETE') return undefined
      one.cancelled ||= !one.ended
      return Response.json({})
    },
    created: shown,
    shown,
    listed: (held) => ({ batchInferenceJobs: held.map(shown) }),
    line: ({ id }, answer) => {
      if (answer === undefined) return undefined
      if (answer.status === 200) return { custom_id: id, response: answer.body }
      const code = answer.status === 400 ? 'INVALID_ARGUMENT' : 'INTERNAL'
      return { custom_id: id, error: { message: 'The scripted failure.', code } }
    },
    refuses: (_status, message) => ({ error: { message, code: 'INVALID_ARGUMENT', type: 'error' } }),
  }
}
