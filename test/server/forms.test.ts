/** Forms that cannot be read: the refusal names the part, and what to do instead. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { recordOf } from '../vendor-media.ts'
import { png } from './asset-rig.ts'
import { jsonOf, startTestServer, type TestServer } from './harness.ts'

const records = ['openai/whisper-1', 'openai/gpt-image-1-mini', 'google/gemini-3.1-flash-image'].map(
  (id) => recordOf(id) as MediaModel,
)

let server: TestServer
let token: string
beforeAll(async () => {
  server = await startTestServer({
    models: records.map((record) => modelOf('mock', record)),
    vendor: { media: { models: records } },
    options: { bodyBytesMax: 20_000 },
  })
  token = (await server.newKey()).token
})
afterAll(() => server.stop())

const SOUND = '/v1/audio/transcriptions'
const EDIT = '/v1/images/edits'

const send = async (path: string, body: FormData | string, headers: Record<string, string> = {}) => {
  const key = { authorization: `Bearer ${token}` }
  const sent = new Request(`http://turnpike.test${path}`, {
    method: 'POST',
    headers: { ...key, ...headers },
    body,
  })
  const response = await server.fetch(sent)
  const { error } = await jsonOf(response)
  return [response.status, error.code, error.param, error.message]
}

const withFile = (model: string, part: string, bytes: string | Buffer, name: string) => {
  const form = new FormData()
  form.append('model', `mock/${model}`)
  form.append(part, new File([Uint8Array.from(typeof bytes === 'string' ? Buffer.from(bytes) : bytes)], name))
  return form
}

const wrong = (param: string, text: string) => [
  415,
  'unsupported_media_type',
  param,
  expect.stringContaining(text),
]

test.each([
  [SOUND, withFile('whisper-1', 'file', 'hello', 'a.txt'), wrong('file', "'file' must be a sound or film")],
  [EDIT, withFile('gpt-image-1-mini', 'image', 'hello', 'a.png'), wrong('image', "'image' must be a PNG")],
  [EDIT, withFile('gpt-image-1-mini', 'mask', 'hello', 'a.png'), wrong('mask', "'mask' must be a PNG")],
  [SOUND, withFile('whisper-1', 'file', '', 'a.wav'), [400, 'invalid_parameter', 'file', "'file' is empty."]],
  [
    EDIT,
    withFile('gpt-image-1-mini', 'image[]', '', 'a.png'),
    [400, 'invalid_parameter', 'image[]', "'image[]' is empty."],
  ],
  [
    SOUND,
    withFile('whisper-1', 'file', 'x'.repeat(30_000), 'a.wav'),
    [413, 'request_too_large', undefined, expect.stringContaining('POST /v1/files')],
  ],
])('%s refuses a file that it cannot take, %#', async (path, form, expected) => {
  expect(await send(path, form)).toEqual(expected)
})

test('names without quotes, as .NET writes them, are read like others', async () => {
  const part = (head: string, value: string) =>
    `--dot-net\r\nContent-Type: text/plain\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`
  const file = part("name=file; filename=a.txt; filename*=utf-8''a.txt", 'hello')
  const form = `${part('name=model', 'mock/whisper-1')}${file}--dot-net--\r\n`
  const type = { 'content-type': 'multipart/form-data; boundary="dot-net"' }
  expect(await send(SOUND, form, type)).toEqual(wrong('file', "'file' must be a sound or film"))
})

test.each([
  ['multipart/form-data', 'no boundary'],
  ['application/x-www-form-urlencoded', 'multipart/form-data'],
  ['text/plain', 'multipart/form-data'],
])('a body of type %s is told which types are taken', async (type, text) => {
  expect(await send(SOUND, 'a=b', { 'content-type': type })).toEqual([
    415,
    'unsupported_media_type',
    undefined,
    expect.stringContaining(text),
  ])
})

test('who sends an image to a model that takes none is told how to find one that does', async () => {
  const form = withFile('gemini-3.1-flash-image', 'image', png(8, 8), 'a.png')
  const [status, code, param, message] = await send(EDIT, form)
  expect([status, code, param]).toEqual([400, 'invalid_parameter', 'model'])
  expect(message).toContain('GET /v1/models lists those that do, with image_input')
  const listed = (await jsonOf(await server.get('/v1/models'))).data
  const takers = listed.filter((one: { capabilities: string[] }) => one.capabilities.includes('image_input'))
  expect(takers.map((one: { id: string }) => one.id)).toEqual(['mock/gpt-image-1-mini'])
})
