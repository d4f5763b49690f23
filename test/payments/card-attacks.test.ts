/** Attacks on the method `stripe`, and a Stripe that says no, or nothing: a challenge is one charge, whatever happens. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Challenge } from 'mppx'
import { systemClock } from '../../src/core/time.ts'
import { StoreFault } from '../../src/store/faults.ts'
import { chat, hashOf, jsonOf, startTestServer, type TestServer } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { askFor, cardOptions, checkCards, newToken, signedByCard, startCards } from './card-rig.ts'
import { credentialIn, receiptIn, stripeOf, withCredential } from './mpp-payer.ts'
import { again } from './rig.ts'

const PROBLEMS = 'https://paymentauth.org/problems/'

for (const engine of serverEngines)
  describe(`attacks on cards on ${engine.name}`, () => {
    const stripe = startCards()
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({
        url: database.url,
        fund: 0n,
        x402: cardOptions,
        stripe: stripe.settings,
      })
    })
    afterAll(async () => {
      await checkCards(server, stripe)
      await server.stop()
      await database.stop()
      await stripe.stop()
    })
    let before: { charges: number; asked: number }
    beforeEach(() => {
      before = { charges: stripe.charges.length, asked: server.asked.length }
    })

    const signed = (token?: string) => signedByCard(server, askFor(chat()), token)
    /** How many payments and calls this test has made. */
    const made = () => [stripe.charges.length - before.charges, server.asked.length - before.asked]
    const paymentOf = async (request: Request) => {
      const { id = '' } = credentialIn(request).challenge
      const name = Buffer.from(id, 'base64url').toString('hex')
      return server.store.payments.payment(`stripe:profile_test:usd:${name}`)
    }

    const refused = async (request: Request, problem: string, error?: string) => {
      const response = await server.fetch(again(request))
      const body = await jsonOf(response)
      expect([response.status, body.type]).toEqual([402, PROBLEMS + problem])
      if (error !== undefined) expect(body.error).toBe(error)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      expect(response.headers.get('www-authenticate')).toContain('method="stripe"')
      expect(receiptIn(response)).toBeUndefined()
    }

    test('a changed challenge, another path, body, ceiling or server', async () => {
      const good = await signed()
      const { challenge, ...rest } = credentialIn(good)
      const asked = JSON.parse(Buffer.from(challenge.request ?? '', 'base64url').toString())
      for (const [name, value] of [
        ['request', { ...asked, amount: '1' }],
        ['request', { ...asked, methodDetails: { ...asked.methodDetails, networkId: 'profile_other' } }],
        ['expires', new Date(Date.now() + 3_600_000).toISOString()],
        ['realm', 'other.test'],
        ['digest', 'sha-256=:AAAA:'],
      ] as const) {
        const text =
          typeof value === 'string' ? value : Buffer.from(JSON.stringify(value)).toString('base64url')
        await refused(
          withCredential(good, { ...rest, challenge: { ...challenge, [name]: text } }),
          'invalid-challenge',
        )
      }
      await refused(withCredential(good, { challenge, payload: {} }), 'malformed-credential')
      await refused(withCredential(good, { challenge, payload: { spt: 'a b' } }), 'malformed-credential')
      const authorization = good.headers.get('authorization') ?? ''
      await refused(askFor(chat({ max_tokens: 50 }), '/v1/messages', { authorization }), 'invalid-challenge')
      await refused(
        askFor(chat({ max_tokens: 51 }), '/v1/chat/completions', { authorization }),
        'invalid-challenge',
      )
      await refused(
        askFor(chat(), '/v1/chat/completions', { authorization, 'x-max-cost-usd': '1' }),
        'invalid-challenge',
      )
      expect(made()).toEqual([0, 0])
      expect((await server.fetch(good)).status).toBe(200)
      expect(made()).toEqual([1, 1])
    })

    test('a payment by x402 that names a card is none', async () => {
      const payment = {
        x402Version: 2,
        accepted: { scheme: 'exact', network: 'stripe:profile_test', asset: 'usd', amount: '50' },
        payload: { signature: '0x11', authorization: { from: `0x${'22'.repeat(20)}`, to: 'profile_test' } },
      }
      const header = Buffer.from(JSON.stringify(payment)).toString('base64')
      const response = await server.fetch(
        askFor(chat(), '/v1/chat/completions', { 'payment-signature': header }),
      )
      expect([response.status >= 400, made()]).toEqual([true, [0, 0]])
    })

    test('copies that race and copies that come later are one charge and one call', async () => {
      const good = await signed()
      const answers = await Promise.all([0, 1].map(() => server.fetch(again(good))))
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      const [text, other] = await Promise.all(answers.map((answer) => answer.text()))
      expect(other).toBe(text as string)
      const later = await server.fetch(again(good))
      expect([await later.text(), later.headers.get('idempotent-replayed')]).toEqual([text as string, 'true'])
      expect(receiptIn(later)?.reference).toBe(stripe.charges.at(-1)?.id as string)
      expect(made()).toEqual([1, 1])
      // The same challenge with another token is neither paid again nor answered.
      const { challenge } = credentialIn(good)
      await refused(
        withCredential(good, { challenge, payload: { spt: newToken() } }),
        'invalid-challenge',
        'payment_already_used',
      )
      expect(made()).toEqual([1, 1])
    })

    test('two tokens that race for one challenge: one is charged, and only who sent it is answered', async () => {
      const first = await signed()
      const { challenge } = credentialIn(first)
      const second = withCredential(first, { challenge, payload: { spt: newToken() } })
      const answers = await Promise.all([first, second].map((one) => server.fetch(again(one))))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 402])
      const lost = answers.find(({ status }) => status === 402) as Response
      expect((await jsonOf(lost)).error).toBe('payment_already_used')
      expect(lost.headers.get('x-change-claim')).toBeNull()
      expect(made()).toEqual([1, 1])
    })

    test('a challenge of another server with the same profile', async () => {
      const setup = { fund: 0n, x402: cardOptions, stripe: stripe.settings, hash: hashOf('another') }
      const other = await startTestServer(setup)
      await refused(await signedByCard(other, askFor(chat())), 'invalid-challenge')
      await other.stop()
      expect(made()).toEqual([0, 0])
    })

    test('credentials that are bombs', async () => {
      const good = await signed()
      const { challenge } = credentialIn(good)
      const deep = `${'['.repeat(2_500)}${']'.repeat(2_500)}`
      for (const payload of [{ spt: 'a'.repeat(256) }, { spt: { deep } }, { spt: ['spt_1'] }, { spt: '' }])
        await refused(withCredential(good, { challenge, payload }), 'malformed-credential')
      const long = { ...challenge, request: 'A'.repeat(7_000) }
      await refused(
        withCredential(good, { challenge: long, payload: { spt: 'spt_1' } }),
        'malformed-credential',
      )
      // Many in one header, as headers that are sent several times are read.
      const header = good.headers.get('authorization') ?? ''
      const authorization = Array(6).fill(header).join(', ')
      const many = await server.fetch(askFor(chat(), '/v1/chat/completions', { authorization }))
      expect(many.status).toBe(400)
      expect(made()).toEqual([0, 0])
      expect((await server.fetch(good)).status).toBe(200)
    })

    test('a challenge whose time is over', async () => {
      const options = { ...cardOptions, timeoutSeconds: -40 }
      const short = await startTestServer({ fund: 0n, x402: options, stripe: stripe.settings })
      const headers = { 'accept-payment': 'stripe/charge' }
      const due = Challenge.fromResponse(await short.fetch(askFor(chat(), '/v1/chat/completions', headers)))
      expect([due.method, Date.parse(due.expires ?? '') < Date.now()]).toEqual(['stripe', true])
      const method = stripeOf(newToken)
      const authorization = await method.createCredential({ challenge: due as never, context: {} })
      const response = await short.fetch(askFor(chat(), '/v1/chat/completions', { authorization }))
      expect([response.status, (await jsonOf(response)).error]).toEqual([402, 'quote_expired'])
      expect(made()).toEqual([0, 0])
      await short.stop()
    })

    for (const [token, problem, reason] of [
      ['spt_card_declined', 'verification-failed', 'card_declined'],
      ['spt_expired_card', 'verification-failed', 'expired_card'],
      ['spt_gone', 'verification-failed', 'payment_method_gone'],
      ['spt_authentication_required', 'payment-action-required', 'authentication_required'],
    ] as const)
      test(`Stripe refuses ${token}, and the challenge is paid with another token`, async () => {
        const bad = await signed(token)
        await refused(bad, problem, reason)
        await refused(bad, problem, reason)
        expect(made()).toEqual([0, 0])
        expect((await paymentOf(bad))?.state).toBe('failed')
        const { challenge } = credentialIn(bad)
        const better = withCredential(bad, { challenge, payload: { spt: newToken() } })
        expect((await server.fetch(better)).status).toBe(200)
        expect(made()).toEqual([1, 1])
      })

    test('a payment that its holder would have to confirm is canceled and refused', async () => {
      const bad = await signed('spt_requires_action')
      await refused(bad, 'payment-action-required', 'authentication_required')
      const { id } = stripe.charges.pop() ?? { id: '' }
      expect(stripe.stateOf(id)).toBe('canceled')
      expect((await paymentOf(bad))?.state).toBe('failed')
    })

    test('a payment that is under way is asked for again', async () => {
      const slow = await signed('spt_processing')
      expect((await server.fetch(again(slow))).status).toBe(200)
      expect(made()).toEqual([1, 1])
    })

    test('a Stripe that answers nothing: not confirmed, and the same again is charged once', async () => {
      for (const silence of ['lost', 'after'] as const) {
        if (silence === 'lost') stripe.loseAnswers(1)
        else stripe.hang('after')
        const good = await signed()
        const first = await server.fetch(again(good))
        stripe.hang(undefined)
        expect([first.status, (await jsonOf(first)).error.code]).toEqual([503, 'payment_unconfirmed'])
        expect([first.headers.get('x-change-claim') !== null, receiptIn(first)]).toEqual([true, undefined])
        expect((await paymentOf(good))?.state).toBe('settling')
        // Neither another token nor the same one buys a second charge.
        const { challenge } = credentialIn(good)
        const other = withCredential(good, { challenge, payload: { spt: newToken() } })
        await refused(other, 'invalid-challenge', 'payment_already_used')
        const second = await server.fetch(again(good))
        expect([second.status, receiptIn(second)?.method]).toEqual([200, 'stripe'])
      }
      expect(made()).toEqual([2, 2])
    })

    test('a Stripe that refuses the key: a no, but not of a payment that may have been charged', async () => {
      const good = await signed()
      stripe.failWith(401)
      await refused(good, 'verification-failed', 'method_unavailable')
      expect((await paymentOf(good))?.state).toBe('failed')
      stripe.failWith(undefined)
      stripe.loseAnswers(1)
      const lost = await signed()
      expect((await server.fetch(again(lost))).status).toBe(503)
      stripe.failWith(403)
      expect((await server.fetch(again(lost))).status).toBe(503)
      stripe.failWith(undefined)
      expect((await server.fetch(again(lost))).status).toBe(200)
      expect(made()).toEqual([1, 1])
    })

    test('a ledger that fails between the charge and its record: nothing is lost or charged twice', async () => {
      const { payments } = server.store
      const { settlePayment } = payments
      const fails = async () => {
        Object.assign(payments, { settlePayment })
        throw new StoreFault('the connection was lost')
      }
      Object.assign(payments, { settlePayment: fails })
      const requests = stripe.asked()
      const good = await signed()
      const first = await server.fetch(again(good))
      expect(payments.settlePayment).toBe(settlePayment)
      // It was told 503 and sent again, as clients do; Stripe was asked again under the same key.
      expect([first.status, stripe.asked() - requests, made()]).toEqual([200, 2, [1, 1]])
      expect((await server.fetch(again(good))).status).toBe(200)
      expect(made()).toEqual([1, 1])
      await checkCards(server, stripe)
    })

    test('a payment whose first answer Stripe has forgotten is looked for, never asked for again', async () => {
      stripe.loseAnswers(1)
      const good = await signed()
      expect((await server.fetch(again(good))).status).toBe(503)
      stripe.forget()
      const asked = stripe.asked()
      const rail = server.gateway.payments.stripe?.cardRail({ clock: systemClock, settleMs: 1_000 })
      const { sent = '' } = (await paymentOf(good)) ?? {}
      const { payload, requirements } = JSON.parse(sent)
      const settle = (more: object) =>
        rail?.settle({ payload: { ...payload, validBefore: 1, ...more }, requirements })
      expect(await settle({})).toEqual({
        outcome: 'settled',
        transaction: stripe.charges.at(-1)?.id as string,
      })
      expect(await settle({ key: 'mpp_none' })).toMatchObject({
        outcome: 'refused',
        reason: 'payment_expired',
      })
      expect(stripe.asked()).toBe(asked)
      // One that still waits for its holder could be paid after its payer heard no.
      stripe.loseAnswers(1)
      const waiting = await signed('spt_requires_action')
      expect((await server.fetch(again(waiting))).status).toBe(503)
      const { key = '' } = JSON.parse((await paymentOf(waiting))?.sent ?? '{}').payload
      expect(await settle({ key })).toMatchObject({ outcome: 'refused', reason: 'authentication_required' })
      const { id: canceled } = stripe.charges.pop() ?? { id: '' }
      expect(stripe.stateOf(canceled)).toBe('canceled')
      // The rounds of that day would have written it down.
      const { id = '' } = (await paymentOf(good)) ?? {}
      await server.store.payments.settlePayment(id, stripe.charges.at(-1)?.id ?? '')
      expect((await server.fetch(again(good))).status).toBe(200)
    })
  })
