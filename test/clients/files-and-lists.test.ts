/** Anthropic's client keeps files in its own shape, and Google's reads the list of models page by page. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'
import { jsonOf, testModel } from '../server/harness.ts'

let server: AssetServer
let stopListening: () => Promise<void>
let baseURL: string
let token: string

beforeAll(async () => {
  server = await startAssetServer({ server: { models: ['a', 'b', 'c'].map((name) => testModel(name)) } })
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  baseURL = `http://127.0.0.1:${bound.port}`
  stopListening = () => bound.stop(true)
  token = (await server.newKey()).token
})
afterAll(async () => {
  await stopListening()
  await server.stop()
})

test('@anthropic-ai/sdk: files are stored, listed page by page, read and deleted', async () => {
  const { files } = new Anthropic({ apiKey: token, baseURL, maxRetries: 0 })
  const names = ['a.txt', 'b.txt', 'c.txt']
  for (const name of names) {
    const made = await files.upload({
      file: await toFile(Buffer.from(`bytes of ${name}`), name, { type: 'text/plain' }),
    })
    expect(made).toMatchObject({ type: 'file', filename: name, size_bytes: 14, downloadable: true })
    expect(made).not.toHaveProperty('object')
    expect(Number.isNaN(Date.parse(made.created_at))).toBe(false)
  }
  const listed = []
  for await (const file of files.list({ limit: 2 })) listed.push(file)
  expect(listed.map(({ filename }) => filename)).toEqual(names.toReversed())
  const [last] = listed
  if (last === undefined) throw new Error('no file')
  expect(await files.retrieveMetadata(last.id)).toEqual(last)
  expect(await (await files.download(last.id)).text()).toBe('bytes of c.txt')
  expect(await files.delete(last.id)).toMatchObject({ id: last.id, type: 'file_deleted' })
  await expect(Promise.resolve(files.retrieveMetadata(last.id))).rejects.toThrow('There is no file')
})

test('@google/genai: models come page by page, and each once', async () => {
  const client = new GoogleGenAI({ apiKey: token, httpOptions: { baseUrl: baseURL } })
  const all = await jsonOf(await fetch(`${baseURL}/v1beta/models?key=${token}`))
  const names: unknown[] = []
  for await (const { name } of await client.models.list({ config: { pageSize: 1 } })) names.push(name)
  expect(names.length).toBe(3)
  expect(names).toEqual(all.models.map(({ name }: { name: string }) => name))
  const wrong = await fetch(`${baseURL}/v1beta/models?key=${token}&pageToken=models/none`)
  expect([wrong.status, (await jsonOf(wrong)).error.message]).toEqual([
    400,
    expect.stringContaining('pageToken'),
  ])
})
