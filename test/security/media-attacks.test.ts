/**
 * Attacks on products that are not chat, tried on every record: inputs that cost or call back, addresses inside a network at
 * any depth, texts that would change the vendor's path; and uploads that are large.
 */
import { describe, expect, test } from 'bun:test'
import { bodyOf, isObject, type Json, type JsonObject } from '../../src/core/json-body.ts'
import type { Product } from '../../src/core/model.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { checkReach } from '../../src/dialects/request/media-reach.ts'
import { mediaCall } from '../../src/http/calls/media-calls.ts'
import { readInputs } from '../../src/media/inputs.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { leastGrowth } from '../memory-growth.ts'
import { ASSET_SETTINGS, startAssetServer } from '../server/asset-rig.ts'
import { jsonOf } from '../server/harness.ts'
import { sold, unpriced } from '../vendor-media.ts'

const local = mediaHere.models.map((one) => [`local/${one.name}`, one] as const)
const waiting = [...unpriced].map(([id, { most, ...record }]): [string, MediaModel] => [
  id,
  { ...record, card: { rows: [{ rates: {} }], most } },
])
const records: readonly (readonly [string, MediaModel])[] = [...sold, ...waiting, ...local]

const productOf = (record: MediaModel): Product => {
  const { product } = modelOf('x', record)
  if (product === undefined) throw new Error('no product')
  return product
}

/** Whether a call with these inputs would reach the vendor unchanged. */
const goesOn = (record: MediaModel, inputs: JsonObject): boolean => {
  const product = productOf(record)
  const call = mediaCall('x', bodyOf({ inputs }), { product, inputs, results: 'run' })
  if (call instanceof Refusal || call.media?.unread !== undefined) return false
  return checkReach(call) === undefined
}

const COSTLY = [
  'num_images',
  'n_images',
  'webhook_url',
  'webhook',
  'callback',
  'callback_url',
  'callBackUrl',
  'enable_safety_checker',
  'model',
  'stream',
  '__proto__x',
]

test.each(records)('%s: inputs that it does not name are refused by name', (_id, record) => {
  for (const name of COSTLY.filter((one) => !(one in record.inputs.shape))) {
    const refusal = readInputs(record, { ...record.example, [name]: 9 })
    expect(refusal instanceof Refusal && refusal.members.param).toBe(`inputs.${name}`)
  }
})

const INSIDE = [
  'http://169.254.169.254/latest/meta-data/',
  'https://[::ffff:127.0.0.1]/a.png',
  'https://2130706433/a.png',
  'https://0x7f.1/a.png',
  'https://localhost/a.png',
  'https://metadata.google.internal/a.png',
  'https://user:pass@example.com/a.png',
  'file:///etc/passwd',
]

/** The value with every web address in it replaced, at any depth. */
const exchanged = (value: Json | undefined, by: string): Json => {
  if (Array.isArray(value)) return value.map((one) => exchanged(one, by))
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, exchanged(one, by)]))
  return typeof value === 'string' && value.startsWith('https://') ? by : (value ?? null)
}

const PUBLIC = 'https://cdn.example.com/a.png'

/** The example, and the example with each of its inputs that take media named by an address. */
const withAddresses = (record: MediaModel): readonly JsonObject[] => [
  record.example,
  ...productOf(record).media.map(
    ({ name, list }): JsonObject => ({ ...record.example, [name]: list ? [PUBLIC] : PUBLIC }),
  ),
]

describe('addresses inside a network', () => {
  test.each(records)('%s: go to no vendor, however deep they stand', (id, record) => {
    for (const inputs of withAddresses(record)) {
      const text = JSON.stringify(inputs)
      // Nobody fetches what is only drawn.
      if (!text.includes('"https://') || id === 'local/qr-1') continue
      for (const inside of INSIDE) {
        const asked = exchanged(inputs, inside) as JsonObject
        expect([inside, goesOn(record, asked)]).toEqual([inside, false])
      }
    }
  })

  test('are looked for where there are some', () => {
    const named = records.filter(([, record]) =>
      withAddresses(record).some((one) => JSON.stringify(one).includes('"https://')),
    )
    expect(named.length).toBeGreaterThan(15)
    const [, shotstack] = records.find(([id]) => id === 'shotstack/render') ?? []
    expect(shotstack !== undefined && goesOn(shotstack, shotstack.example)).toBe(true)
  })
})

const CLIMBS = ['../../x', 'a/../../b', '..%2f..%2fb', 'a?key=1', 'a#b', 'a\0b', '..', '\\..\\']

const pathOf = (record: MediaModel, inputs: JsonObject): string =>
  record.shape.ask(inputs, record.upstreamName ?? record.name, { id: 'run_1' }).path

test.each(records)('%s: no input changes the path beyond its own segment', (_id, record) => {
  const usual = readInputs(record, record.example)
  if (usual instanceof Refusal) throw new Error(usual.message)
  const segments = pathOf(record, usual).split('/').length
  for (const name of Object.keys(record.inputs.shape))
    for (const climb of CLIMBS) {
      const inputs = readInputs(record, { ...record.example, [name]: climb })
      if (inputs instanceof Refusal) continue
      const path = pathOf(record, inputs)
      expect([name, climb, path.split('/').length]).toEqual([name, climb, segments])
      for (const segment of path.split('/'))
        expect(['.', '..', '%2e%2e']).not.toContain(segment.toLowerCase())
      // Except for what its own shape adds, no text of a caller begins a query.
      if (!pathOf(record, usual).includes('?')) expect(path).not.toMatch(/[?#\0\\]/)
    }
})

test('a file of 180 MB is taken and given in constant memory', async () => {
  const settings = {
    ...ASSET_SETTINGS,
    uploads: { lifeMs: 3_600_000, bytesMax: 200_000_000, keyBytesMax: 1_000_000_000 },
  }
  const server = await startAssetServer({ change: { settings } })
  const { token } = await server.newKey()
  const piece = Buffer.alloc(256 * 1024, 'fox ')
  const pieces = 686
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'video/mp4' }
  const limit = 120 * 1024 ** 2
  const growth = await leastGrowth(limit, async () => {
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (sent++ < pieces) controller.enqueue(piece)
        else controller.close()
      },
    })
    const request = new Request('http://turnpike.test/v1/files', { method: 'POST', headers, body })
    const file = await jsonOf(await server.fetch(request))
    expect(file.bytes).toBe(piece.length * pieces)
    let read = 0
    const content = await server.get(`/v1/files/${file.id}/content`, token)
    for await (const part of content.body ?? []) read += part.length
    expect(read).toBe(file.bytes)
  })
  expect(growth).toBeLessThan(limit)
  await server.stop()
})
