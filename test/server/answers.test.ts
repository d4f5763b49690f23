/** Answers are what the reference says: each way in which a route may fall short of it is caught. */
import { expect, test } from 'bun:test'
import { z } from 'zod'
import { referenceOf } from '../../src/http/pages/reference.ts'
import type { Route } from '../../src/http/route/route.ts'
import { fitting, misfitOf, misfitOfEvents } from './answers.ts'

const answer = z
  .object({ id: z.string(), inner: z.object({ usd: z.number() }).nullable(), open: z.looseObject({}) })
  .meta({ id: 'TestAnswer' })
const route: Route = {
  method: 'GET',
  path: '/x',
  summary: 'X.',
  auth: 'bearer',
  answer,
  handler: () => Promise.reject(new Error('never asked')),
}
const fits = { id: 'a', inner: { usd: 1 }, open: { more: 1 } }

test.each([
  ['what fits', 200, fits, undefined],
  ['null where it may be', 200, { ...fits, inner: null }, undefined],
  [
    'a member that is missing',
    200,
    { inner: null, open: {} },
    'id: Invalid input: expected string, received undefined',
  ],
  [
    'a member of another type',
    200,
    { ...fits, inner: { usd: '1' } },
    'inner.usd: Invalid input: expected number, received string',
  ],
  ['a member that is not declared', 200, { ...fits, more: 1 }, 'more is not declared'],
  ['one deep inside', 200, { ...fits, inner: { usd: 1, eur: 1 } }, 'inner.eur is not declared'],
  ['another status', 201, fits, 'the status 201 is not declared, 200 is'],
  [
    'an error without its id',
    404,
    { error: { message: '', type: '', code: '' } },
    'error.request_id: Invalid input: expected string, received undefined',
  ],
  ['an error', 404, { error: { message: '', type: '', code: '', request_id: '' } }, undefined],
] as const)('%s', (_what, status, value, wrong) => {
  expect(misfitOf(route, status, value)).toBe(wrong)
})

test('errors have the shape of their address, and what a route declares instead is one too', () => {
  const helper = { error: 'a', code: 'a', message: '', request_id: '' }
  expect(misfitOf({ ...route, helper: true }, 400, helper)).toBeUndefined()
  expect(misfitOf(route, 400, helper)).toBeDefined()
  expect(misfitOf({ ...route, dialect: 'messages' }, 400, { error: {} })).toBeDefined()
  expect(misfitOf(route, 503, fits)).toBeDefined()
  expect(misfitOf({ ...route, instead: answer }, 503, fits)).toBeUndefined()
})

test('an answer of the server that does not fit is thrown at the test that asked for it', async () => {
  const asked = () => new Request('http://turnpike.test/livez')
  const good = await fitting(asked(), Response.json({ status: 'ok' }))
  expect([good.status, await good.json()]).toEqual([200, { status: 'ok' }])
  await expect(fitting(asked(), Response.json({ status: 'ok', more: 1 }))).rejects.toThrow(
    'GET /livez does not answer what its row declares (200): more is not declared',
  )
})

test('the events of a stream are checked too, except those of errors', () => {
  const streams = { ...route, event: z.looseObject({ id: z.string() }) }
  const good = 'event: x\ndata: {"id":"a"}\n\n: note\n\ndata: {"error":{}}\n\ndata: [DONE]\n\n'
  expect(misfitOfEvents(streams, good)).toBeUndefined()
  expect(misfitOfEvents(streams, `${good}data: {"id":1}\n\n`)).toBe(
    'id: Invalid input: expected string, received number in data: {"id":1}',
  )
  expect(misfitOfEvents(route, good)).toBe('a stream is not declared')
})

test('a stream of the server that does not fit is thrown at who reads it', async () => {
  const asked = new Request('http://turnpike.test/v1/chat/completions', { method: 'POST' })
  const headers = { 'content-type': 'text/event-stream' }
  const stream = await fitting(asked, new Response('data: {"id":1}\n\n', { headers }))
  await expect(stream.text()).rejects.toThrow(
    'POST /v1/chat/completions streams what its row does not declare',
  )
})

test('every name in the reference leads somewhere; a schema without one, or with one that is taken, is refused', () => {
  const { components } = referenceOf([route])
  expect(Object.keys(Object(components.schemas))).toContain('TestAnswer')
  expect(() => referenceOf([{ ...route, answer: z.object({ id: z.string() }) }])).toThrow(
    'the schema of GET /x has no id',
  )
  expect(() => referenceOf([{ ...route, body: z.looseObject({}) }])).toThrow('the schema of GET /x has no id')
})
