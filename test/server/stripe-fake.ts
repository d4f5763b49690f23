/** A fake of the few endpoints of Stripe that we use, on a port of this machine, for the official library. */
import { createHmac } from 'node:crypto'
import Stripe from 'stripe'
import { Secret } from '../../src/core/secret.ts'
import type { StripeSettings } from '../../src/payment/stripe-parts.ts'

export const WEBHOOK_SECRET = 'whsec_of_the_tests'

type Session = { readonly id: string; readonly form: URLSearchParams; readonly headers: Headers }

export type Charge = { readonly id: string; readonly key: string; readonly form: Record<string, string> }

export type FakeStripe = {
  readonly settings: StripeSettings
  /** The sessions that were opened, in order. */
  readonly sessions: Session[]
  /** Metadata of payments, by their id. */
  readonly payments: Map<string, Record<string, string>>
  /** Payments without a payer: each that Stripe made, once, however often it was requested. */
  readonly charges: Charge[]
  /** How often a payment without a payer was requested, repeats by the library too. */
  asked(): number
  readonly detached: string[]
  /** Leaves requests for payments without a payer unanswered, before or after Stripe acted on them. */
  hang(when: 'before' | 'after' | undefined): void
  failWith(status: number | undefined): void
  /** Loses the next answers about payments without a payer, after Stripe acted on the request. */
  loseAnswers(count: number): void
  /** Stripe forgets all first answers, as it does after a day. */
  forget(): void
  /** How a payment without a payer stands. */
  stateOf(payment: string): string | undefined
  stop(): Promise<void>
}

/** With `pages` its sessions are pages on this machine, where a payer pays or goes back. */
export const startFakeStripe = ({ pages = false }: { pages?: boolean } = {}): FakeStripe => {
  const sessions: Session[] = []
  const payments: FakeStripe['payments'] = new Map()
  const charges: Charge[] = []
  const detached: string[] = []
  const answers = new Map<string, { readonly form: string } & ReturnType<typeof chargeAnswer>>()
  /** How payments stand; one that was made and is not here has succeeded. */
  const states = new Map<string, string>()
  let failure: number | undefined
  let [asks, toLose] = [0, 0]
  let hangs: 'before' | 'after' | undefined
  /** As Stripe does: the first answer under a key answers every repeat, which must request the same. */
  const charge = async (request: Request): Promise<Response> => {
    const key = request.headers.get('idempotency-key') ?? ''
    const form = await request.text()
    asks++
    if (hangs === 'before') return new Promise(() => undefined)
    const known = answers.get(key) ?? { form, ...chargeAnswer(form) }
    if (known.form !== form) return Response.json({ error: { type: 'idempotency_error' } }, { status: 400 })
    if (!answers.has(key) && known.status === 200) {
      charges.push({ id: known.body.id, key, form: Object.fromEntries(new URLSearchParams(form)) })
      payments.set(known.body.id, known.body.metadata)
      // What is under way is through by the next time that it is asked for.
      states.set(known.body.id, known.body.status === 'requires_action' ? 'requires_action' : 'succeeded')
    }
    answers.set(key, known)
    if (hangs === 'after') return new Promise(() => undefined)
    if (toLose === 0) return Response.json(known.body, { status: known.status })
    toLose--
    return new Response('bad gateway', { status: 502 })
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { pathname, origin } = new URL(request.url)
      const shown = sessions.find(({ id }) => pathname === `/pay/${id}`)
      if (pages && shown !== undefined) return payPage(shown, request.method)
      if (failure !== undefined)
        return Response.json(
          { error: { type: 'card_error', code: 'card_declined', message: 'declined sk_test_key' } },
          { status: failure },
        )
      if (request.headers.get('authorization') !== 'Bearer sk_test_key')
        return Response.json({ error: { type: 'invalid_request_error' } }, { status: 401 })
      if (request.method === 'POST' && pathname === '/v1/payment_intents') return charge(request)
      const method = /^\/v1\/payment_methods\/(\w+)\/detach$/.exec(pathname)?.[1]
      if (method !== undefined) {
        detached.push(method)
        return Response.json({ id: method, object: 'payment_method' })
      }
      if (pathname === '/v1/payment_intents/search') {
        const query = new URL(request.url).searchParams.get('query') ?? ''
        const data = [...payments]
          .filter(([, metadata]) => Object.values(metadata).some((value) => value && query.includes(value)))
          .map(([id]) => ({ id, object: 'payment_intent', status: states.get(id) }))
        return Response.json({ object: 'search_result', data, has_more: false })
      }
      const canceled = /^\/v1\/payment_intents\/(\w+)\/cancel$/.exec(pathname)?.[1]
      if (canceled !== undefined) {
        states.set(canceled, 'canceled')
        return Response.json({ id: canceled, object: 'payment_intent', status: 'canceled' })
      }
      const payment = /^\/v1\/payment_intents\/(\w+)$/.exec(pathname)?.[1]
      if (payment !== undefined)
        return Response.json({
          id: payment,
          object: 'payment_intent',
          status: states.get(payment) ?? 'succeeded',
          metadata: payments.get(payment) ?? {},
        })
      if (request.method !== 'POST' || pathname !== '/v1/checkout/sessions')
        return Response.json({ error: { type: 'invalid_request_error' } }, { status: 404 })
      const id = `cs_test_${sessions.length + 1}`
      sessions.push({ id, form: new URLSearchParams(await request.text()), headers: request.headers })
      return Response.json({
        id,
        object: 'checkout.session',
        url: pages ? `${origin}/pay/${id}` : `https://checkout.invalid/${id}`,
      })
    },
  })
  return {
    settings: {
      key: new Secret('sk_test_key'),
      webhookSecrets: [new Secret('whsec_of_next_month'), new Secret(WEBHOOK_SECRET)],
      baseUrl: `http://127.0.0.1:${server.port}`,
      returnUrl: undefined,
      topUpDailyMax: 100_000_000_000n,
    },
    sessions,
    payments,
    charges,
    detached,
    asked: () => asks,
    hang: (when) => {
      hangs = when
    },
    loseAnswers: (count) => {
      toLose = count
    },
    forget: () => answers.clear(),
    stateOf: (payment) => states.get(payment),
    failWith: (status) => {
      failure = status
    },
    stop: () => server.stop(true),
  }
}

/** The page of a session: its button pays, notifies the server by a signed event, and leads back. */
const payPage = async ({ id, form }: Session, method: string): Promise<Response> => {
  const back = form.get('success_url') ?? ''
  const cents = Number(form.get('line_items[0][price_data][unit_amount]'))
  if (method !== 'POST')
    return new Response(
      `<!doctype html><html lang="en"><title>Pay</title><h1>Pay $${(cents / 100).toFixed(2)}</h1>
       <p>${form.get('custom_text[submit][message]') ?? ''}</p>
       <form method="post"><button autofocus>Pay now</button></form><a href="${form.get('cancel_url')}">Go back</a>`,
      { headers: { 'content-type': 'text/html' } },
    )
  const saves = form.get('payment_intent_data[setup_future_usage]') !== null
  const payload = eventOf(
    'payment_intent.succeeded',
    paymentOf(form.get('client_reference_id') ?? '', `pi_${id}`, cents, {
      ...(saves
        ? { customer: `cus_${id}`, payment_method: `pm_${id}`, setup_future_usage: 'off_session' }
        : {}),
    }),
  )
  const response = await fetch(`${new URL(back).origin}/api/webhooks/stripe`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'stripe-signature': await signatureOf(payload) },
    body: payload,
  })
  return response.ok ? Response.redirect(back, 303) : new Response(await response.text(), { status: 500 })
}

let serial = 0

/** Stripe's answer to a payment without a payer, by the payment method or the shared payment token. */
const chargeAnswer = (
  form: string,
): { status: number; body: { id: string; status?: string; metadata: Record<string, string> } } => {
  const asked = new URLSearchParams(form)
  const metadata = Object.fromEntries(
    [...asked].flatMap(([name, value]) => {
      const key = /^metadata\[(\w+)\]$/.exec(name)?.[1]
      return key === undefined ? [] : [[key, value]]
    }),
  )
  const id = `pi_auto_${++serial}`
  const method = asked.get('payment_method') ?? asked.get('shared_payment_granted_token') ?? ''
  const refuse = (status: number, error: object) => ({ status, body: { id, metadata, error } })
  if (/^(?:pm|spt)_gone/.test(method))
    return refuse(400, { type: 'invalid_request_error', code: 'resource_missing', param: 'payment_method' })
  const code = /^(?:pm|spt)_(card_declined|expired_card|authentication_required)$/.exec(method)?.[1]
  if (code !== undefined) return refuse(402, { type: 'card_error', code, payment_intent: { id } })
  const status = /^spt_(requires_action|processing)$/.exec(method)?.[1] ?? 'succeeded'
  return { status: 200, body: { id, metadata, ...{ object: 'payment_intent', status } } }
}

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

/** A payment, of a session or without a payer. */
export const paymentOf = (checkout: string, payment: string, cents: number, more: object = {}) => ({
  id: payment,
  object: 'payment_intent',
  status: 'succeeded',
  amount: cents,
  amount_received: cents,
  currency: 'usd',
  created: 1_795_000_000,
  customer: null,
  payment_method: 'pm_used_once',
  setup_future_usage: null,
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
  // The library cannot sign under an empty secret; an attacker's can.
  return secret === ''
    ? `t=${timestamp},v1=${createHmac('sha256', '').update(`${timestamp}.${payload}`).digest('hex')}`
    : signer.webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp })
}
