/** No way in passes guardrails by: whatever reaches a vendor without rules does not reach it when they block. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { z } from 'zod'
import { routes } from '../../src/http/routes.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import { png } from './asset-rig.ts'
import { type BatchServer, startBatchServer } from './batch-rig.ts'
import { withRules } from './guard-rig.ts'
import { completion, testModel } from './harness.ts'

const SECRET = 'AKIAIOSFODNN7EXAMPLE'
const text = `use ${SECRET} here`

const painter: MediaModel = {
  name: 'painter',
  category: 'image',
  title: 'Painter',
  description: 'Paints.',
  inputs: z.strictObject({ prompt: z.string() }),
  example: { prompt: 'a fox' },
  shape: {
    flow: 'once',
    ask: (inputs) => ({ method: 'POST', path: '/paint', body: { json: inputs } }),
    read: () => ({
      verdict: 'done',
      outputs: [{ type: 'image', from: { base64: png(3, 2).toString('base64') } }],
      body: {},
    }),
  },
  card: { rows: [{ rates: { image: usd('0.01') } }], most: { image: () => 1 } },
  source: 'test, November 2026',
}

let server: BatchServer
beforeAll(async () => {
  server = await startBatchServer({
    server: {
      models: [
        testModel('small'),
        testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 }),
        modelOf('mock', painter),
      ],
      vendor: { media: { models: [painter] } },
    },
  })
})
afterAll(() => server.stop())

const messages = [{ role: 'user', content: text }]
const model = 'mock/small'
const mcp = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' }
const tool = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** Bodies by address; several where texts have several places. */
const ways: Readonly<Record<string, readonly object[]>> = {
  '/v1/chat/completions': [
    { model, messages },
    {
      model,
      messages: [
        { role: 'system', content: [{ type: 'text', text }] },
        { role: 'user', content: 'hi' },
      ],
    },
    {
      model,
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          tool_calls: [
            {
              id: 'c',
              type: 'function',
              function: { name: 'f', arguments: JSON.stringify({ a: { [`k ${text}`]: 1 } }) },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'c', content: 'done' },
      ],
    },
    {
      model,
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: text },
      ],
    },
    {
      model,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ type: 'function', function: { name: 'f', description: text, parameters: {} } }],
    },
    { model, messages: [{ role: 'user', content: 'hi' }], stop: [SECRET] },
    { model, messages: [{ role: 'user', content: `hi \u{1F600} "\n${text}` }], stream: true },
  ],
  '/v1/messages': [
    {
      model,
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { [SECRET]: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }] },
      ],
    },
    { model, max_tokens: 9, messages },
    { model, max_tokens: 9, system: text, messages: [{ role: 'user', content: 'hi' }] },
    {
      model,
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { id: SECRET } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }] },
      ],
    },
  ],
  '/v1/responses': [
    { model, input: text, store: false },
    { model, input: 'hi', instructions: text },
    { model, input: [{ role: 'user', content: [{ type: 'input_text', text }] }] },
  ],
  '/v1beta/interactions': [{ model, input: text }],
  '/v1/interactions': [{ model, input: text }],
  '/v1beta/models/mock/small:generateContent': [
    { contents: [{ role: 'user', parts: [{ text }] }] },
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], systemInstruction: { parts: [{ text }] } },
  ],
  '/v1beta/models/mock/small:streamGenerateContent': [{ contents: [{ role: 'user', parts: [{ text }] }] }],
  '/v1beta/models/mock/embed:embedContent': [{ content: { parts: [{ text }] } }],
  '/v1/embeddings': [
    { model: 'mock/embed', input: text },
    { model: 'mock/embed', input: ['hi', text] },
  ],
  '/v1/completions': [{ model, prompt: text }],
  '/v2/chat': [{ model, messages }],
  '/v2/embed': [{ model: 'mock/embed', texts: [text], input_type: 'search_query' }],
  '/api/chat': [{ model, messages }],
  '/api/generate': [
    { model, prompt: text },
    { model, prompt: 'hi', system: text },
  ],
  '/api/embed': [{ model: 'mock/embed', input: text }],
  '/api/embeddings': [{ model: 'mock/embed', prompt: text }],
  '/v1/run': [{ model: 'mock/painter', inputs: { prompt: text } }],
  '/v1/images/generations': [{ model: 'mock/painter', prompt: text }],
  '/api/idempotent-run': [{ model: 'mock/painter', inputs: { prompt: text } }],
  '/mcp': [
    tool('run_product', { product: 'mock/painter', inputs: { prompt: text } }),
    tool('run_product', { product: model, inputs: { messages } }),
  ],
}

/** Addresses that end in the same one call of `runCall` as a way above, of products that this server does not sell. */
const alike: readonly string[] = [
  '/v1/responses/compact',
  '/v1/image/generate',
  '/v1/images/edits',
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/v1/audio/translations',
  '/v1/rerank',
  '/v2/rerank',
  '/v1/moderations',
  '/v1/videos',
  '/v1beta/models/*rest',
  '/v1beta/*rest',
  '/v1/models/*rest',
  '/v1beta1/publishers/*rest',
  '/v1/publishers/*rest',
]

test('every address that runs a call is here', () => {
  const known = [...Object.keys(ways), ...alike]
  expect(
    routes.filter((route) => route.runs === true && !known.includes(route.path)).map(({ path }) => path),
  ).toEqual([])
})

const send = async (path: string, body: object) => {
  const before = server.asked.length
  const extra =
    path === '/mcp' ? mcp : path === '/api/idempotent-run' ? { 'idempotency-key': crypto.randomUUID() } : {}
  const response = await server.post(path, body, extra as Record<string, string>)
  const said = await response.text()
  return {
    said,
    sent: server.asked
      .slice(before)
      .map((one) => one.text)
      .join('\n'),
  }
}

/** The same request, and with its texts where something could take them for bytes or for what vendors sealed. */
const disguised = (body: object): object[] => {
  const json = JSON.stringify(body)
  return [
    body,
    JSON.parse(json.replaceAll(text, `data: ${text}`)),
    JSON.parse(json.replaceAll(text, `data:text/plain,${text}`)),
    JSON.parse(
      json.replaceAll(
        '"parameters":{}',
        `"parameters":{"properties":{"data: ${text}":{"signature":"${text}"}}}`,
      ),
    ),
    JSON.parse(json.replaceAll('"input":{', `"input":{"signature":"${text}","encrypted_content":"${text}",`)),
  ]
}

test.each(Object.keys(ways))('%s passes no secret', async (path) => {
  server.answerWith(({ url }) =>
    url.includes('embeddings')
      ? Response.json({
          object: 'list',
          model: 'embed',
          data: [
            { object: 'embedding', index: 0, embedding: [0.5] },
            { object: 'embedding', index: 1, embedding: [0.5] },
          ],
          usage: { prompt_tokens: 3, total_tokens: 3 },
        })
      : completion('hello'),
  )
  for (const body of (ways[path] ?? []).flatMap(disguised)) {
    await withRules(server, null)
    const open = await send(path, body)
    // A way that leads nowhere would prove nothing.
    expect([path, open.sent.includes(SECRET) ? '' : open.said]).toEqual([path, ''])
    await withRules(server, [{ detect: ['secrets'], action: 'block', on: 'input' }])
    const shut = await send(path, body)
    expect([path, shut.sent, /guardrail/i.test(shut.said) ? '' : shut.said]).toEqual([path, '', ''])
    await withRules(server, [{ detect: ['secrets'], action: 'mask', on: 'input' }])
    const masked = await send(path, body)
    expect([path, masked.sent.includes(SECRET)]).toEqual([path, false])
    expect([path, masked.sent !== '' || /not_guarded|Guardrails apply/.test(masked.said)]).toEqual([
      path,
      true,
    ])
  }
  await withRules(server, null)
})

test('an earlier turn that was stored before there were rules does not pass them by', async () => {
  server.answerWith(() => completion('hello'))
  await withRules(server, null)
  const stored: any = await (await server.post('/v1/responses', { model, input: text })).json()
  await withRules(server, [{ detect: ['secrets'], action: 'block', on: 'input' }])
  const { said, sent } = await send('/v1/responses', {
    model,
    input: 'go on',
    previous_response_id: stored.id,
  })
  expect([sent, said.includes('guardrail_blocked')]).toEqual(['', true])
  await withRules(server, null)
})

test('lines of a batch are refused while rules apply', async () => {
  await withRules(server, [{ detect: ['email'], action: 'log', on: 'input' }])
  const { token } = await server.newKey()
  const before = server.asked.length
  const input_file_id = await server.upload(token, [
    { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model, messages } },
  ])
  const client = server.client(token)
  const said = await client.batches
    .create({ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' })
    .then(async ({ id }) => JSON.stringify(await server.ended(token, id)), String)
  expect([
    said.includes('Guardrails apply') || said.includes('not_guarded') ? '' : said,
    server.asked.length,
  ]).toEqual(['', before])
  await withRules(server, null)
})

test('counts of tokens do not send what is masked', async () => {
  await withRules(server, [{ detect: ['secrets'], action: 'block', on: 'input' }])
  for (const [path, body] of [
    ['/v1/messages/count_tokens', { model, messages }],
    ['/v1/responses/input_tokens', { model, input: text }],
    ['/v1beta/models/mock/small:countTokens', { contents: [{ parts: [{ text }] }] }],
  ] as const) {
    const { said, sent } = await send(path, body)
    expect([path, sent, said.includes('guardrails block') ? '' : said]).toEqual([path, '', ''])
  }
  await withRules(server, null)
})
