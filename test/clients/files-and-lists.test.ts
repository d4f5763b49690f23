/** Anthropic's client keeps files in its own shape, and Google's and Cohere's read the list of models page by page. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'
import { jsonOf, testModel } from '../server/harness.ts'
import { openCohere } from './drivers/cohere.ts'

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

test('cohere-ai: the models that its addresses call come in its own form, page by page', async () => {
  const { models } = openCohere({ baseURL, key: token })
  const listed: unknown[] = []
  let pageToken: string | undefined
  do {
    const page = await models.list({ pageSize: 2, ...(pageToken === undefined ? {} : { pageToken }) })
    listed.push(...page.models.map(({ name, endpoints }) => [name, endpoints]))
    pageToken = page.nextPageToken
  } while (pageToken !== undefined)
  expect(listed.toSorted()).toEqual(['a', 'b', 'c'].map((name) => [`mock/${name}`, ['chat']]))
  expect((await models.list({ endpoint: 'embed' })).models).toEqual([])
  expect(await models.get('mock/b')).toMatchObject({ name: 'mock/b', endpoints: ['chat'], finetuned: false })
  const failed: unknown = await models.get('none').catch((error: unknown) => error)
  expect(failed).toMatchObject({ body: { code: 'model_not_found', message: expect.any(String) } })
})

test('where addresses are shared, each client gets refusals and ids in its own style', async () => {
  const failureOf = (work: PromiseLike<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    )
  const own = new Anthropic({ apiKey: token, baseURL, maxRetries: 0 })
  expect((await own.models.retrieve('mock/a'))._request_id).toBeTruthy()
  const wrong = new Anthropic({ apiKey: 'sk-wrong', baseURL, maxRetries: 0 })
  for (const [work, kind, type] of [
    [() => wrong.models.list(), Anthropic.AuthenticationError, 'authentication_error'],
    [() => wrong.files.list(), Anthropic.AuthenticationError, 'authentication_error'],
    [() => own.files.retrieveMetadata('file-none'), Anthropic.NotFoundError, 'not_found_error'],
    [() => own.models.list({ after_id: 'none' }), Anthropic.BadRequestError, 'invalid_request_error'],
  ] as const) {
    const error = await failureOf(work())
    if (!(error instanceof kind)) throw new Error(`${type}: ${error}`)
    expect([error.type, error.requestID]).toEqual([type, expect.stringMatching(/^[0-9a-v-]{20,}$/)])
  }
  const google = new GoogleGenAI({ apiKey: 'sk-wrong', httpOptions: { baseUrl: baseURL } })
  expect(JSON.parse(((await failureOf(google.models.list())) as Error).message).error).toMatchObject({
    code: 401,
    status: 'UNAUTHENTICATED',
  })
  const openai = await jsonOf(
    await fetch(`${baseURL}/v1/models`, { headers: { authorization: 'Bearer sk-wrong' } }),
  )
  expect(openai.error).toMatchObject({ type: 'invalid_request_error', code: 'invalid_api_key' })
})
