/** Requests without a key are counted by their network address, which nobody can choose by what they say. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readBlock } from '../../src/core/address.ts'
import { chat, jsonOf, startTestServer, type TestServer } from '../server/harness.ts'

const LIMIT = 3

let server: TestServer
beforeAll(async () => {
  const proxies = readBlock('10.1.0.0/16')
  server = await startTestServer({
    options: { guestRpm: LIMIT, trustedProxies: proxies === undefined ? [] : [proxies] },
    x402: {
      facilitatorUrl: 'http://127.0.0.1:9',
      offers: [
        {
          network: 'eip155:84532',
          v1Network: 'base-sepolia',
          asset: `0x${'a'.repeat(40)}`,
          name: 'USDC',
          version: '2',
          nanoPerUnit: 1_000n,
          payTo: `0x${'b'.repeat(40)}`,
        },
      ],
      timeoutSeconds: 60,
      settleMs: 100,
      outputTokens: 100,
    },
  })
})
afterAll(() => server.stop())

type From = (peer: string, forwardedFor?: string, body?: string) => Promise<Response>

const posting =
  (path: string, more: Record<string, string> = {}): From =>
  (peer, forwardedFor, body = JSON.stringify(chat())) =>
    server.fetchFrom(
      peer,
      new Request(`http://turnpike.test${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...more,
          ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
        },
        body,
      }),
    )

const quote = posting('/v1/chat/completions', { 'x-payment-protocol': 'x402' })

/** A message to the MCP server, by somebody without a key. */
const tools = (method: string, params: object = {}): From => {
  const post = posting('/mcp', {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-06-18',
  })
  return (peer, forwardedFor, body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })) =>
    post(peer, forwardedFor, body)
}

const reference: From = (peer, forwardedFor) =>
  server.fetchFrom(
    peer,
    new Request('http://turnpike.test/openapi.json', {
      headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
    }),
  )

/** A trial that was claimed before is a 429 as well, of another kind. */
const isLimited = async (response: Response): Promise<boolean> =>
  response.status === 429 && refusalIn(await jsonOf(response)).code === 'rate_limit_exceeded'

/** The refusal of a body, which at helper endpoints has no object of its own. */
const refusalIn = (body: any) => (typeof body.error === 'string' ? body : (body.error ?? {}))

/** Uses up an address's minute. */
const flood = async (from: From, peer: string, forwardedFor?: string): Promise<void> => {
  for (let times = 0; times < LIMIT; times++)
    expect(await isLimited(await from(peer, forwardedFor))).toBe(false)
}

const expectRefused = async (response: Response): Promise<void> => {
  expect(response.status).toBe(429)
  const error = refusalIn(await jsonOf(response))
  expect(error.code).toBe('rate_limit_exceeded')
  expect(error.retry_after).toBeGreaterThan(0)
  expect(error.retry_after).toBeLessThanOrEqual(60)
  expect(response.headers.get('retry-after')).toBe(String(error.retry_after))
  expect(response.headers.get('x-ratelimit-limit')).toBe(String(LIMIT))
}

const kinds: readonly [string, From][] = [
  ['quotes', quote],
  ['trials', posting('/api/try/anonymous-wallet')],
  ['lists of tools', tools('tools/list')],
  ['searches of tools', tools('tools/call', { name: 'search_products', arguments: {} })],
  ['the API reference', reference],
  ['claims of change', posting('/api/wallet/claim', { authorization: 'Bearer sk-nobody' })],
]

for (const [index, [name, from]] of kinds.entries())
  test(`${name}: an address that asks too often is told when to come back, and others are served`, async () => {
    const net = `198.51.${index}`
    await flood(from, `${net}.1`)
    await expectRefused(await from(`${net}.1`))
    expect(await isLimited(await from(`${net}.2`))).toBe(false)
    // An address that a stranger claims counts for nothing.
    for (const claimed of ['203.0.113.1', '10.1.0.1, 203.0.113.2', 'unknown'])
      await expectRefused(await from(`${net}.1`, claimed))
    // Behind a proxy of the operator's it is the address that the proxy saw, not the one it was told.
    await flood(from, '10.1.0.7', `${net}.9`)
    await expectRefused(await from('10.1.0.7', `203.0.113.77, ${net}.9`))
    expect(await isLimited(await from('10.1.0.7', `${net}.9, ${net}.10`))).toBe(false)
    // One customer has a whole /64.
    await flood(from, `2001:db8:${index}::1`)
    await expectRefused(await from(`2001:db8:${index}:0:ffff::2`))
    expect(await isLimited(await from(`2001:db8:${index}:1::1`))).toBe(false)
  })

test('each kind is counted by itself', async () => {
  await flood(quote, '198.51.100.50')
  for (const [name, from] of kinds.slice(1))
    expect([name, await isLimited(await from('198.51.100.50'))]).toEqual([name, false])
})

test('a request over the limit is refused before its body is read', async () => {
  await flood(quote, '198.51.100.60')
  await expectRefused(await quote('198.51.100.60', undefined, 'not even JSON'))
})

test('keys are not counted by address', async () => {
  const { token } = await server.newKey()
  const own = posting('/v1/chat/completions', {
    'x-payment-protocol': 'x402',
    authorization: `Bearer ${token}`,
  })
  for (let times = 0; times < 2 * LIMIT; times++) expect((await own('198.51.100.70')).status).toBe(402)
})

test('a call in the style of Vertex AI is counted as any other', async () => {
  const path = '/v1/publishers/google/models/mock-small:generateContent'
  const contents = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  const vertex = posting(path, { 'x-payment-protocol': 'x402' })
  for (let times = 0; times < LIMIT; times++)
    expect((await vertex('198.51.100.80', undefined, contents)).status).toBeLessThan(429)
  expect((await vertex('198.51.100.80', undefined, contents)).status).toBe(429)
})
