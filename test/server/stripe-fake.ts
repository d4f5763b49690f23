/** A fake of the few endpoints of Stripe that are used, on a port of this machine, for the official library to talk to. */
import { createHmac } from 'node:crypto'
import Stripe from 'stripe'
import { Secret } from '../../src/core/secret.ts'
import type { StripeSettings } from '../../src/payment/stripe.ts'

const WEBHOOK_SECRET = 'whsec_of_the_tests'

type Session = { readonly id: string; readonly form: URLSearchParams; readonly headers: Headers }

export type FakeStripe = {
  readonly settings: StripeSettings
  /** The sessions that were opened, in order. */
  readonly sessions: Session[]
  /** Metadata of payments, by their id. */
  readonly payments: Map<string, Record<string, string>>
  failWith(status: number | undefined): void
  stop(): Promise<void>
}

export const startFakeStripe = (): FakeStripe => {
  const sessions: Session[] = []
  const payments: FakeStripe['payments'] = new Map()
  let failure: number | undefined
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (failure !== undefined)
        return Response.json(
          { error: { type: 'card_error', code: 'card_declined', message: 'declined sk_test_key' } },
          { status: failure },
        )
      if (request.headers.get('authorization') !== 'Bearer sk_test_key')
        return Response.json({ error: { type: 'invalid_request_error' } }, { status: 401 })
      const payment = /^\/v1\/payment_intents\/(\w+)$/.exec(pathname)?.[1]
      if (payment !== undefined)
        return Response.json({
          id: payment,
          object: 'payment_intent',
          metadata: payments.get(payment) ?? {},
        })
      if (request.method !== 'POST' || pathname !== '/v1/checkout/sessions')
        return Response.json({ error: { type: 'invalid_request_error' } }, { status: 404 })
      const id = `cs_test_${sessions.length + 1}`
      sessions.push({ id, form: new URLSearchParams(await request.text()), headers: request.headers })
      return Response.json({ id, object: 'checkout.session', url: `https://checkout.invalid/${id}` })
    },
  })
  return {
    settings: {
      key: new Secret('sk_test_key'),
      webhookSecrets: [new Secret('whsec_of_next_month'), new Secret(WEBHOOK_SECRET)],
      baseUrl: `http://127.0.0.1:${server.port}`,
      returnUrl: undefined,
    },
    sessions,
    payments,
    failWith: (status) => {
      failure = status
    },
    stop: () => server.stop(true),
  }
}

let serial = 0

/** An event as Stripe writes it. */
export const eventOf = (type: string, object: object, more: object = {}): string =>
  JSON.stringify(
    {
      id: `evt_${++serial}`,
      object: 'event',
      api_version: Stripe.API_VERSION,
      created: 1_795_000_000,
      livemode: false,
      type,
      data: { object },
      ...more,
    },
    null,
    2,
  )

/** A session that was paid. */
export const paidSession = (checkout: string, payment: string, cents: number, more: object = {}) => ({
  id: `cs_${payment}`,
  object: 'checkout.session',
  mode: 'payment',
  status: 'complete',
  payment_status: 'paid',
  payment_intent: payment,
  amount_total: cents,
  currency: 'usd',
  client_reference_id: checkout,
  metadata: { turnpike_checkout: checkout },
  ...more,
})

export const refundOf = (payment: string, id: string, cents: number, status = 'succeeded') => ({
  id,
  object: 'refund',
  amount: cents,
  currency: 'usd',
  payment_intent: payment,
  status,
})

export const disputeOf = (payment: string, id: string, cents: number, status: string) => ({
  id,
  object: 'dispute',
  amount: cents,
  currency: 'usd',
  payment_intent: payment,
  status,
})

const signer = new Stripe('sk_test_key')

/** The header with which Stripe signs these bytes. */
export const signatureOf = async (
  payload: string,
  { secret = WEBHOOK_SECRET, ageSeconds = 0 }: { secret?: string; ageSeconds?: number } = {},
): Promise<string> => {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
  // The library cannot sign under an empty secret; somebody else's can.
  return secret === ''
    ? `t=${timestamp},v1=${createHmac('sha256', '').update(`${timestamp}.${payload}`).digest('hex')}`
    : signer.webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp })
}
