/** The steps of a round: one request, copies of one, a payment, a webhook, or a socket. */
import { eventOf, paidSession, refundOf, signatureOf } from '../server/stripe-fake.ts'
import type { Answered } from './answer.ts'
import { changed, spoilt } from './odd-json.ts'
import { goodCall, requestFrom, type Sent } from './requests.ts'
import type { Scene } from './scene.ts'
import { talkOnSocket } from './sockets.ts'

/** The outcome of a step; `wrong` says what does not hold between its answers. */
export type Played = { readonly answers: readonly Answered[]; readonly wrong: readonly string[] }

export type Step = (scene: Scene, token: string, at: number) => Promise<Played>

const JSON_TYPE = { 'content-type': 'application/json' }

const post = (path: string, body: object | string, headers: Record<string, string>): Sent => ({
  method: 'POST',
  path,
  headers: { ...JSON_TYPE, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** The same request several times, one after the other or all at once. */
const copies = async ({ ask, choose }: Scene, sent: Sent, count: number): Promise<Answered[]> => {
  const answers: (Answered | undefined)[] = []
  if (choose.rarely(2)) answers.push(...(await Promise.all(Array.from({ length: count }, () => ask(sent)))))
  else for (let at = 0; at < count; at++) answers.push(await ask(sent))
  return answers.filter((answer) => answer !== undefined)
}

const one: Step = async ({ ask, choose, known }, token) => {
  const answer = await ask(requestFrom(choose, known, token))
  return { answers: answer === undefined ? [] : [answer], wrong: [] }
}

/**
 * Answers with 200 under one name are one answer, which one vendor gave once; a call whose vendor broke off is sent
 * again.
 */
const onlyOnce = ({ vendors }: Scene, answers: readonly Answered[]): string[] => {
  if (vendors.served.some(({ cost }) => cost === undefined)) return []
  const texts = new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text))
  const sound = vendors.served.length
  return [
    ...(texts.size > 1 ? [`one Idempotency-Key gave ${texts.size} answers: ${[...texts].join(' | ')}`] : []),
    ...(sound > 1 ? [`copies of one call were answered ${sound} times by vendors`] : []),
  ]
}

const repeats: Step = async (scene, token, at) => {
  const { choose } = scene
  const { path, body } = goodCall(choose)
  const name = `copies-${at}`
  const answers = await copies(
    scene,
    post(path, body, { ...bearer(token), 'idempotency-key': name }),
    2 + choose.below(2),
  )
  return { answers, wrong: onlyOnce(scene, answers) }
}

const decoded = (header: string) => JSON.parse(Buffer.from(header, 'base64').toString('utf8'))

/** The header that pays a quote, as the facilitator's stand-in takes it. */
const paymentFor = (quote: string, nonce: number): object => {
  const accepted = decoded(quote).accepts[0]
  const authorization = {
    from: '0x'.padEnd(42, 'f'),
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1_000) + 60),
    nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
  }
  return { x402Version: 2, accepted, payload: { signature: '0xab', authorization } }
}

const payment: Step = async (scene, token, at) => {
  const { ask, choose } = scene
  const { path, body } = goodCall(choose)
  const headers = { 'x-payment-protocol': 'x402', ...(choose.rarely(3) ? bearer(token) : {}) }
  const quote = await ask(post(path, body, headers))
  const required = quote?.headers.get('payment-required') ?? null
  if (quote === undefined || required === null)
    return { answers: quote === undefined ? [] : [quote], wrong: [] }
  const good = paymentFor(required, at + 1)
  const odd = choose.rarely(4)
  const json = JSON.stringify(odd ? changed(good as never, choose) : good)
  const header = Buffer.from(odd && choose.rarely(3) ? spoilt(json, choose) : json).toString('base64')
  const paid = post(path, body, { ...headers, 'payment-signature': header })
  const answers = await copies(scene, paid, 1 + choose.below(3))
  const claim = answers.find(({ headers: told }) => told.has('x-change-claim'))?.headers.get('x-change-claim')
  const askers = claim == null ? [] : [bearer(scene.owner), bearer(scene.owner)]
  const claims = await Promise.all(askers.map((who) => ask(post('/api/wallet/claim', { claim }, who))))
  const given = claims.filter((answer) => answer?.status === 200).length
  const claimed = claims.filter((answer) => answer !== undefined)
  return {
    answers: [quote, ...answers, ...claimed],
    wrong: given > 1 ? ['the change of one payment was given twice'] : [],
  }
}

const CENT = 10_000_000n

const stripe: Step = async (scene, _token, at) => {
  const { ask, choose, server } = scene
  const cents = 50 + choose.below(100_000)
  const opened = await ask(post('/api/wallet/checkout', { amount_usd: cents / 100 }, bearer(scene.owner)))
  if (opened?.status !== 201) return { answers: opened === undefined ? [] : [opened], wrong: [] }
  const name = `pi_fuzz_${at}`
  const session = paidSession(JSON.parse(opened.text).id, name, cents)
  const odd = choose.rarely(2)
  const payload = odd
    ? eventOf(
        choose.one(['checkout.session.completed', 'payment_intent.succeeded', 'refund.created', 'x']),
        changed((choose.rarely(3) ? refundOf(name, `re_${at}`, cents) : session) as never, choose) as never,
      )
    : eventOf('checkout.session.completed', session)
  const body = odd && choose.rarely(4) ? spoilt(payload, choose) : payload
  const signed = !choose.rarely(4)
  const signature = await signatureOf(body, signed ? {} : { secret: 'whsec_of_a_stranger' })
  const before = await server.store.ledger.balance('cash')
  const delivery = post('/api/webhooks/stripe', body, { 'stripe-signature': signature })
  const answers = await copies(scene, delivery, 1 + choose.below(3))
  const taken = before - (await server.store.ledger.balance('cash'))
  const due = signed ? BigInt(cents) * CENT : 0n
  const wrong = (!odd || !signed) && taken !== due ? [`${due} were paid at Stripe and ${taken} came in`] : []
  return { answers: [opened, ...answers], wrong }
}

const socket: Step = async (scene, token) => ({ answers: [], wrong: await talkOnSocket(scene, token) })

/** Most steps are single requests, because they read a caller's bytes in the most ways. */
export const stepFor = ({ choose }: Scene): { readonly name: string; readonly step: Step } => {
  const at = choose.below(20)
  if (at < 13) return { name: 'a request', step: one }
  if (at < 15) return { name: 'copies', step: repeats }
  if (at < 17) return { name: 'a payment', step: payment }
  if (at < 18) return { name: 'a checkout', step: stripe }
  return { name: 'a socket', step: socket }
}
