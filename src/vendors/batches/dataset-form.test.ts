/** Fireworks' batches as Fireworks names things; they are run whole in test/server. */
import { expect, test } from 'bun:test'
import type { Json } from '../../core/json-body.ts'
import { encodeOutgoing } from '../../media/encode.ts'
import { fireworksBatches } from './dataset-form.ts'

const answer = (json: Json, status = 200) => ({
  ...{ status, json },
  header: () => undefined,
  bytes: new Uint8Array(),
})
const { inPart, submit, readSubmitted, readPoll, readPlaces, readResult } = fireworksBatches
const body = inPart?.(new TextEncoder().encode('{"model":"m","messages":[]}'), 'us') ?? new Uint8Array()
const part = {
  id: 'P_1',
  path: '/chat/completions',
  upstreamName: 'm',
  named: 'us',
  calls: [{ id: 'c1', body }],
}
const SET = '/accounts/us/datasets/turnpike-p-1'

test('a part is a data set, its lines, a look at it until it is ready, and a job of its model', () => {
  expect(submit(part)).toMatchObject({
    ...{ method: 'POST', path: '/accounts/us/datasets' },
    body: { json: { datasetId: 'turnpike-p-1', dataset: { userUploaded: {}, exampleCount: '1' } } },
  })
  const lines = readSubmitted(answer({ name: SET.slice(1), state: 'UPLOADING' }), part, 0)
  if (typeof lines !== 'object') throw new Error('nothing is asked next')
  const { path, body: sent } = encodeOutgoing(lines.next, 'edge')
  expect(path).toBe(`${SET}:upload`)
  // The model is the job's.
  expect(new TextDecoder().decode(sent)).toContain('{"custom_id":"c1","body":{"messages":[]}}\n')
  const look = { method: 'GET', path: SET } as const
  expect(readSubmitted(answer({ object: 'file' }), part, 1)).toEqual({ next: look })
  const inState = (state: string) => readSubmitted(answer({ name: SET.slice(1), state }), part, 2)
  expect(inState('UPLOADING')).toEqual({ next: look, pauseMs: 1_000 })
  expect(inState('READY')).toEqual({
    next: {
      ...{ method: 'POST', path: '/accounts/us/batchInferenceJobs' },
      query: { batchInferenceJobId: 'turnpike-p-1' },
      body: { json: { model: 'accounts/fireworks/models/m', inputDatasetId: SET.slice(1) } },
    },
  })
  const name = 'accounts/us/batchInferenceJobs/turnpike-p-1'
  expect(readSubmitted(answer({ name, state: 'JOB_STATE_VALIDATING' }), part, 4)).toBe(name)
  expect(readSubmitted(answer({ code: 3, message: 'no' }, 400), part, 0)).toBeUndefined()
  expect(fireworksBatches.newest?.(part).path).toBe(`/${name}`)
})

test('results are asked for when a job has ended, and fetched at signed addresses without the key', () => {
  const inState = (state: string) =>
    readPoll(answer({ state: `JOB_STATE_${state}`, outputDatasetId: 'accounts/us/datasets/out' }), 'j')
  for (const state of [
    'VALIDATING',
    'PENDING',
    'CREATING',
    'RUNNING',
    'WRITING_RESULTS',
    'CANCELLING',
    'NEW_ONE',
  ])
    expect(inState(state)).toBe('running')
  for (const state of [
    'COMPLETED',
    'FAILED',
    'EXPIRED',
    'EARLY_STOPPED',
    'CANCELLED',
    'DELETING_CLEANING_UP',
  ])
    expect(inState(state)).toEqual({
      next: { method: 'GET', path: '/accounts/us/datasets/out:getDownloadEndpoint' },
    })
  const urls = ['https://storage.googleapis.com/a?s', 'https://storage.googleapis.com/b?s']
  expect(readPlaces?.(answer({ filenameToSignedUrls: { a: urls[0] ?? '', b: urls[1] ?? '' } }))).toEqual({
    files: urls.map((path) => ({ method: 'GET', path, signedAt: 'storage.googleapis.com' })),
    lines: [],
  })
  expect(readPlaces?.(answer({ code: 5 }, 404))).toEqual({ files: [], lines: [] })
  expect(readPlaces?.(answer({}, 503))).toBeUndefined()
})

test('an answer stands bare in its line; what failed is told by its code', () => {
  expect(readResult({ custom_id: 'c1', response: { choices: [] } })).toEqual({
    ...{ id: 'c1', status: 200 },
    body: { choices: [] },
  })
  const failed = (error: Json) => readResult({ custom_id: 'c1', error })
  expect([failed({ code: 'INVALID_ARGUMENT' }), failed({ code: 'INTERNAL' }), failed('lost')]).toMatchObject([
    { status: 400 },
    { status: 500 },
    { status: 500, body: { error: { message: 'lost' } } },
  ])
  expect(readResult({ custom_id: 'c1' })).toBeUndefined()
})
