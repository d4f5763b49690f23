/** A server that takes x402 payments on a chain of our own, and the law that must hold after anything. */

import { expect } from 'bun:test'
import type { X402Options } from '../../src/payment/x402/offer.ts'
import { startTestServer, type TestServer } from '../server/harness.ts'
import { brokenLaws } from '../store/engines.ts'
import { accountOf, type TestChain, TOKEN } from './chain.ts'
import type { TestFacilitator } from './facilitator.ts'
import { payerV2 } from './payers.ts'

/** Tests of facilitators that do not answer wait for this once or twice; the others need it on a busy machine. */
const SETTLE_MS = 4_000

/** The token of the test chain, without its receiver. */
export const testOffer = {
  network: 'eip155:84532',
  v1Network: 'base-sepolia',
  asset: TOKEN,
  name: 'USDC',
  version: '2',
  nanoPerUnit: 1_000n,
}

/** Far from the payers' accounts, which a test may have thousands of. */
let receivers = 1_000_000

/** Each server has its own receiver, so that its income can be counted. */
export const optionsFor = (
  facilitator: TestFacilitator,
  chain: TestChain,
  more: Partial<X402Options> = {},
): X402Options => ({
  facilitatorUrl: facilitator.url,
  offers: [{ ...testOffer, payTo: accountOf(receivers++).address, rpcUrl: chain.url }],
  timeoutSeconds: 60,
  settleMs: SETTLE_MS,
  outputTokens: 100,
  ...more,
})

export type Rig = {
  readonly server: TestServer
  readonly options: X402Options
  /** A request as a caller without a key makes it. */
  request(path: string, body: object, headers?: Record<string, string>): Request
  quote(path: string, body: object, headers?: Record<string, string>): Promise<Response>
  /** The ledger took in what came in on the chain, and every law of the ledger holds. */
  check(): Promise<void>
  received(): Promise<bigint>
}

export const startRig = async (
  chain: TestChain,
  options: X402Options,
  setup: Parameters<typeof startTestServer>[0] = {},
): Promise<Rig> => {
  const server = await startTestServer({ fund: 0n, ...setup, x402: options })
  const payTo = options.offers[0]?.payTo as `0x${string}`
  const request: Rig['request'] = (path, body, headers = {}) =>
    new Request(`http://turnpike.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-payment-protocol': 'x402', ...headers },
      body: JSON.stringify(body),
    })
  const received = () => chain.unitsOf(payTo)
  return {
    server,
    options,
    request,
    received,
    quote: (path, body, headers) => server.fetch(request(path, body, headers)),
    check: async () => {
      expect(await server.store.ledger.balance('x402')).toBe(-(await received()) * 1_000n)
      expect(await brokenLaws(server.store)).toEqual([])
    },
  }
}

/** Signs a payment for a request with the official client, and holds it back; returns the request that carries it. */
export const signedRequest = async (
  rig: Rig,
  payer: Parameters<typeof payerV2>[0],
  request: Request,
  send: (request: Request) => Promise<Response> = rig.server.fetch,
  schemes: 'exact' | 'both' = 'exact',
): Promise<Request> => {
  let signed: Request | undefined
  const { pay } = payerV2(
    payer,
    async (sent) => {
      if (!sent.headers.has('payment-signature')) return send(sent)
      signed = sent
      return new Response('{}')
    },
    schemes,
  )
  await pay(request)
  if (signed === undefined) throw new Error('the client signed nothing')
  return signed
}

/** The same request once more. */
export const again = (request: Request): Request => request.clone() as Request
