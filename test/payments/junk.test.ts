/**
 * Payers without a key who send one junk payment after the other: what that costs at Stripe, at the facilitator, on the chain and in
 * the ledger ends with the rate of their address, and they are told when to come back.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chat, jsonOf, startTestServer, type TestServer } from '../server/harness.ts'
import { askFor, cardOptions, newToken, startCards } from './card-rig.ts'
import { credentialIn, signedBy, stripeOf, withCredential } from './mpp-payer.ts'
import { encoded } from './payers.ts'

const LIMIT = 5
/** How many more come than may. */
const FLOOD = 40
const PATH = '/v1/chat/completions'
const CHANNELS = { withdrawSeconds: 86_400, claimSum: 1_000_000n, claimSeconds: 900 }

describe('junk payments', () => {
  const stripe = startCards()
  let server: TestServer
  /** What reached the facilitator, or the node of the chain. */
  let reached = 0
  const outside = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      const { pathname } = new URL(url)
      if (pathname === '/supported') return Response.json({ kinds: KINDS })
      reached++
      if (pathname === '/verify') return Response.json({ isValid: false, invalidReason: 'invalid_signature' })
      return Response.json({ jsonrpc: '2.0', id: 1, result: '0x' })
    },
  })
  /** How often the ledger was asked for payments and channels. */
  let asked = 0
  let address = 1

  beforeAll(async () => {
    const url = `http://127.0.0.1:${outside.port}`
    const offers = cardOptions.offers.map((offer) => ({ ...offer, rpcUrl: url }))
    server = await startTestServer({
      fund: 0n,
      options: { guestRpm: LIMIT },
      stripe: stripe.settings,
      x402: {
        ...cardOptions,
        offers,
        facilitatorUrl: url,
        upto: { most: 1_000_000_000n },
        channels: CHANNELS,
      },
    })
    await server.x402?.round()
    for (const part of [server.store.payments, server.store.channels, server.store.idempotency])
      for (const [name, method] of Object.entries(part))
        Object.assign(part, {
          [name]: (...args: unknown[]) => {
            asked++
            return (method as (...all: unknown[]) => unknown)(...args)
          },
        })
  })
  afterAll(async () => {
    await server.stop()
    await stripe.stop()
    await outside.stop(true)
  })

  const from = (peer: string) => (request: Request) => server.fetchFrom(peer, request)
  const hex = (at: number, digits: number) => at.toString(16).padStart(digits, '0')

  /** A credential that answers a good challenge with a token that Stripe refuses, each time another. */
  const tokens = async (peer: string) => {
    const good = await signedBy(stripeOf(newToken), from(peer), askFor(chat()))
    const { challenge } = credentialIn(good)
    return (at: number) => withCredential(good, { challenge, payload: { spt: `spt_gone${at}` } })
  }
  /** Offers of a good quote, by their scheme. */
  const offered = async (peer: string, scheme: string) => {
    const due = await from(peer)(askFor(chat()))
    const { accepts } = JSON.parse(
      Buffer.from(due.headers.get('payment-required') ?? '', 'base64').toString(),
    )
    return accepts.find((one: { scheme: string }) => one.scheme === scheme)
  }
  const authorizationOf = ({ payTo, amount }: { payTo: string; amount: string }, at: number) => ({
    from: `0x${hex(at, 40)}`,
    to: payTo,
    value: amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + 60),
    nonce: `0x${hex(at, 64)}`,
  })
  const signature = `0x${'ab'.repeat(65)}`
  const exact = async (peer: string) => {
    const accepted = await offered(peer, 'exact')
    return (at: number) => {
      const payload = { signature, authorization: authorizationOf(accepted, at) }
      return askFor(chat(), PATH, { 'payment-signature': encoded({ x402Version: 2, accepted, payload }) })
    }
  }
  const version1 = async (peer: string) => {
    const accepted = await offered(peer, 'exact')
    return (at: number) => {
      const payload = { signature, authorization: authorizationOf(accepted, at) }
      const payment = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload }
      return askFor(chat(), PATH, { 'x-payment': encoded(payment) })
    }
  }
  const made = () => stripe.asked() + reached + asked

  const kinds: readonly [string, (peer: string) => Promise<(at: number) => Request>][] = [
    ['tokens of Stripe', tokens],
    ['authorizations of version 2', exact],
    ['authorizations of version 1', version1],
    [
      'credentials that are none',
      async () => (at) => askFor(chat(), PATH, { authorization: `Payment ${encoded({ at })}` }),
    ],
    [
      'headers that are none',
      async () => (at) => askFor(chat(), PATH, { 'payment-signature': encoded({ at }) }),
    ],
  ]
  for (const [name, junk] of kinds)
    test(`${name}: a flood from an address costs what its rate allows, and others pay`, async () => {
      const peer = `198.51.100.${address++}`
      const next = await junk(peer)
      const statuses: number[] = []
      const before = made()
      for (let at = 1; at <= LIMIT; at++) statuses.push((await from(peer)(next(at))).status)
      const within = made() - before
      expect(statuses.filter((status) => status !== 400 && status !== 402)).toEqual([])
      // One after the other and together.
      const flood = Array.from({ length: FLOOD }, (_, at) => from(peer)(next(LIMIT + 1 + at)))
      for (const answer of await Promise.all(flood)) {
        const { error } = await jsonOf(answer)
        expect([answer.status, error.code]).toEqual([429, 'rate_limit_exceeded'])
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(answer.headers.get('www-authenticate')).toBeNull()
      }
      expect(made() - before).toBe(within)
      const other = await signedBy(stripeOf(newToken), from(`203.0.113.${address}`), askFor(chat()))
      expect((await from(`203.0.113.${address}`)(other)).status).toBe(200)
    })

  test('by MCP the same holds', async () => {
    const peer = '198.51.100.99'
    const call = (at: number) =>
      new Request('http://turnpike.test/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-06-18',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: at,
          method: 'tools/call',
          params: {
            name: 'run_product',
            arguments: { product: 'mock/small', inputs: { messages: [{ role: 'user', content: 'hi' }] } },
            _meta: { 'org.paymentauth/credential': { challenge: { id: `c${at}` }, payload: {} } },
          },
        }),
      })
    for (let at = 1; at <= LIMIT; at++) await from(peer)(call(at))
    const before = made()
    const flood = await Promise.all(Array.from({ length: FLOOD }, (_, at) => from(peer)(call(at))))
    for (const answer of flood) expect(await answer.text()).toContain('rate_limit_exceeded')
    expect(made()).toBe(before)
  })
})

const KINDS = ['exact', 'upto', 'batch-settlement'].map((scheme) => ({
  x402Version: 2,
  scheme,
  network: 'eip155:84532',
  extra: { facilitatorAddress: `0x${'c'.repeat(40)}` },
}))
