/** Google's batches as Google names things; they are run whole in test/server. */
import { expect, test } from 'bun:test'
import type { Json, JsonObject } from '../../core/json-body.ts'
import { geminiBatches } from './gemini-form.ts'

const answer = (json: Json, status = 200) => ({
  ...{ status, json },
  header: () => undefined,
  bytes: new Uint8Array(),
})

test('a part whose name was lost is found by ours, and no other is taken for it', () => {
  const operations = ['p2', 'p1'].map((displayName) => ({
    name: `batches/of-${displayName}`,
    metadata: { displayName },
  }))
  expect(geminiBatches.found?.(answer({ operations }), 'p1')).toBe('batches/of-p1')
  expect(geminiBatches.found?.(answer({ operations }), 'p3')).toBeUndefined()
})

const resultOf = (line: JsonObject) => geminiBatches.readResult({ metadata: { key: 'c1' }, ...line })

test('only what was answered is an answer; what was cancelled or came too late was not run', () => {
  expect(resultOf({ response: { candidates: [] } })).toEqual({
    ...{ id: 'c1', status: 200 },
    body: { candidates: [] },
  })
  for (const code of [1, 4]) expect(resultOf({ error: { code } })).toEqual({ id: 'c1', unsent: true })
  expect(resultOf({ error: { code: 8 } })).toEqual({ id: 'c1', status: 429, body: { error: { code: 8 } } })
  expect(resultOf({})).toBeUndefined()
  expect(geminiBatches.readResult({ response: {} })).toBeUndefined()
})

test('a part runs until it is in a state that ends it', () => {
  const inState = (state: string) =>
    geminiBatches.readPoll(answer({ metadata: { state }, response: {} }), 'batches/1')
  expect(['PENDING', 'RUNNING'].map((name) => inState(`BATCH_STATE_${name}`))).toEqual(['running', 'running'])
  for (const name of ['SUCCEEDED', 'FAILED', 'CANCELLED', 'EXPIRED'])
    expect(inState(`BATCH_STATE_${name}`)).toEqual({ files: [], lines: [] })
  expect(geminiBatches.readPoll(answer({}, 404), 'batches/1')).toBeUndefined()
})
