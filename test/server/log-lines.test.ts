/** What the log says of a call: how it was asked, what it used, what a vendor said, and never a key or content. */
import { expect, test } from 'bun:test'
import { createLog } from '../../src/core/log.ts'
import { Secret } from '../../src/core/secret.ts'
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

test('a vendor’s refusal is logged in its words, without keys, links and what the caller wrote', async () => {
  const { lines, server } = await started()
  const wrote = 'a long text of a caller that nobody else is to read'
  server.answerWith(() =>
    Response.json(
      {
        error: {
          message: `Key house-key (${new Secret('sk-other1234').reveal()}) may not: '${wrote}'; see https://vendor.example/x`,
          type: 'invalid_request_error',
          code: 'bad_thing',
        },
      },
      { status: 400 },
    ),
  )
  const answer = await server.post('/v1/chat/completions', chat())
  await server.stop()
  expect(lines.find(({ event }) => event === 'vendor refused')).toMatchObject({
    vendor: 'mock',
    status: 400,
    error: "bad_thing invalid_request_error: Key [hidden] ([hidden]) may not: '…'; see [link]",
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
