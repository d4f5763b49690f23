/**
 * Batches that read and write a bucket: those of Amazon Bedrock, whose bucket is a real server of S3's protocol, and those of
 * Vertex, with Cloud Storage; strict by the references of both.
 */
import { S3Client } from 'bun'
import { isObject, type JsonObject, parseJson } from '../../../src/core/json-body.ts'
import { Answered, type Asked, type Form, type Held, json, type Line, unique, unknown } from './batch-form.ts'
import { listAt, objectWith, textAt } from './check.ts'
import { geminiVendor } from './gemini.ts'
import { counts, type Memory, need, newMemory, newName } from './script.ts'

/** The operator's bucket at both vendors, with a folder of ours in it, and the key that opens Amazon's. */
export const BATCH_BUCKET = 'turnpike-batches'
export const BATCH_ROLE = 'arn:aws:iam::123456789012:role/turnpike-batches'
export const BUCKET_KEY = 'S3RVER'

const bucketClient = (endpoint: string): S3Client =>
  new S3Client({ endpoint, bucket: BATCH_BUCKET, accessKeyId: BUCKET_KEY, secretAccessKey: BUCKET_KEY })

const ofLines = (text: string): readonly JsonObject[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => parseJson(line))
    .filter((line): line is JsonObject => isObject(line))

/** Converse, as far as lines of these tests speak it. */
const converse =
  (memory: Memory) =>
  ({ body }: { readonly body: JsonObject }): Response => {
    const { messages } = objectWith(body, '', ['messages', 'inferenceConfig', 'system'], unknown)
    const last = objectWith(listAt(messages, 'messages').at(-1), 'messages', ['role', 'content'], unknown)
    const texts = listAt(last.content, 'content').map((part) =>
      textAt(objectWith(part, 'content', ['text'], unknown).text, 'text'),
    )
    const said = memory.answer({
      ...{ model: '', stream: false, prompt: texts.join(''), rounds: [], imageBytes: [], tools: [] },
      ...{ forced: undefined, schema: undefined, thinks: false },
    })
    if (typeof said === 'number') return Response.json({ message: 'The scripted failure.' }, { status: said })
    return Response.json({
      output: { message: { role: 'assistant', content: [{ text: said.text ?? '' }] } },
      stopReason: 'end_turn',
      usage: {
        ...{ inputTokens: counts.input, outputTokens: counts.output },
        totalTokens: counts.input + counts.output,
      },
    })
  }

const JOB = /^\/model-invocation-job\/([a-z0-9]{12})(\/stop)?$/

/** `bucketAt`: the address of the bucket's server. */
export const bedrock = (bucketAt: string): Form => {
  const bucket = bucketClient(bucketAt)
  const outputs = new Map<string, string>()
  const arn = ({ id }: Held) => `arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/${id}`
  const shown = (held: Held): JsonObject => ({
    ...{ jobArn: arn(held), jobName: held.name ?? '', clientRequestToken: held.name ?? '' },
    status: held.ended ? (held.cancelled ? 'Stopped' : 'Completed') : 'InProgress',
    outputDataConfig: { s3OutputDataConfig: { s3Uri: outputs.get(held.id) ?? '' } },
  })
  const lineOf = (model: string, one: JsonObject): Line => {
    const { recordId, modelInput } = objectWith(one, 'line', ['recordId', 'modelInput'], unknown)
    need(isObject(modelInput) && modelInput.modelId === undefined, 'a record needs its input')
    return { id: String(recordId), path: `/model/${model}/converse`, body: modelInput }
  }
  const isOwn = (headers: Headers) =>
    /^AWS4-HMAC-SHA256 Credential=S3RVER\/\d{8}\/us-east-1\/bedrock\//.test(
      headers.get('authorization') ?? '',
    )
  const taken = new Map<string, string>()
  const made: Form['made'] = async ({ method, path, body }) => {
    if (method !== 'POST' || path !== '/model-invocation-job') return undefined
    const names = ['jobName', 'clientRequestToken', 'modelId', 'modelInvocationType', 'roleArn']
    const asked = objectWith(
      json(body),
      '',
      [...names, 'inputDataConfig', 'outputDataConfig', 'timeoutDurationInHours'],
      unknown,
    )
    const name = textAt(asked.jobName, 'jobName')
    need(/^[a-zA-Z0-9]{1,63}(-*[a-zA-Z0-9+\-.]){0,63}$/.test(name), 'jobName is wrong')
    need(asked.roleArn === BATCH_ROLE && asked.modelInvocationType === 'Converse', 'role or type is wrong')
    const known = taken.get(String(asked.clientRequestToken))
    if (known !== undefined) throw new Answered({ jobArn: known })
    const { s3InputDataConfig } = objectWith(asked.inputDataConfig, 'input', ['s3InputDataConfig'], unknown)
    const input = objectWith(s3InputDataConfig, 'input', ['s3Uri', 's3InputFormat'], unknown)
    const { s3OutputDataConfig } = objectWith(
      asked.outputDataConfig,
      'output',
      ['s3OutputDataConfig'],
      unknown,
    )
    const output = objectWith(s3OutputDataConfig, 'output', ['s3Uri'], unknown)
    const at = textAt(input.s3Uri, 's3Uri').replace(`s3://${BATCH_BUCKET}/`, '')
    const lines = ofLines(await bucket.file(at).text()).map((line) => lineOf(String(asked.modelId), line))
    need(lines.length >= 100, 'the minimum of records is 100')
    const id = newName('job').padEnd(12, '0')
    taken.set(String(asked.clientRequestToken), `…/${id}`)
    outputs.set(id, textAt(output.s3Uri, 's3Uri'))
    return { id, name, lines: unique(lines).filter((line) => !line.id.startsWith('filling-')) }
  }
  return {
    key: (headers) => (isOwn(headers) ? 'Bearer house-key' : null),
    run: converse(newMemory()) as Form['run'],
    made,
    beside: async ({ method, path, headers, body }: Asked, held) => {
      if (path.startsWith(bucketAt)) {
        headers.delete('content-length')
        return fetch(path, { method, headers, ...(method === 'PUT' ? { body: body as never } : {}) })
      }
      need(isOwn(headers), 'the signature is wrong')
      if (method === 'GET' && path.startsWith('/model-invocation-jobs?')) {
        const part = new URLSearchParams(path.split('?')[1]).get('nameContains') ?? ''
        const found = held.filter(({ name }) => name?.includes(part))
        return Response.json({ invocationJobSummaries: found.map(shown) })
      }
      const [, id, stops] = JOB.exec(path) ?? []
      const one = held.find((each) => each.id === id)
      if (one === undefined || stops === undefined) return undefined
      need(method === 'POST' && !one.ended, 'it has ended')
      one.cancelled = true
      return Response.json({})
    },
    ended: async ({ id, results }) => {
      const at = `${(outputs.get(id) ?? '').replace(`s3://${BATCH_BUCKET}/`, '')}${id}`
      const filling = JSON.stringify({ recordId: 'filling-0', modelOutput: {}, modelInput: {} })
      await bucket.write(`${at}/lines.jsonl.out`, [...results, filling].join('\n'))
      await bucket.write(`${at}/manifest.json.out`, JSON.stringify({ totalRecordCount: results.length }))
    },
    created: (held) => ({ jobArn: arn(held) }),
    shown,
    listed: () => null,
    line: ({ id, body }, answer) => {
      if (answer === undefined) return undefined
      const { status, body: modelOutput } = answer
      return status === 200
        ? { recordId: id, modelOutput, modelInput: body }
        : {
            recordId: id,
            error: { errorCode: status, errorMessage: 'The scripted failure.' },
            modelInput: body,
          }
    },
    refuses: (_status, message) => ({ message }),
  }
}

const STORAGE = 'https://storage.googleapis.com'
const OBJECTS = `/storage/v1/b/${BATCH_BUCKET}/o`

export const vertex = (objects: Map<string, string>): Form => {
  const outputs = new Map<string, string>()
  const states = (held: Held) => (held.ended ? (held.cancelled ? 'CANCELLED' : 'SUCCEEDED') : 'RUNNING')
  const shown = (held: Held): JsonObject => ({
    name: `projects/1/locations/global/batchPredictionJobs/${held.id}`,
    ...{ displayName: held.name ?? '', state: `JOB_STATE_${states(held)}` },
    outputConfig: { gcsDestination: { outputUriPrefix: outputs.get(held.id) ?? '' } },
  })
  const nameIn = (uri: unknown): string => String(uri).replace(`gs://${BATCH_BUCKET}/`, '')
  const stored = ({ method, path, body }: Asked): Response => {
    const { pathname, searchParams } = new URL(path)
    if (method === 'POST') {
      need(pathname === `/upload${OBJECTS}` && searchParams.get('uploadType') === 'media', 'no upload')
      const name = searchParams.get('name') ?? ''
      objects.set(name, new TextDecoder().decode(body))
      return Response.json({ kind: 'storage#object', name, bucket: BATCH_BUCKET })
    }
    if (pathname === OBJECTS) {
      need(method === 'GET', 'a list is a GET')
      const names = [...objects.keys()].filter((name) => name.startsWith(searchParams.get('prefix') ?? ''))
      return Response.json(
        names.length === 0 ? {} : { items: names.map((name) => ({ name, bucket: BATCH_BUCKET })) },
      )
    }
    const name = decodeURIComponent(pathname.slice(OBJECTS.length + 1))
    const text = objects.get(name)
    if (text === undefined) return Response.json({ error: { code: 404 } }, { status: 404 })
    if (method === 'DELETE') {
      objects.delete(name)
      return new Response(null, { status: 204 })
    }
    need(searchParams.get('alt') === 'media', 'alt=media is needed for the bytes')
    return new Response(text)
  }
  return {
    key: (headers) => headers.get('authorization'),
    run: geminiVendor(newMemory()),
    made: async ({ method, path, body }) => {
      if (method !== 'POST' || path !== '/batchPredictionJobs') return undefined
      const asked = objectWith(
        json(body),
        '',
        ['displayName', 'model', 'inputConfig', 'outputConfig'],
        unknown,
      )
      const model = textAt(asked.model, 'model').replace('publishers/google/models/', '')
      const input = objectWith(asked.inputConfig, 'inputConfig', ['instancesFormat', 'gcsSource'], unknown)
      const { uris } = objectWith(input.gcsSource, 'gcsSource', ['uris'], unknown)
      const output = objectWith(
        asked.outputConfig,
        'outputConfig',
        ['predictionsFormat', 'gcsDestination'],
        unknown,
      )
      const to = objectWith(output.gcsDestination, 'gcsDestination', ['outputUriPrefix'], unknown)
      need(input.instancesFormat === 'jsonl' && output.predictionsFormat === 'jsonl', 'jsonl is needed')
      const text = objects.get(nameIn(listAt(uris, 'uris')[0]))
      need(text !== undefined, 'there is no such object')
      const lines = ofLines(text).map((line): Line => {
        const { request } = objectWith(line, 'line', ['request'], unknown)
        need(isObject(request) && isObject(request.labels), 'a request with labels is needed')
        const { labels, ...rest } = request
        const [[name, id] = []] = Object.entries(labels as JsonObject)
        need(/^[a-z][a-z0-9_-]{0,62}$/.test(String(name)), 'a label is wrong')
        need(/^[a-z0-9_-]{0,63}$/.test(String(id)), 'the value of a label is wrong')
        return { id: String(id), path: `/v1beta/models/${model}:generateContent`, body: rest }
      })
      const id = newName('7')
      outputs.set(id, textAt(to.outputUriPrefix, 'outputUriPrefix'))
      return { id, name: textAt(asked.displayName, 'displayName'), lines: unique(lines) }
    },
    beside: async (asked, held) => {
      const { method, path, headers } = asked
      if (headers.get('authorization') !== 'Bearer house-key') return undefined
      if (path.startsWith(`${STORAGE}/`)) return stored(asked)
      const [bare, query] = path.split('?')
      if (method !== 'GET' || bare !== '/batchPredictionJobs') return undefined
      const name = /^displayName="([^"]+)"$/.exec(new URLSearchParams(query).get('filter') ?? '')?.[1]
      const found = held.filter((one) => one.name === name)
      return Response.json(found.length === 0 ? {} : { batchPredictionJobs: found.map(shown) })
    },
    ended: async ({ id, results }) => {
      const at = `${nameIn(outputs.get(id))}prediction-model-2026-11-27T00:00:00.000000Z`
      objects.set(`${at}/predictions.jsonl`, results.join('\n'))
    },
    created: shown,
    shown,
    listed: () => null,
    line: ({ id, body }, answer) => {
      if (answer === undefined) return undefined
      const request = { ...body, labels: { turnpike_line: id } }
      return answer.status === 200
        ? { status: '', response: answer.body, request }
        : {
            ...{
              status: `${answer.status === 400 ? 'Bad Request' : 'Internal'}: ${JSON.stringify(answer.body)}`,
            },
            ...{ response: {}, request },
          }
    },
    refuses: (status, message) => ({ error: { code: status, message, status: 'INVALID_ARGUMENT' } }),
  }
}
