/** Batches in a bucket as Amazon Bedrock and Vertex name things; they are run whole in test/server. */
import { expect, test } from 'bun:test'
import type { Json } from '../../core/json-body.ts'
import { encodeOutgoing } from '../../media/encode.ts'
import type { Outgoing } from '../../media/shape.ts'
import { bedrockBatches } from './bedrock-form.ts'
import { vertexBatches } from './vertex-form.ts'

const answer = (json: Json | undefined, status = 200, text = '') => ({
  ...{ status, json },
  header: () => undefined,
  bytes: new TextEncoder().encode(text),
})
const partOf = (uri: string, body: string, count = 1) => ({
  ...{ id: 'p-1', path: '', upstreamName: 'm', named: '', bucket: { uri, role: 'arn:role' } },
  calls: Array.from({ length: count }, (_, n) => ({ id: `c${n}`, body: new TextEncoder().encode(body) })),
})
const textOf = (outgoing: Outgoing) => new TextDecoder().decode(encodeOutgoing(outgoing, 'edge').body)
const nextOf = (read: unknown): any => (read as { next?: unknown })?.next

test('Bedrock: the lines of a part are filled up to the least that a job may have', () => {
  const lines = (count: number) => {
    const put = bedrockBatches.submit(partOf('s3://b/ours/', '{"messages":[]}', count))
    expect(put).toMatchObject({ method: 'PUT', path: '/b/ours/p-1/lines.jsonl', inBucket: true })
    return textOf(put).trimEnd().split('\n')
  }
  expect(lines(1)).toHaveLength(100)
  expect(lines(1)[0]).toBe('{"recordId":"c0","modelInput":{"messages":[]}}')
  expect(lines(1)[99]).toContain('"recordId":"filling-98"')
  for (const count of [100, 101]) expect(lines(count)).toHaveLength(count)
})

test('Bedrock: a job has the id of its part as token and name, and is found by it', () => {
  const part = partOf('s3://b', '{}')
  const { json } = nextOf(bedrockBatches.readSubmitted(answer(undefined), part, 0)).body
  expect(json).toMatchObject({
    ...{ jobName: 'p-1', clientRequestToken: 'p-1', modelId: 'm', modelInvocationType: 'Converse' },
    ...{ roleArn: 'arn:role', timeoutDurationInHours: 24 },
    inputDataConfig: { s3InputDataConfig: { s3Uri: 's3://b/p-1/lines.jsonl' } },
    outputDataConfig: { s3OutputDataConfig: { s3Uri: 's3://b/p-1/out/' } },
  })
  expect(bedrockBatches.readSubmitted(answer({ jobArn: 'arn:x/j1' }), part, 1)).toBe('j1')
  for (const status of [403, 500])
    expect(bedrockBatches.readSubmitted(answer({}, status), part, 0)).toBeUndefined()
  const jobs = ['p-10', 'p-1'].map((jobName, n) => ({ jobName, jobArn: `arn:x/j${n}` }))
  expect(bedrockBatches.found?.(answer({ invocationJobSummaries: jobs }), 'p-1')).toBe('j1')
})

test('Bedrock: results are where the job says, whatever the setting says by then', () => {
  const job = (status: string) => ({
    status,
    outputDataConfig: { s3OutputDataConfig: { s3Uri: 's3://b/p-1/out/' } },
  })
  for (const status of ['Submitted', 'InProgress', 'Stopping'])
    expect(bedrockBatches.readPoll(answer(job(status)), 'j1')).toBe('running')
  for (const status of ['Completed', 'PartiallyCompleted', 'Failed', 'Stopped', 'Expired'])
    expect(nextOf(bedrockBatches.readPoll(answer(job(status)), 'j1'))).toMatchObject({
      ...{ path: '/b', query: { prefix: 'p-1/out/' } },
    })
  const xml =
    '<ListBucketResult><Name>b</Name><Contents><Key>p-1/out/j&amp;1/lines.jsonl.out</Key></Contents>' +
    '<Contents><Key>p-1/out/j&amp;1/manifest.json.out</Key></Contents></ListBucketResult>'
  const places = bedrockBatches.readPlaces?.(answer(undefined, 200, xml))
  expect(places?.files.map(({ path }) => path)).toEqual(['/b/p-1/out/j%261/lines.jsonl.out'])
  expect(bedrockBatches.removals?.(answer(undefined, 200, xml))).toHaveLength(2)
  expect(bedrockBatches.readPlaces?.(answer(undefined, 403, '<Error/>'))).toBeUndefined()
})

test('Bedrock: a result, a refusal, a failure', () => {
  const { readResult } = bedrockBatches
  expect(readResult({ recordId: 'c', modelInput: {}, modelOutput: { a: 1 } })).toEqual({
    id: 'c',
    status: 200,
    body: { a: 1 },
  })
  const failed = (errorCode: Json) => readResult({ recordId: 'c', error: { errorCode, errorMessage: 'no' } })
  expect(failed(400)).toEqual({ id: 'c', status: 400, body: { message: 'no' } })
  expect(failed(500)).toMatchObject({ status: 500 })
  expect(readResult({ modelOutput: {} })).toBeUndefined()
})

test("Vertex: a line has its label beside its caller's, and its result is found by it", () => {
  const put = vertexBatches.submit(partOf('gs://b/ours', '{"contents":[],"labels":{"team":"a"}}'))
  expect(put).toMatchObject({ path: '/upload/storage/v1/b/b/o', query: { name: 'ours/p-1/lines.jsonl' } })
  expect(JSON.parse(textOf(put))).toEqual({
    request: { contents: [], labels: { team: 'a', turnpike_line: 'c0' } },
  })
  const request = { labels: { turnpike_line: 'c0' } }
  const { readResult } = vertexBatches
  expect(readResult({ request, status: '', response: { candidates: [] } })).toMatchObject({
    id: 'c0',
    status: 200,
  })
  expect(readResult({ request, status: 'Bad Request: {}', response: {} })).toMatchObject({ status: 400 })
  expect(readResult({ request, status: 'Internal', response: {} })).toMatchObject({ status: 500 })
  expect(readResult({ request, status: '', response: {} })).toBeUndefined()
  expect(readResult({ request: {}, status: '', response: { candidates: [] } })).toBeUndefined()
})

test('Vertex: a job has the id of its part as its name, and is found by it', () => {
  const part = partOf('gs://b/ours', '{}')
  const { path, body } = nextOf(vertexBatches.readSubmitted(answer({ name: 'x' }), part, 0))
  expect([path, body.json.displayName, body.json.model]).toEqual([
    ...['/batchPredictionJobs', 'p-1', 'publishers/google/models/m'],
  ])
  const name = 'projects/1/locations/global/batchPredictionJobs/7'
  expect(vertexBatches.readSubmitted(answer({ name }), part, 1)).toBe('7')
  const batchPredictionJobs = [{ displayName: 'p-2' }, { displayName: 'p-1', name }]
  expect(vertexBatches.found?.(answer({ batchPredictionJobs }), 'p-1')).toBe('7')
  expect(vertexBatches.readPoll(answer({ state: 'JOB_STATE_FAILED' }), '7')).toEqual({ files: [], lines: [] })
})
