/** OpenAI's own client with films: each is a run of ours, made by the record of another vendor and a scripted wire. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import { modelOf } from '../../src/media/models.ts'
import { type AssetServer, mp4Head, png, startAssetServer } from '../server/asset-rig.ts'
import { mockSetup } from '../server/harness.ts'
import { until } from '../until.ts'
import { recordOf } from '../vendor-media.ts'

const id = 'google/gemini-omni-1.1-flash'
const record = recordOf(id)
if (!('card' in record)) throw new Error(`${id} has no price`)

let it: AssetServer
let client: OpenAI
let stranger: OpenAI
let stop: () => Promise<void>
let asked: string[] = []
let end: object | undefined

const answer = async (_url: string, init: RequestInit): Promise<Response> => {
  if (init.method === 'POST') asked.push(await new Response(init.body ?? '').text())
  return Response.json(end ?? { id: 'v1_abc', status: 'in_progress' })
}

beforeAll(async () => {
  it = await startAssetServer({
    server: {
      models: [modelOf('google', record)],
      more: [mockSetup({ id: 'google', media: { models: [record] } }, answer)],
    },
  })
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: it.fetch })
  const open = async () =>
    new OpenAI({
      apiKey: (await it.newKey()).token,
      baseURL: `http://127.0.0.1:${bound.port}/v1`,
      maxRetries: 0,
    })
  client = await open()
  stranger = await open()
  stop = async () => {
    await bound.stop(true)
    await it.stop()
  }
})
afterAll(() => stop())

const begin = async (more: object = {}) => {
  asked = []
  end = undefined
  return client.videos.create({ model: id, prompt: 'a marble', seconds: '6' as never, ...more })
}

/** Lets the vendor end as it is told, and waits for the film. */
const ended = async (film: string, as: object) => {
  end = { id: 'v1_abc', ...as }
  await until(async () => /^(?:completed|failed)$/.test((await client.videos.retrieve(film)).status))
  return client.videos.retrieve(film)
}

const made = {
  status: 'completed',
  steps: [
    {
      type: 'model_output',
      content: [{ type: 'video', mime_type: 'video/mp4', data: mp4Head.toString('base64') }],
    },
  ],
  usage: {
    total_input_tokens: 11,
    total_output_tokens: 34_752,
    output_tokens_by_modality: [{ modality: 'video', tokens: 34_752 }],
  },
}

const statusOf = (call: PromiseLike<unknown>) =>
  call.then(
    () => 200,
    ({ status }) => status,
  )

test('a film is begun, read until it is made, downloaded, listed and ended, and charged once', async () => {
  const before = await it.balance()
  const film = await begin({ size: '1280x720' })
  expect(film).toMatchObject({ object: 'video', model: id, completed_at: null, error: null })
  expect(['queued', 'in_progress']).toContain(film.status)
  expect(JSON.parse(asked[0] ?? '')).toMatchObject({
    response_format: { duration: '6s', aspect_ratio: '16:9' },
  })
  expect(await statusOf(client.videos.downloadContent(film.id))).toBe(404)
  expect(await statusOf(stranger.videos.retrieve(film.id))).toBe(404)
  expect(await it.balance()).toBe(before)
  const done = await ended(film.id, made)
  expect(done).toMatchObject({ status: 'completed', progress: 100, seconds: '6', error: null })
  // 11 tokens in at 1.5 USD a million, 6 s of film, of which no more than is held.
  const cost = 11n * 1_500n + 6_000n * 101_360n
  expect(before - (await it.balance())).toBe(cost)
  const bytes = Buffer.from(await (await client.videos.downloadContent(film.id)).arrayBuffer())
  expect(bytes).toEqual(mp4Head)
  expect(await statusOf(client.videos.downloadContent(film.id, { variant: 'thumbnail' }))).toBe(400)
  const other = await begin()
  const listed = []
  for await (const one of client.videos.list({ limit: 1 })) listed.push(one.id)
  expect(listed).toEqual([other.id, film.id])
  await ended(other.id, { status: 'failed', errors: [{ code: 13, message: 'internal' }] })
  expect(await client.videos.delete(film.id)).toEqual({ id: film.id, object: 'video.deleted', deleted: true })
  expect(await statusOf(client.videos.downloadContent(film.id))).toBe(404)
  expect(before - (await it.balance())).toBe(cost)
})

test('what fails is free, and the film says why', async () => {
  const before = await it.balance()
  const film = await begin()
  const failed = await ended(film.id, { status: 'failed', errors: [{ code: 13, message: 'internal' }] })
  expect(failed.error?.message).toContain('Nothing was charged')
  expect(await it.balance()).toBe(before)
})

test('what no film is made of is refused by its name, before any vendor is asked', async () => {
  const picture = await toFile(png(8, 6), 'start.png', { type: 'image/png' })
  for (const [more, param] of [
    [{ seconds: '700' }, 'seconds'],
    [{ size: 'large' }, 'size'],
    [{ input_reference: picture }, 'input_reference'],
    [{ model: 'openai/sora-9' }, 'model'],
  ] as const) {
    const thrown = await begin(more).catch((error) => error)
    expect([thrown.status, thrown.param, asked.length]).toEqual([400, param, 0])
  }
  const film = await begin()
  const remix = await client.videos.remix(film.id, { prompt: 'x' }).catch((error) => error)
  expect([remix.status, remix.code]).toEqual([400, 'not_offered'])
  expect(remix.message).toContain('POST /v1/videos makes a film')
  await ended(film.id, { status: 'failed', errors: [{ code: 13, message: 'internal' }] })
})
