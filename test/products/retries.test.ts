/** `retry_policy` is true: three attempts of a run with one Idempotency-Key are one charge, whatever the vendor does first. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { jsonOf } from '../server/harness.ts'
import { openShop, type Shop } from './shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.stop())

const cut = () =>
  new Response(
    new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('{"data":[{"b64_'))
        controller.error(new Error('connection reset'))
      },
    }),
    { headers: { 'content-type': 'application/json' } },
  )

/** What a vendor may do wrong before it answers, and whether the caller's attempt then ends without a charge. */
const faults: Readonly<Record<string, () => Response | Promise<Response>>> = {
  'refuses the connection': () => Promise.reject(new TypeError('connection refused')),
  'breaks off': cut,
  'answers 429': () => Response.json({ error: { message: 'slow down' } }, { status: 429 }),
  'answers 500': () => Response.json({ error: { message: 'oops' } }, { status: 500 }),
  'answers 503 with a time': () => new Response('', { status: 503, headers: { 'retry-after': '1' } }),
  'answers 401': () => Response.json({ error: { message: 'bad key' } }, { status: 401 }),
  'has no credits': () => Response.json({ error: { message: 'payment required' } }, { status: 402 }),
  'answers HTML': () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
  'answers nothing': () => new Response('', { headers: { 'content-type': 'application/json' } }),
}

const products = ['openai/gpt-4.1', 'openai/text-embedding-3-small', 'openai/gpt-image-2', 'deepgram/nova-3']

describe.each(products)('%s', (id) => {
  test.each(Object.entries(faults))('its vendor %s twice', async (_name, fault) => {
    const one = await jsonOf(await shop.get(`/products/${id}.json`))
    expect(one.retry_policy).toMatchObject({ idempotent: true, safe_to_retry: true, max_attempts: 3 })
    const { token } = await shop.newKey()
    const before = await shop.balance()
    const [, body = ''] = /-d '(.*)'$/s.exec(one.example_curl) ?? []
    const header = { [one.retry_policy.header]: crypto.randomUUID() }
    const attempt = () => shop.post('/v1/run', body, header, token)
    shop.fail(fault)
    const failed = [(await attempt()).status, (await attempt()).status]
    expect(failed.every((status) => status >= 429)).toBe(true)
    expect(await shop.balance()).toBe(before)
    shop.fail(undefined)
    const good = await attempt()
    expect([good.status, good.status === 200 ? '' : await good.text()]).toEqual([200, ''])
    const charged = before - (await shop.balance())
    expect(charged).toBeGreaterThan(0n)
    const [again, more] = [await attempt(), await attempt()]
    expect([await again.text(), await more.text()]).toEqual([await good.clone().text(), await good.text()])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(before - (await shop.balance())).toBe(charged)
  })
})
