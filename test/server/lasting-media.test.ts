/**
 * A product that costs by the second is charged by the length of the stored result, where the vendor gives none, and
 * never more than was held.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { z } from 'zod'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import type { Output, Shape, Verdict } from '../../src/media/shape.ts'
import { wav, webm } from '../local-media/files.ts'
import { ASSET_SETTINGS, type AssetServer, IN_FILES, mp4Head, startAssetServer } from './asset-rig.ts'
import { jsonOf } from './harness.ts'

const inputs = z.strictObject({
  prompt: z.string(),
  seconds: z.int().min(1).max(60),
  told: z.int().default(0),
})
let made: { readonly type: 'video' | 'audio'; readonly bytes: Uint8Array }[] = []

const done = (length: number, unit: 'video_ms' | 'audio_ms'): Verdict => ({
  verdict: 'done',
  outputs: made.map((from): Output => ({ type: from.type, from: { bytes: from.bytes } })),
  body: {},
  ...(length === 0 ? {} : { measured: { [unit]: length } }),
})

const record = (name: string, unit: 'video_ms' | 'audio_ms', shape: Shape): MediaModel => ({
  name,
  category: unit === 'video_ms' ? 'video' : 'music',
  title: name,
  description: 'Lasts.',
  inputs,
  example: { prompt: 'a fox', seconds: 5 },
  shape,
  card: {
    rows: [{ rates: { [unit]: usd('0.01', 1_000) } }],
    most: { [unit]: ({ seconds }: { readonly seconds?: unknown }) => Number(seconds) * 1_000 },
  },
  source: 'test, November 2026',
})

let length = 0
const records = [
  record('film', 'video_ms', {
    flow: 'job',
    ask: (given) => {
      length = Number(given.told)
      return { method: 'POST', path: '/jobs' }
    },
    readRef: () => ({ ref: { id: 'j' } }),
    poll: () => ({ method: 'GET', path: '/jobs/j' }),
    readPoll: () => done(length, 'video_ms'),
    onCancel: 'free',
    everyMs: 10,
    deadlineMs: 600_000,
  }),
  record('song', 'audio_ms', {
    flow: 'once',
    ask: () => ({ method: 'POST', path: '/song' }),
    read: (_answer, { told: counted }) => done(Number(counted), 'audio_ms'),
  }),
]

let server: AssetServer
let inFiles: AssetServer
beforeAll(async () => {
  const more = { models: records.map((one) => modelOf('mock', one)), vendor: { media: { models: records } } }
  server = await startAssetServer({ server: more, change: { settings: ASSET_SETTINGS } })
  inFiles = await startAssetServer({ server: more, change: { settings: IN_FILES } })
  for (const one of [server, inFiles]) one.answerWith(() => Response.json({}))
})
afterAll(async () => {
  await server.stop()
  await inFiles.stop()
})

const costOf = async (one: AssetServer, model: string, seconds: number, counted: number): Promise<number> => {
  const { token } = await one.newKey()
  const body = { model, inputs: { prompt: 'a fox', seconds, told: counted } }
  const response = await one.post('/v1/run', body, {}, token)
  const answer = await jsonOf(response)
  expect([response.status, answer.outputs?.length]).toEqual([200, made.length])
  return Number(response.headers.get('x-cost-usd'))
}

const film = (bytes: Uint8Array) => ({ type: 'video' as const, bytes })
const sound = (bytes: Uint8Array) => ({ type: 'audio' as const, bytes })

test.each<[string, string, () => Promise<typeof made>, number, number, number]>([
  ['a film that is shorter than asked', 'film', async () => [film(await webm(3))], 5, 0, 0.03],
  ['a film that is longer', 'film', async () => [film(await webm(8))], 5, 0, 0.05],
  ['two films', 'film', async () => [film(await webm(1)), film(await webm(2))], 5, 0, 0.03],
  ['a film that cannot be read', 'film', async () => [film(mp4Head)], 5, 0, 0.05],
  [
    'two films of which one cannot be read',
    'film',
    async () => [film(await webm(1)), film(mp4Head)],
    5,
    0,
    0.05,
  ],
  ['a film whose vendor tells its length', 'film', async () => [film(await webm(3))], 5, 4_000, 0.04],
  ['a sound', 'song', async () => [sound(wav(2))], 5, 0, 0.02],
  ['a sound that claims more', 'song', async () => [sound(wav(2, 60))], 5, 0, 0.02],
  ['a sound whose vendor tells its length', 'song', async () => [sound(wav(2))], 5, 1_000, 0.01],
])('%s', async (_what, model, results, seconds, counted, cost) => {
  made = await results()
  for (const one of [server, inFiles]) expect(await costOf(one, `mock/${model}`, seconds, counted)).toBe(cost)
})
