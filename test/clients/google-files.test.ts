/** Google's own client with files: uploaded in parts, read, listed page by page, named in a call, and deleted. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ApiError, createPartFromUri, createUserContent, GoogleGenAI } from '@google/genai'
import { ASSET_SETTINGS, type AssetServer, png, startAssetServer } from '../server/asset-rig.ts'
import { jsonOf, testModel } from '../server/harness.ts'

const MB = 1024 ** 2

let server: AssetServer
let client: GoogleGenAI
let stranger: GoogleGenAI
let baseUrl: string
let token: string
let asked: any
let stop: () => Promise<void>

beforeAll(async () => {
  server = await startAssetServer({
    change: {
      settings: {
        ...ASSET_SETTINGS,
        uploads: { ...ASSET_SETTINGS.uploads, bytesMax: 30 * MB, keyBytesMax: 90 * MB },
      },
    },
    server: { models: [testModel('small')], vendor: { speaks: 'gemini' } },
  })
  server.answerWith((request) => {
    asked = request.body
    return Response.json({
      candidates: [{ content: { role: 'model', parts: [{ text: 'seen' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 },
    })
  })
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  baseUrl = `http://127.0.0.1:${bound.port}`
  token = (await server.newKey()).token
  const open = (apiKey: string) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl } })
  client = open(token)
  stranger = open((await server.newKey()).token)
  stop = async () => {
    await bound.stop(true)
    await server.stop()
  }
})
afterAll(() => stop())

const statusOf = (call: Promise<unknown>) =>
  call.then(
    () => 200,
    (error: unknown) => (error instanceof ApiError ? error.status : error),
  )
const upload = (bytes: Uint8Array<ArrayBuffer>, displayName: string) =>
  client.files.upload({ file: new Blob([bytes]), config: { mimeType: 'text/plain', displayName } })

test('a file that comes in three parts is whole, and no part stays', async () => {
  const bytes = Uint8Array.from({ length: 17 * MB }, (_, at) => 97 + (at % 23))
  const file = await upload(bytes, 'letters.txt')
  expect(file).toMatchObject({ displayName: 'letters.txt', state: 'ACTIVE', sizeBytes: String(bytes.length) })
  const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('base64')
  expect(file.sha256Hash).toBe(sha256)
  expect(await client.files.get({ name: file.name ?? '' })).toEqual(file)
  const { data } = await jsonOf(await server.get('/v1/files', token))
  expect(data.map(({ filename }: { filename: string }) => filename)).toEqual(['letters.txt'])
  await client.files.delete({ name: file.name ?? '' })
  expect(await statusOf(client.files.get({ name: file.name ?? '' }))).toBe(404)
})

test('a call names a file, and its vendor gets the content', async () => {
  const file = await upload(new TextEncoder().encode('It was a dark night.'), 'story.txt')
  const ask = (google: GoogleGenAI) =>
    google.models.generateContent({
      model: 'mock/small',
      contents: [
        {
          role: 'user',
          parts: [{ text: 'What is it?' }, { fileData: { fileUri: file.uri ?? '', mimeType: 'text/plain' } }],
        },
      ],
    })
  expect((await ask(client)).text).toBe('seen')
  expect(asked.contents[0].parts).toEqual([
    { text: 'What is it?' },
    { inlineData: { mimeType: 'text/plain', data: Buffer.from('It was a dark night.').toString('base64') } },
  ])
  const counted = await client.models.countTokens({
    model: 'mock/small',
    contents: [{ role: 'user', parts: [{ fileData: { fileUri: file.uri ?? '', mimeType: 'text/plain' } }] }],
  })
  expect(counted.totalTokens).toBeGreaterThan(0)
  asked = undefined
  expect([await statusOf(ask(stranger)), asked]).toEqual([400, undefined])
  await client.files.delete({ name: file.name ?? '' })
  expect([await statusOf(ask(client)), asked]).toEqual([400, undefined])
})

test('a text is text by what its client calls it, as Google’s quickstart names it in a call', async () => {
  const typeOf = async (bytes: string | Uint8Array<ArrayBuffer>, mimeType: string) => {
    const {
      name = '',
      uri = '',
      mimeType: told = '',
    } = await client.files.upload({
      file: new Blob([bytes]),
      config: { mimeType },
    })
    await client.models.generateContent({
      model: 'mock/small',
      contents: createUserContent([createPartFromUri(uri, told), { fileData: { fileUri: uri } }]),
    })
    for (const { inlineData } of asked.contents[0].parts) expect(inlineData.mimeType).toBe(told)
    await client.files.delete({ name })
    return told
  }
  for (const type of ['text/plain', 'text/csv', 'text/html', 'application/json'])
    expect([type, await typeOf('a,b\n1,2\n', type)]).toEqual([type, 'text/plain'])
  // What bytes show counts, whatever they are called.
  expect(await typeOf(new Uint8Array(png(2, 2)), 'text/plain')).toBe('image/png')
  expect(await typeOf('a,b\n', 'application/x-own')).toBe('application/octet-stream')
})

test('files are listed page by page, under both versions, and each is one key’s', async () => {
  const names = ['a.txt', 'b.txt', 'c.txt']
  for (const name of names) await upload(new TextEncoder().encode(name), name)
  const listed = []
  for await (const { displayName } of await client.files.list({ config: { pageSize: 2 } }))
    listed.push(displayName)
  expect(listed).toEqual(names.toReversed())
  for await (const one of await stranger.files.list()) expect.unreachable(`listed ${one.name}`)
  const stable = await fetch(`${baseUrl}/v1/files`, { headers: { 'x-goog-api-key': token } })
  expect((await jsonOf(stable)).files.length).toBe(3)
})

test('an upload is asked for what it has, goes on from there, and can be given up', async () => {
  const headers = { 'x-goog-api-key': token, 'x-goog-upload-command': 'start' }
  const begun = await fetch(`${baseUrl}/upload/v1beta/files`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ file: { display_name: 'é.txt' } }),
  })
  const url = begun.headers.get('x-goog-upload-url') ?? ''
  const send = (command: string, offset: number, body?: string, key = token) =>
    fetch(baseUrl + new URL(url).pathname, {
      method: 'POST',
      headers: {
        'x-goog-api-key': key,
        'x-goog-upload-command': command,
        'x-goog-upload-offset': String(offset),
      },
      ...(body === undefined ? {} : { body }),
    })
  const stateOf = ({ status, headers: them }: Response) => [
    status,
    them.get('x-goog-upload-status'),
    them.get('x-goog-upload-size-received'),
  ]
  expect(stateOf(await send('upload', 0, 'abc'))).toEqual([200, 'active', '3'])
  expect((await send('upload', 0, 'abc')).status).toBe(400)
  expect(stateOf(await send('query', 0))).toEqual([200, 'active', '3'])
  const other = (await server.newKey()).token
  expect(stateOf(await send('query', 0, undefined, other))).toEqual([200, 'active', '0'])
  const made = await jsonOf(await send('upload, finalize', 3, 'def'))
  expect(made.file).toMatchObject({ displayName: 'é.txt', sizeBytes: '6' })
  expect(stateOf(await send('upload', 0, 'again'))).toEqual([200, 'active', '5'])
  expect(stateOf(await send('cancel', 0))).toEqual([200, 'cancelled', null])
  expect(stateOf(await send('query', 0))).toEqual([200, 'active', '0'])
})
