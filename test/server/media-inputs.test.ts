/** Inputs that name media: we read files of the caller and public addresses where the product needs the bytes. */

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { z } from 'zod'
import { changeRules } from '../../src/control/money/rules.ts'
import { inlinePicture, pictureBytes } from '../../src/media/inline-picture.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import { byTest } from '../by-test.ts'
import { until } from '../until.ts'
import { type AssetServer, png, startAssetServer, startWeb, type Web } from './asset-rig.ts'
import { jsonOf } from './harness.ts'

/** Takes pictures as bytes, and a recording that it may also fetch itself; priced by what the bytes are. */
const record: MediaModel = {
  name: 'look',
  category: 'utility',
  title: 'Look',
  description: 'Looks at pictures.',
  inputs: z.strictObject({
    image: inlinePicture.optional(),
    more: z.array(inlinePicture).max(3).optional(),
    film: z
      .string()
      .regex(/^(?:https:\/\/|data:)/)
      .meta({ 'x-media': 'video/*' })
      .optional(),
  }),
  example: {},
  shape: {
    flow: 'once',
    ask: (inputs) => ({ method: 'POST', path: '/look', body: { json: inputs } }),
    read: ({ status }) =>
      status === 200 ? { verdict: 'done', outputs: [{ type: 'text', text: 'seen' }], body: {} } : undefined,
  },
  card: {
    rows: [{ rates: { call: usd('0.001'), page: usd('0.0001') } }],
    most: {
      call: () => 1,
      page: ({ image }) => (typeof image === 'string' ? pictureBytes(image).bytes.length : 0),
    },
  },
  source: 'test, November 2026',
}

const PICTURE = png(7, 5)
const dataOf = (bytes: Uint8Array) => `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`

let server: AssetServer
let web: Web
let key: { id: string; token: string }
let fetched: string[] = []
const slow = Promise.withResolvers<void>()

beforeAll(async () => {
  web = startWeb((path) => {
    fetched.push(path)
    if (path === '/fox.png') return new Response(new Uint8Array(PICTURE))
    if (path === '/slow.png') return slow.promise.then(() => new Response(new Uint8Array(PICTURE)))
    if (path === '/page') return new Response('<html>')
    if (path === '/inwards')
      return new Response(null, { status: 302, headers: { location: 'https://inside.example.com/' } })
    return new Response('secret of the network', { status: 403 })
  })
  server = await startAssetServer({
    web,
    server: { models: [modelOf('mock', record)], vendor: { media: { models: [record] } } },
  })
})
beforeEach(async () => {
  fetched = []
  key = await server.newKey()
  server.answerWith(() => Response.json({}))
})
afterAll(async () => {
  await server.stop()
  web.stop()
})

const run = (inputs: unknown, headers: Record<string, string> = {}, token = key.token) =>
  server.post('/v1/run', { model: 'mock/look', inputs }, headers, token)
const upload = async (bytes: Uint8Array, token = key.token): Promise<string> => {
  const response = await server.fetch(
    new Request('http://turnpike.test/v1/files?filename=fox.png', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'image/png' },
      body: Uint8Array.from(bytes),
    }),
  )
  return (await jsonOf(response)).id
}

test('a file and a public address come to the vendor as bytes, priced by them, alone and in lists', async () => {
  const id = await upload(PICTURE)
  for (const image of [id, 'https://cdn.example.com/fox.png', dataOf(PICTURE)]) {
    const before = await server.balance()
    const response = await run({ image, more: [id, dataOf(PICTURE)] })
    expect([response.status, server.asked.at(-1)?.body]).toEqual([
      200,
      { image: dataOf(PICTURE), more: [dataOf(PICTURE), dataOf(PICTURE)] },
    ])
    expect(before - (await server.balance())).toBe(1_000_000n + BigInt(PICTURE.length) * 100_000n)
  }
  expect(fetched).toEqual(['/fox.png'])
})

test('an address that the product takes goes on as it is, and a file in its place inline', async () => {
  const film = 'https://cdn.example.com/film.mp4'
  expect((await run({ film })).status).toBe(200)
  expect([server.asked.at(-1)?.body, fetched]).toEqual([{ film }, []])
  const id = await upload(PICTURE)
  await run({ film: id })
  expect(server.asked.at(-1)?.body).toEqual({ film: dataOf(PICTURE) })
  for (const inside of [
    'https://10.0.0.7/film.mp4',
    'https://localhost/film.mp4',
    'https://[::ffff:127.0.0.1]/f',
  ]) {
    const { error } = await jsonOf(await run({ film: inside }))
    expect([inside, error.param]).toEqual([inside, 'inputs.film'])
  }
})

test('what may not be read, or is no picture, names its input and reveals nothing of what is there', async () => {
  const asked = server.asked.length
  const mine = await upload(PICTURE)
  const other = await server.newKey()
  const child = await server.newKey({}, { parentId: key.id })
  const theirs = await upload(PICTURE, other.token)
  const childs = await upload(PICTURE, child.token)
  const wrong = [
    theirs,
    `file-${'0'.repeat(32)}`,
    await upload(new TextEncoder().encode('<html>')),
    'https://cdn.example.com/page',
    'https://cdn.example.com/closed',
    'https://cdn.example.com/inwards',
    'https://inside.example.com/fox.png',
    'https://169.254.169.254/latest',
    'https://[::ffff:127.0.0.1]/',
    'https://2130706433/',
    'https://localhost/',
    'https://cdn.example.com:8443/fox.png',
    'http://cdn.example.com/fox.png',
    'file:///etc/passwd',
  ]
  for (const image of wrong) {
    const response = await run({ image })
    const { error } = await jsonOf(response)
    expect([image, response.status, error.code, error.param]).toEqual([
      image,
      400,
      'invalid_parameter',
      'inputs.image',
    ])
    expect(error.message).not.toContain('secret')
  }
  expect(server.asked.length).toBe(asked)
  expect((await run({ image: childs })).status).toBe(200)
  expect((await run({ image: mine }, {}, child.token)).status).toBe(400)
})

test('a repeat does not read again what it names', async () => {
  const headers = { 'idempotency-key': 'fox-7' }
  const inputs = { image: 'https://cdn.example.com/fox.png' }
  const first = await (await run(inputs, headers)).text()
  const again = await run(inputs, headers)
  expect([await again.text(), fetched]).toEqual([first, ['/fox.png']])
})

test('nothing is read for a caller without a key', async () => {
  const response = await server.post(
    '/v1/run',
    { model: 'mock/look', inputs: { image: 'https://cdn.example.com/fox.png' } },
    {},
    '',
  )
  expect([response.status >= 400, fetched]).toEqual([true, []])
})

test('an account that is suspended while its media are fetched calls nothing', async () => {
  const asked = server.asked.length
  const walletId = server.wallet
  const answer = run({ image: 'https://cdn.example.com/slow.png' })
  await until(() => fetched.length === 1)
  await changeRules(server.gateway, { walletId, change: { suspended: 'abuse' }, by: byTest })
  slow.resolve()
  const { error } = await jsonOf(await answer)
  expect([error.code, server.asked.length]).toEqual(['account_suspended', asked])
  await changeRules(server.gateway, { walletId, change: { suspended: null }, by: byTest })
})
