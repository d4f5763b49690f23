/**
 * Each method of each official client is answered here, or refused by name with what to use instead; none finds no address.
 * A release of a client that has another method fails until the server or the table says what it is.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'
import { type ClientMethod, clientMethods, methodsPage, type Outcome } from './client-methods.ts'

const page = `${import.meta.dir}/../../docs/methods.md`
let server: AssetServer
let token: string
let all: readonly ClientMethod[]

beforeAll(async () => {
  server = await startAssetServer({ server: { options: { responsesKeptMs: 3_600_000 } } })
  token = (await server.newKey()).token
  all = await clientMethods()
})
afterAll(() => server.stop())

/** Methods that send nothing, and why. */
const LOCAL: readonly (readonly [RegExp, string])[] = [
  [/webhooks?\.(?:unwrap|verifySignature|parseUnverified)$/, 'reads what a vendor sent, without a request'],
  [
    /(?:runTools|chats\.create|messages\.thread|toolRunner|artifacts\.forResult)$/,
    'made of other methods of the client',
  ],
  [/environments\.(?:files\.|work\.)/, 'part of machines at the vendor, which are refused'],
  [
    /^models\.(?:generateImages|editImage|upscaleImage|recontextImage|segmentImage|computeTokens|generateVideos)$/,
    'for Gemini Enterprise alone; there it is sent to an address that is answered',
  ],
  [/^live\.|^live$/, 'a WebSocket to an address that is not offered; turns of text go over /v1/responses'],
  [/^files\.(?:registerFiles|download)$/, 'needs an account of Google'],
  [/^tunings\.|^fileSearchStores\./, 'part of what is refused: training, and stores that are searched'],
  [/^(?:v2\.parse|batches|embedJobs|datasets|connectors|finetuning)\b/, 'refused with all of its resource'],
  [/^ollama\.abort$/, 'sends nothing'],
  [/^ollama\.(?:webSearch|webFetch)$/, 'is sent to ollama.com, wherever the client points'],
  [/organization\./, "the administration of a vendor's account, which is refused"],
]

/** What a 404 may say: that there is no such thing, not that there is no such address. */
const NO_SUCH = /There is no (?:batch|conversation|file|film|interaction|response|upload) of this id/

/** The member in which the client reads a list. */
const listIn = ({ client, name }: ClientMethod): string => {
  if (client === '@google/genai') return name === 'batches.list' ? 'operations' : (name.split('.')[0] ?? '')
  return client === 'cohere-ai' || client === 'ollama' ? 'models' : 'data'
}

/** Throws if what a method is answered is none of its own: of another address, or in a form that its client does not read. */
const checkAnswered = (method: ClientMethod, status: number, text: string): void => {
  const { name, sent } = method
  const where = `${name}: ${sent?.method} ${sent?.path}: ${status} ${text.slice(0, 150)}`
  const isSo = (said: boolean) => expect([said, where]).toEqual([true, where])
  isSo(status < 500)
  if (status === 404) isSo(NO_SUCH.test(text))
  // What is read below a model's name is no model.
  if (sent?.method === 'GET' && text.includes('model_not_found')) isSo(/^(?:beta\.)?models\./.test(name))
  if (status === 200 && /\.(?:list|ps)$/.test(name)) isSo(Array.isArray(JSON.parse(text)[listIn(method)]))
}

const outcomeOf = async (method: ClientMethod): Promise<Outcome> => {
  const { name, sent } = method
  if (sent === undefined) {
    const why = LOCAL.find(([names]) => names.test(name))?.[1]
    expect([name, typeof why]).toEqual([name, 'string'])
    return { here: 'local', how: why ?? '' }
  }
  const google = sent.headers['x-goog-api-key'] !== undefined
  const headers: Record<string, string> = google
    ? { 'x-goog-api-key': token }
    : { authorization: `Bearer ${token}` }
  const sdk = sent.headers['x-fern-sdk-name']
  if (sdk !== undefined) headers['x-fern-sdk-name'] = sdk
  const version = sent.headers['anthropic-version']
  if (version !== undefined) {
    delete headers.authorization
    Object.assign(headers, { 'x-api-key': token, 'anthropic-version': version })
  }
  const body = sent.method === 'GET' || sent.method === 'DELETE' ? {} : { body: '{}' }
  if (body.body !== undefined) headers['content-type'] = 'application/json'
  const response = await server.fetch(
    new Request(`http://x${sent.path}`, { method: sent.method, headers, ...body }),
  )
  const text = await response.text()
  const where = `${name}: ${sent.method} ${sent.path}: ${text.slice(0, 150)}`
  expect([response.status, where]).not.toEqual([405, where])
  expect([text.includes('There is nothing at this address'), where]).toEqual([false, where])
  expect([response.status, where]).not.toEqual([401, where])
  // It uploads first, and what comes then is refused.
  if (name.startsWith('vectorStores.') && !text.includes('not_offered'))
    return { here: 'refused', how: 'after the upload, as all of the resource' }
  if (!text.includes('not_offered')) {
    checkAnswered(method, response.status, text)
    return { here: 'works', how: '' }
  }
  const read = JSON.parse(text)
  // Cohere's errors and Ollama's are no object inside another.
  const error = typeof read.error === 'object' ? read.error : { message: read.error, ...read }
  expect([response.status, error.code === 400 ? error.details[0].reason : error.code]).toEqual([
    400,
    'not_offered',
  ])
  expect(error.message).toContain(sent.path.slice(0, 80))
  return {
    here: 'refused',
    how: error.message.replace(/^.* is not offered here: |^.* are not offered here: /, '').replace(/\.$/, ''),
  }
}

test('every method is answered, or refused by name', async () => {
  const outcomes: Outcome[] = []
  for (const method of all) outcomes.push(await outcomeOf(method))
  const found = methodsPage(all, outcomes)
  if (process.env.WRITE_COMPATIBILITY === 'yes') await Bun.write(page, found)
  expect(await Bun.file(page).text()).toBe(found)
})

test('all five clients are there with their resources', () => {
  const names = new Set(all.map(({ client, name }) => `${client} ${name}`))
  for (const one of [
    'openai chat.completions.create',
    'openai vectorStores.fileBatches.create',
    '@anthropic-ai/sdk messages.create',
    '@anthropic-ai/sdk beta.files.upload',
    '@google/genai interactions.create',
    '@google/genai caches.create',
    'cohere-ai v2.chat',
    'ollama ollama.chat',
  ])
    expect([one, names.has(one)]).toEqual([one, true])
  expect(all.length).toBeGreaterThan(800)
})
