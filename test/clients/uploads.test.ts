/** OpenAI's own client with files in parts: sent in any order, joined in the order it says, or given up. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'

let server: AssetServer
let client: OpenAI
let stranger: OpenAI
let stop: () => Promise<void>

beforeAll(async () => {
  server = await startAssetServer()
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  const open = async () =>
    new OpenAI({
      apiKey: (await server.newKey()).token,
      baseURL: `http://127.0.0.1:${bound.port}/v1`,
      maxRetries: 0,
    })
  client = await open()
  stranger = await open()
  stop = async () => {
    await bound.stop(true)
    await server.stop()
  }
})
afterAll(() => stop())

const begin = (bytes: number) =>
  client.uploads.create({ filename: 'größe.txt', purpose: 'user_data', bytes, mime_type: 'text/plain' })
const send = async (id: string, text: string, by = client) =>
  (await by.uploads.parts.create(id, { data: await toFile(Buffer.from(text), 'part') })).id
const refusalOf = (call: PromiseLike<unknown>) =>
  call.then(
    () => undefined,
    ({ status, param }) => [status, param],
  )
const stored = async () => {
  const names: string[] = []
  for await (const { filename } of client.files.list()) names.push(filename)
  return names
}

test('parts become a file in the order that the client says, and none stays', async () => {
  const { id, status } = await begin(11)
  expect(status).toBe('pending')
  const second = await send(id, 'world')
  const first = await send(id, 'hello ')
  const done = await client.uploads.complete(id, { part_ids: [first, second] })
  expect([done.id, done.status, done.file?.filename, done.file?.bytes]).toEqual([
    id,
    'completed',
    'größe.txt',
    11,
  ])
  expect(await (await client.files.content(done.file?.id ?? '')).text()).toBe('hello world')
  expect(await stored()).toEqual(['größe.txt'])
})

test('an upload that is given up leaves nothing', async () => {
  const { id } = await begin(5)
  const part = await send(id, 'hello')
  expect((await client.uploads.cancel(id)).status).toBe('cancelled')
  expect(await refusalOf(client.uploads.complete(id, { part_ids: [part] }))).toEqual([400, 'part_ids[0]'])
  expect(await stored()).toEqual(['größe.txt'])
})

test('what cannot be joined is refused by its name', async () => {
  const { id } = await begin(6)
  const part = await send(id, 'hello')
  const others = await send(id, 'x', stranger)
  expect(await refusalOf(client.uploads.complete(id, { part_ids: [part] }))).toEqual([400, 'part_ids'])
  expect(await refusalOf(client.uploads.complete(id, { part_ids: [part, others] }))).toEqual([
    400,
    'part_ids[1]',
  ])
  expect(await refusalOf(begin(50_000_000))).toEqual([400, 'bytes'])
  expect((await refusalOf(client.uploads.cancel('upload_x')))?.[0]).toBe(404)
})
