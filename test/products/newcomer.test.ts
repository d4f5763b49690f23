/**
 * An agent that knows only `{base_url}/llms.txt` and how to fetch finds an image product, runs it on a trial wallet and
 * verifies the receipt. It follows only links that it has read.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createPublicKey, verify } from 'node:crypto'
import { modelOf } from '../../src/media/models.ts'
import { localFetch } from '../../src/transport/local.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { local, localModels } from '../../src/vendors/local/local.ts'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'

let server: AssetServer
beforeAll(async () => {
  const records = mediaHere.models.filter(({ shape }) => shape.flow === 'once')
  server = await startAssetServer({
    server: {
      models: [...localModels, ...records.map((record) => modelOf('local', record))],
      more: [
        { vendor: { ...local, media: mediaHere }, baseUrl: local.baseUrl, secrets: [], fetch: localFetch },
      ],
    },
  })
})
afterAll(() => server.stop())

/** Fetches only addresses in a text that was read before. */
const reader = (start: string) => {
  const read: string[] = [start]
  return async (url: string, init: RequestInit = {}): Promise<{ text: string; response: Response }> => {
    if (!read.some((text) => text.includes(url) || text.includes(JSON.stringify(url).slice(1, -1))))
      throw new Error(`nothing that was read names ${url}`)
    const response = await server.fetchFrom('203.0.113.9', new Request(url, init))
    const type = response.headers.get('content-type') ?? ''
    const text = /text|json/.test(type) ? await response.clone().text() : ''
    read.push(text)
    return { text, response }
  }
}

/** The link of a guide whose name fits. */
const link = (guide: string, name: RegExp): string => {
  const found = [...guide.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].find(([, label = '']) => name.test(label))
  if (found?.[2] === undefined) throw new Error(`the guide has no link for ${name}`)
  return found[2]
}

test('from the guide to a picture and its receipt', async () => {
  const start = 'http://turnpike.test/llms.txt'
  const get = reader(start)
  const guide = (await get(start)).text
  const list = JSON.parse((await get(link(guide, /products: image/i))).text)
  const [cheapest] = list.data
    .filter(({ capabilities }: any) => !capabilities.includes('image_input'))
    .toSorted((a: any, b: any) => a.pricing.max_usd - b.pricing.max_usd)
  const product = JSON.parse((await get(cheapest.product_json_url)).text)

  const trial = await get(link(guide, /trial/i), { method: 'POST' })
  expect(trial.response.status).toBe(201)
  const { api_key: key, credits } = JSON.parse(trial.text)
  expect(credits).toBeGreaterThan(0)
  const auth = { [product.auth.header]: `Bearer ${key}` }

  // Inputs made from the schema alone: the required ones, as their types say.
  const { required = [], properties } = product.input_schema
  const inputs = Object.fromEntries(
    required.map((name: string) => [name, properties[name].enum?.[0] ?? 'a lighthouse']),
  )
  const run = await get(product.endpoint, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
    body: JSON.stringify({ model: product.id, inputs }),
  })
  expect([run.response.status, run.response.status === 200 ? '' : run.text]).toEqual([200, ''])
  const [output] = JSON.parse(run.text).outputs
  const picture = (await get(output.url)).response
  expect(picture.headers.get('content-type')).toBe('image/png')
  expect((await picture.bytes()).length).toBe(output.bytes)

  const cost = Number(run.response.headers.get('x-cost-usd'))
  expect(cost).toBeGreaterThan(0)
  expect(cost).toBeLessThanOrEqual(product.pricing.max_usd)

  const receipt = run.response.headers.get('x-receipt') ?? ''
  const verdict = await get(link(guide, /verify a receipt/i), {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json' },
    body: JSON.stringify({ receipt }),
  })
  expect(JSON.parse(verdict.text).valid).toBe(true)

  const { data } = JSON.parse((await get(link(guide, /balance/i), { headers: auth })).text)
  expect(data.remaining_usd).toBeCloseTo(credits / 100 - cost, 9)

  // And by itself, with the public keys.
  const { keys } = JSON.parse((await get(link(guide, /public keys/i))).text)
  const [head = '', claims = '', signature = ''] = receipt.split('.')
  const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString())
  const jwk = keys.find((one: { kid: string }) => one.kid === kid)
  const good = verify(
    null,
    Buffer.from(`${head}.${claims}`),
    createPublicKey({ key: jwk, format: 'jwk' }),
    Buffer.from(signature, 'base64url'),
  )
  expect(good).toBe(true)
  expect(Number(JSON.parse(Buffer.from(claims, 'base64url').toString()).cost.amount)).toBe(cost)
})
