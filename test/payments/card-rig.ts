/** A server whose callers without a key pay by card, at a scripted Stripe; no chain is needed. */
import { expect } from 'bun:test'
import type { X402Options } from '../../src/payment/x402/offer.ts'
import type { TestServer } from '../server/harness.ts'
import { type FakeStripe, startFakeStripe } from '../server/stripe-fake.ts'
import { brokenLaws } from '../store/engines.ts'
import { signedBy, stripeOf } from './mpp-payer.ts'
import { testOffer } from './rig.ts'

export const PROFILE = 'profile_test'

/** Nobody answers at its facilitator: whoever pays by card does not need one. */
export const cardOptions: X402Options = {
  facilitatorUrl: 'http://127.0.0.1:9',
  offers: [{ ...testOffer, payTo: `0x${'11'.repeat(20)}` }],
  timeoutSeconds: 60,
  settleMs: 4_000,
  outputTokens: 100,
}

/** A Stripe at which the profile takes cards. */
export const startCards = (): FakeStripe => {
  const stripe = startFakeStripe()
  return { ...stripe, settings: { ...stripe.settings, networkId: PROFILE, paymentMethodTypes: ['card'] } }
}

let serial = 0
export const newToken = (): string => `spt_${++serial}`

export const askFor = (body: object, path = '/v1/chat/completions', headers: Record<string, string> = {}) =>
  new Request(`http://turnpike.test${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

/** A request that carries a credential, held back. */
export const signedByCard = (server: Pick<TestServer, 'fetch'>, request: Request, token = newToken()) =>
  signedBy(
    stripeOf(() => token),
    (one) => server.fetch(one),
    request,
  )

/** The ledger took in what Stripe charged; returns that. */
export const checkCash = async (
  { store }: Pick<TestServer, 'store'>,
  { charges }: FakeStripe,
): Promise<bigint> => {
  const taken = charges.reduce((sum, { form }) => sum + BigInt(form.amount ?? '0') * 10_000_000n, 0n)
  expect(await store.ledger.balance('cash')).toBe(-taken)
  return taken
}

/** The same where nobody pays otherwise, and every law of the ledger holds. */
export const checkCards = async (server: Pick<TestServer, 'store'>, stripe: FakeStripe): Promise<void> => {
  await checkCash(server, stripe)
  expect(await server.store.ledger.balance('x402')).toBe(0n)
  expect(await brokenLaws(server.store)).toEqual([])
}
