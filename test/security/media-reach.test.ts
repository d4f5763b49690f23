/** No address of a caller is fetched from inside the operator's network, in any dialect and spelling. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ownAddress } from '../../src/vendors/own-address.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, testModel } from '../server/harness.ts'

let server: TestServer
let reached = 0

beforeAll(async () => {
  const fetch = async () => {
    reached++
    return completion('a picture')
  }
  const own = ownAddress('mine', 'http://10.0.0.7:8000/v1')
  server = await startTestServer({
    models: [testModel('see', { id: 'mine/see', vendor: 'mine' }), testModel('small')],
    more: [{ vendor: own, baseUrl: own.baseUrl, secrets: [], fetch }],
  })
})
afterAll(() => server.stop())

const model = 'mine/see'
/** Each place of each dialect where a vendor is told to fetch something. */
const places: [string, string, (url: string) => object][] = [
  [
    '/v1/chat/completions',
    'messages[0].content[1].image_url.url',
    (url) => withPart({ type: 'image_url', image_url: { url } }),
  ],
  [
    '/v1/chat/completions',
    'messages[0].content[1].image_url',
    (url) => withPart({ type: 'image_url', image_url: url }),
  ],
  [
    '/v1/chat/completions',
    'messages[0].content[1].video_url.url',
    (url) => withPart({ type: 'video_url', video_url: { url } }),
  ],
  [
    '/v1/chat/completions',
    'messages[0].content[1].audio_url.url',
    (url) => withPart({ type: 'audio_url', audio_url: { url } }),
  ],
  [
    '/v1/chat/completions',
    'messages[0].content[1].file.file_data',
    (url) => withPart({ type: 'file', file: { file_data: url } }),
  ],
  [
    '/v1/chat/completions',
    'messages[0].content[1].video[1]',
    (url) => withPart({ type: 'video', video: ['https://example.com/1.png', url] }),
  ],
  [
    '/v1/messages',
    'messages[0].content[0].source.url',
    (url) => ofMessages({ type: 'image', source: { type: 'url', url } }),
  ],
  [
    '/v1/messages',
    'messages[0].content[0].content[0].source.url',
    (url) =>
      ofMessages({
        type: 'tool_result',
        tool_use_id: 't',
        content: [{ type: 'document', source: { type: 'url', url } }],
      }),
  ],
  [
    '/v1beta/interactions',
    'input[0].content[0].uri',
    (uri) => ({ model, input: [{ type: 'user_input', content: [{ type: 'image', uri }] }] }),
  ],
  [
    '/v1beta/interactions',
    'input[0].result[0].uri',
    (uri) => ({
      model,
      input: [{ type: 'function_result', call_id: 'c', result: [{ type: 'document', uri }] }],
    }),
  ],
  [
    '/v1/responses',
    'input[0].content[0].image_url',
    (url) => ofResponses({ type: 'input_image', image_url: url }),
  ],
  [
    '/v1/responses',
    'input[0].content[0].file_url',
    (url) => ofResponses({ type: 'input_file', file_url: url }),
  ],
  [
    `/v1beta/models/${model}:generateContent`,
    'contents[0].parts[0].fileData.fileUri',
    (url) => ({
      contents: [{ role: 'user', parts: [{ fileData: { fileUri: url, mimeType: 'image/png' } }] }],
    }),
  ],
  [
    `/v1beta/models/${model}:generateContent`,
    'contents[0].parts[0].file_data.file_uri',
    (url) => ({
      contents: [{ role: 'user', parts: [{ file_data: { file_uri: url, mime_type: 'image/png' } }] }],
    }),
  ],
]
const withPart = (part: object) =>
  chat({
    model,
    max_tokens: 5,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'what is it?' }, part] }],
  })
const ofMessages = (block: object) => ({
  model,
  max_tokens: 5,
  messages: [{ role: 'user', content: [block] }],
})
const ofResponses = (part: object) => ({
  model,
  max_output_tokens: 5,
  input: [{ type: 'message', role: 'user', content: [part] }],
})

const inside = [
  'http://127.0.0.1/x.png',
  'http://127.0.0.1:8000/v1/models',
  'http://localhost/x.png',
  'HTTP://LOCALHOST:80/x.png',
  'http://2130706433/x.png',
  'http://0x7f.1/x.png',
  'http://0177.0.0.1/x.png',
  'http://[::1]/x.png',
  'http://[::ffff:127.0.0.1]/x.png',
  'http://169.254.169.254/latest/meta-data/',
  'http://[fe80::1]/x.png',
  'http://10.0.0.7:8000/x.png',
  'https://192.168.1.1/x.png',
  'http://metadata.google.internal/x',
  'http://printer.local/x.png',
  'http://db/x.png',
  'http://127.0.0.1./x.png',
  'file:///etc/passwd',
  'FILE:/etc/passwd',
  ' file:///etc/passwd',
  'ftp://example.com/x.png',
  'gopher://example.com/x',
  'javascript:alert(1)',
  '/etc/passwd',
  '../secret.png',
  '~/secret.png',
  'C:\\secret.png',
  '//127.0.0.1/x.png',
  'http:/127.0.0.1/x.png',
  'http://user:pass@example.com/x.png',
  'http://example.com\\@127.0.0.1/x.png',
  'http://127.0.0.1\t/x.png',
]

test('addresses inside, of files and of other kinds are a 400 that names the member, in every place', async () => {
  for (const [path, param, body] of places)
    for (const url of inside) {
      const response = await server.post(path, body(url))
      const answer = await jsonOf(response)
      const name = answer.error.param ?? answer.error.details?.[0]?.metadata?.param
      expect([path, url, response.status, name]).toEqual([path, url, 400, param])
    }
  expect(reached).toBe(0)
  const counted = await server.post('/v1/messages/count_tokens', places[6]?.[2]('http://10.0.0.7/x.png'))
  expect(counted.status).toBe(400)
})

test('a file of this server in a conversation is a 400 that says what to send: no vendor knows it', async () => {
  const id = `file-${'0a'.repeat(16)}`
  const named: [string, string, object][] = [
    [
      '/v1/chat/completions',
      'messages[0].content[1].file.file_id',
      withPart({ type: 'file', file: { file_id: id } }),
    ],
    ['/v1/responses', 'input[0].content[0].file_id', ofResponses({ type: 'input_file', file_id: id })],
    ['/v1/responses', 'input[0].content[0].file_id', ofResponses({ type: 'input_image', file_id: id })],
    [
      '/v1/messages',
      'messages[0].content[0].source.file_id',
      ofMessages({ type: 'document', source: { type: 'file', file_id: id } }),
    ],
  ]
  const before = reached
  for (const [path, param, body] of named) {
    const response = await server.post(path, body)
    const { error } = await jsonOf(response)
    expect([path, response.status, error.param]).toEqual([path, 400, param])
    expect(error.message).toContain('send its content')
  }
  expect(reached).toBe(before)
})

test('public addresses and what is inline go on, and what a tool was asked or said is nobody to fetch', async () => {
  const jpeg = `/9j/${'A'.repeat(2_000)}`
  for (const url of [
    'https://example.com/x.png',
    'http://93.184.216.34/x.png',
    'data:image/png;base64,AAAA',
    jpeg,
  ]) {
    const before = reached
    const response = await server.post(
      '/v1/chat/completions',
      withPart({ type: 'image_url', image_url: { url } }),
    )
    expect([url.slice(0, 30), response.status, reached - before]).toEqual([url.slice(0, 30), 200, 1])
  }
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const used = { type: 'tool_use', id: 't', name: 'open', input: { url: 'http://localhost:3000' } }
  const response = await server.post('/v1/messages', {
    model,
    max_tokens: 5,
    messages: [
      { role: 'user', content: [picture, { type: 'text', text: 'see http://127.0.0.1/x' }] },
      { role: 'assistant', content: [used] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'url: file:///x' }] },
    ],
  })
  expect(response.status).toBe(200)
})

test('members by which a vendor reaches out, or answers later, are refused by name', async () => {
  for (const name of ['data_sources', 'DATA_SOURCES', 'deferred', 'callback_url', 'webhook_url']) {
    const response = await server.post(
      '/v1/chat/completions',
      chat({ model, [name]: [{ type: 'azure_search' }] }),
    )
    const { error } = await jsonOf(response)
    expect([name, response.status, error.param]).toEqual([name, 400, name])
  }
  expect(
    (await server.post('/v1/chat/completions', chat({ model, deferred: false, max_tokens: 5 }))).status,
  ).toBe(200)
})
