/** Batches of files as their vendors name things; OpenAI's are run whole in test/server. */
import { expect, test } from 'bun:test'
import type { Json } from '../../core/json-body.ts'
import { encodeOutgoing } from '../../media/encode.ts'
import type { VendorAnswer } from '../../media/shape.ts'
import { openaiBatchCached } from '../openai/models.ts'
import { together } from '../together/together.ts'
import { azureBatches, groqBatches, mistralBatches, openaiBatches, togetherBatches } from './openai-form.ts'

const answer = (json: Json, status = 200): VendorAnswer => ({
  ...{ status, json },
  header: () => undefined,
  bytes: new Uint8Array(),
})
const body = new TextEncoder().encode('{"model":"m"}')
const part = {
  id: 'p1',
  path: '/chat/completions',
  upstreamName: 'm',
  named: '',
  calls: [{ id: 'c1', body }],
}

test('Mistral: a job of one model, its states and files', () => {
  const { body: sent, path } = encodeOutgoing(mistralBatches.submit(part), 'edge')
  expect(path).toBe('/files')
  expect(new TextDecoder().decode(sent)).toContain('{"custom_id":"c1","body":{"model":"m"}}\n')
  expect(mistralBatches.readSubmitted(answer({ id: 'f1', object: 'file' }), part, 0)).toEqual({
    next: {
      method: 'POST',
      path: '/batch/jobs',
      body: {
        json: {
          input_files: ['f1'],
          endpoint: '/v1/chat/completions',
          model: 'm',
          timeout_hours: 24,
          metadata: { part: 'p1' },
        },
      },
    },
  })
  expect(mistralBatches.readSubmitted(answer({ id: 'j1', object: 'batch' }), part, 0)).toBe('j1')
  expect(mistralBatches.readPoll(answer({ id: 'j1', status: 'RUNNING' }), 'j1')).toBe('running')
  expect(mistralBatches.readPoll(answer({ id: 'j1', status: 'SUCCESS', output_file: 'f2' }), 'j1')).toEqual({
    files: [{ method: 'GET', path: '/files/f2/content' }],
    lines: [],
  })
  const listed = answer({
    data: [
      { id: 'j0', metadata: null },
      { id: 'j1', metadata: { part: 'p1' } },
    ],
  })
  expect([mistralBatches.found?.(listed, 'p1'), mistralBatches.found?.(listed, 'p2')]).toEqual([
    'j1',
    undefined,
  ])
})

test('Azure: a file is looked at until it is processed; the endpoint of the batch has no version', () => {
  const file = (status: string) =>
    azureBatches.readSubmitted(answer({ id: 'f1', object: 'file', status }), part, 0)
  expect(file('pending')).toEqual({ next: { method: 'GET', path: '/files/f1' }, pauseMs: 1_000 })
  expect(file('processed')).toMatchObject({
    next: { path: '/batches', body: { json: { input_file_id: 'f1', endpoint: '/chat/completions' } } },
  })
  // As its reference shows the states.
  expect(azureBatches.readPoll(answer({ id: 'b1', status: 'Validating' }), 'b1')).toBe('running')
  for (const status of ['completed', 'Expired', 'failed', 'cancelled'])
    expect(
      azureBatches.readPoll(answer({ status, output_file_id: 'f2', error_file_id: 'f3' }), 'b1'),
    ).toMatchObject({ files: [{ path: '/files/f2/content' }, { path: '/files/f3/content' }] })
  expect(['/chat/completions', '/responses', '/embeddings'].map(azureBatches.takes)).toEqual([
    true,
    true,
    false,
  ])
})

test('Together: the batch is inside the answer that makes it, and bare in others; refused lines are told by their code', () => {
  const job = { id: 'j1', status: 'VALIDATING' }
  expect(togetherBatches.readSubmitted(answer({ job, warning: 'slow' }, 201), part, 0)).toBe('j1')
  expect(togetherBatches.readPoll(answer(job), 'j1')).toBe('running')
  for (const status of ['COMPLETED', 'FAILED', 'EXPIRED', 'CANCELLED'])
    expect(togetherBatches.readPoll(answer({ ...job, status }), 'j1')).toEqual({ files: [], lines: [] })
  expect(togetherBatches.newest).toBeUndefined()
  const failed = (code: string) =>
    togetherBatches.readResult({ custom_id: 'c1', error: { message: 'x', code } })
  expect([failed('invalid_model'), failed('timeout')]).toMatchObject([{ status: 400 }, { status: 500 }])
  const { cachedInput } = together.batches
  expect(cachedInput('meta-llama/Llama-3.3-70B-Instruct-Turbo')).toBe('as input')
  expect(cachedInput('openai/gpt-oss-120b')).toBeUndefined()
})

test('a line that was not run is told apart from one that failed', () => {
  const read = openaiBatches.readResult
  const line = { custom_id: 'c1', response: null }
  expect(read({ ...line, error: { code: 'batch_expired', message: '' } })).toEqual({ id: 'c1', unsent: true })
  expect(read({ ...line, error: { code: 'else', message: 'x' } })).toMatchObject({ id: 'c1', status: 500 })
  expect(read({ ...line, response: { status_code: 429, body: {} } })).toEqual({
    id: 'c1',
    status: 429,
    body: {},
  })
  expect(read({ ...line, error: null })).toBeUndefined()
  expect(openaiBatches.readPoll(answer({ error: {} }, 500), 'b')).toBeUndefined()
})

test('what batches take: paths, and models with a price there', () => {
  expect(openaiBatches.takes('/embeddings') && !groqBatches.takes('/embeddings')).toBe(true)
  const names = [
    'gpt-5-mini',
    'gpt-4.1',
    'text-embedding-3-small',
    'gpt-5-chat-latest',
    'gpt-4o-audio-preview',
    'dall-e-3',
  ]
  expect(names.map(openaiBatchCached)).toEqual([
    'half',
    'as input',
    'as input',
    undefined,
    undefined,
    undefined,
  ])
})
