/** What the log says of a call: how it was asked, what it used, what a vendor said, and never a key or content. */
import { expect, test } from 'bun:test'
import { createLog } from '../../src/core/log.ts'
import { chat, startTestServer, streamEvents, streaming } from './harness.ts'

const started = async () => {
  const lines: Record<string, unknown>[] = []
  const log = createLog(
    'call',
    () => 0,
    (line) => lines.push(JSON.parse(line)),
  )
  return { lines, server: await startTestServer({ log, secrets: ['house-key'] }) }
}

test('a call has its method, address and tokens, also a stream', async () => {
  const { lines, server } = await started()
  await server.post('/v1/chat/completions', chat())
  server.answerWith(() => streaming(streamEvents(['a', 'b'])))
  await (await server.post('/v1/chat/completions', chat({ stream: true }))).text()
  await server.stop()
  const line = {
    method: 'POST',
    path: '/v1/chat/completions',
    input_tokens: 10,
    output_tokens: 5,
    status: 200,
  }
  expect(lines.filter(({ event }) => event === 'call')).toMatchObject([line, line])
})

test('an address that is not served is logged without what may be a key, one with names as the table has it', async () => {
  const { lines, server } = await started()
  await server.get('/v1/v1/sk-abcdefgh?key=sk-secret')
  await server.get('/v1/receipts/some-id')
  await server.stop()
  const [lost, receipt] = lines.filter(({ event }) => event === 'call')
  expect(lost).toMatchObject({ method: 'GET', path: '/v1/v1/sk-…', status: 404 })
  expect(receipt).toMatchObject({ method: 'GET', path: '/v1/receipts/:id' })
  expect(lost).not.toHaveProperty('input_tokens')
  expect(JSON.stringify(lines)).not.toContain('secret')
})

const WROTE = 'what a caller wrote 7391'

/** Errors as vendors write them, each of which quotes the prompt. */
const quoting: Readonly<Record<string, unknown>> = {
  'an object': { error: { message: `may not: ${WROTE}`, type: 'invalid_request_error', code: 'bad_thing' } },
  'a quotation in marks': { error: { message: `unsafe: "${WROTE}"`, code: WROTE, param: WROTE } },
  'a text': { error: WROTE },
  'a message': { message: WROTE, type: WROTE },
  'a detail': { detail: WROTE },
  'a list of details': { detail: [{ loc: ['body'], msg: WROTE, input: WROTE }] },
  'a list of errors': { errors: [WROTE, WROTE] },
  'a list of one': [{ error: { message: WROTE, status: 'INVALID_ARGUMENT', details: [{ reason: WROTE }] } }],
  'no JSON': WROTE,
  'broken JSON': `{"error": "${WROTE}`,
  'a page': `<html>${WROTE}</html>`,
}
const STATUSES = [400, 401, 402, 403, 404, 413, 422, 429, 500, 503]

test('no text of a vendor’s error is logged, whatever its form and status, whole and streamed', async () => {
  const { lines, server } = await started()
  const body = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  for (const stream of [false, true])
    for (const form of Object.values(quoting)) {
      const call = chat({ stream, messages: [{ role: 'user', content: WROTE }] })
      for (const status of STATUSES) {
        server.answerWith(
          () => new Response(body(form), { status, headers: { 'content-type': 'application/json' } }),
        )
        await (await server.post('/v1/chat/completions', call)).text()
      }
      // As an answer that is none, as the first event, and in the middle of a stream.
      server.answerWith(() => new Response(body(form), { headers: { 'content-type': 'application/json' } }))
      await (await server.post('/v1/chat/completions', call)).text()
      for (const events of [[body(form)], [...streamEvents(['a']).slice(0, 2), body(form)]]) {
        server.answerWith(() => streaming(events))
        await (await server.post('/v1/chat/completions', call)).text()
      }
    }
  await server.stop()
  expect(lines.filter(({ event }) => event === 'vendor refused').length).toBeGreaterThan(STATUSES.length)
  // An id may happen to have these digits.
  const said = lines.map(({ call: _call, key: _key, ...line }) => JSON.stringify(line))
  expect(said.filter((line) => /wrote|7391/.test(line))).toEqual([])
})

test('a vendor’s refusal is logged with its status, its codes and its length', async () => {
  const { lines, server } = await started()
  server.answerWith(() => Response.json(quoting['an object'], { status: 400 }))
  const answer = await server.post('/v1/chat/completions', chat())
  await server.stop()
  expect(lines.find(({ event }) => event === 'vendor refused')).toMatchObject({
    vendor: 'mock',
    status: 400,
    error: `bad_thing, invalid_request_error, ${JSON.stringify(quoting['an object']).length} bytes`,
  })
  expect(answer.headers.get('link')).toBe('</reference/errors#invalid_parameter>; rel="help"')
})

test('every error leads to its row on a page of the server', async () => {
  const { server } = await started()
  const page = await (await server.get('/reference/errors')).text()
  for (const path of ['/v1/nowhere', '/v1/receipts/none', '/v1/assets/none.png']) {
    const [, code = ''] =
      /<\/reference\/errors#(\w+)>/.exec((await server.get(path)).headers.get('link') ?? '') ?? []
    expect([path, code !== '', page.includes(`id="${code}"`)]).toEqual([path, true, true])
  }
  expect((await server.get('/v1/models')).headers.get('link')).toBeNull()
  await server.stop()
})
