/** Attacks on the HTTP scheme `Payment`: what is not exactly one answer to one challenge of this server buys nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Challenge } from 'mppx'
import { chat, completion, hashOf, jsonOf } from '../server/harness.ts'
import { hasChain } from './chain.ts'
import {
  credentialIn,
  evmOf,
  mppPayer,
  receiptIn,
  signedByMpp,
  signedPayload,
  withCredential,
} from './mpp-payer.ts'
import { onChain } from './on-chain.ts'
import { payV1 } from './payers.ts'
import { again, optionsFor, type Rig, startRig } from './rig.ts'

const PROBLEMS = 'https://paymentauth.org/problems/'

describe.skipIf(!hasChain)('attacks on MPP', () => {
  const on = onChain()
  describe('a server', () => attacks(on))
})

const attacks = (on: ReturnType<typeof onChain>): void => {
  let rig: Rig
  beforeAll(async () => {
    rig = await startRig(on.chain, optionsFor(on.facilitator, on.chain))
  })
  afterAll(async () => {
    await rig.check()
    await rig.server.stop()
  })

  const plain = (
    body: object = chat(),
    path = '/v1/chat/completions',
    headers: Record<string, string> = {},
  ) => {
    const request = rig.request(path, body, headers)
    request.headers.delete('x-payment-protocol')
    return request
  }
  const signed = async (request = plain(), send = rig.server.fetch) =>
    signedByMpp(await on.chain.newPayer(1_000_000n), send, request)

  /** Sends it and expects a problem with a fresh challenge, no vendor asked, and no money moved. */
  const refused = async (request: Request, problem: string, status = 402) => {
    const [asked, before] = [rig.server.asked.length, await rig.received()]
    const response = await rig.server.fetch(request)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    const body = await jsonOf(response)
    expect([response.status, body.type, body.status]).toEqual([status, PROBLEMS + problem, status])
    expect(response.headers.get('www-authenticate')).toStartWith('Payment ')
    expect(response.headers.get('cache-control')).toContain('no-store')
    expect(receiptIn(response)).toBeUndefined()
    expect([rig.server.asked.length, await rig.received()]).toEqual([asked, before])
  }

  test('what is no credential', async () => {
    const sent = (authorization: string) =>
      plain(chat(), '/v1/chat/completions', { authorization: `Payment ${authorization}` })
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const text of [
      '!!!',
      'e30',
      encoded([]),
      encoded({ challenge: {}, payload: {} }),
      encoded({ payload: {} }),
      'A'.repeat(9_000),
      encoded({ challenge: 'x'.repeat(5_000), payload: {} }),
      `${'W1'.repeat(2_000)}`,
    ])
      await refused(sent(text), 'malformed-credential')
  })

  test('a challenge of which any member was changed', async () => {
    const good = await signed()
    const { challenge, ...rest } = credentialIn(good)
    const request = JSON.parse(Buffer.from(challenge.request ?? '', 'base64url').toString())
    const cheaper = Buffer.from(JSON.stringify({ ...request, amount: '1' })).toString('base64url')
    for (const [name, value] of [
      ['id', `${challenge.id?.slice(0, -1)}${challenge.id?.endsWith('A') ? 'E' : 'A'}`],
      ['id', `${challenge.id}A`],
      ['realm', 'other.test'],
      ['request', cheaper],
      ['expires', new Date(Date.now() + 3_600_000).toISOString()],
      ['digest', 'sha-256=:AAAA:'],
    ])
      await refused(
        withCredential(good, { ...rest, challenge: { ...challenge, [name as string]: value } }),
        'invalid-challenge',
      )
    const { digest: _digest, ...undigested } = challenge
    await refused(withCredential(good, { ...rest, challenge: undigested }), 'invalid-challenge')
    for (const other of [{ method: 'tempo' }, { intent: 'session' }])
      await refused(
        withCredential(good, { ...rest, challenge: { ...challenge, ...other } }),
        'method-unsupported',
        400,
      )
    expect((await rig.server.fetch(good)).status).toBe(200)
  })

  test('a payload that is signed for something else', async () => {
    const good = await signed()
    const { challenge, payload, ...rest } = credentialIn(good)
    const other = credentialIn(await signed())
    for (const [changed, problem] of [
      [{ value: '1' }, 'verification-failed'],
      [{ to: payload.from }, 'verification-failed'],
      [{ nonce: other.payload.nonce }, 'verification-failed'],
      [{ signature: other.payload.signature }, 'verification-failed'],
      [{ from: other.payload.from }, 'verification-failed'],
      [{ type: 'hash' }, 'malformed-credential'],
      [{ validBefore: 'soon' }, 'malformed-credential'],
    ] as const)
      await refused(
        withCredential(good, { ...rest, challenge, payload: { ...payload, ...changed } }),
        problem,
      )
    await refused(
      withCredential(good, { challenge, payload, source: `did:pkh:eip155:1:${payload.from}` }),
      'verification-failed',
    )
  })

  test('a payload that its payer signed, but for other terms', async () => {
    const account = await on.chain.newPayer(1_000_000n)
    const good = await signedByMpp(account, rig.server.fetch, plain())
    const { challenge, payload } = credentialIn(good)
    const signing = async (changed: Record<string, string>, chainId?: number) =>
      withCredential(good, {
        challenge,
        payload: await signedPayload(account, { ...payload, ...changed }, chainId),
      })
    const verified = on.facilitator.asked.verify
    // An authorization that was signed for something else names another nonce: it must not pay for this.
    await refused(await signing({ nonce: `0x${'12'.repeat(32)}` }), 'verification-failed')
    await refused(await signing({ value: '1' }), 'verification-failed')
    await refused(await signing({ value: String(BigInt(payload.value ?? '') + 1n) }), 'verification-failed')
    await refused(await signing({ to: account.address }), 'verification-failed')
    expect(on.facilitator.asked.verify).toBe(verified)
    await refused(await signing({}, 8453), 'verification-failed')
    await refused(await signing({ validBefore: '1700000000' }), 'verification-failed')
    expect(on.facilitator.asked.verify).toBe(verified + 2)
    expect((await rig.server.fetch(await signing({}))).status).toBe(200)
  })

  test('a credential of another path, body, ceiling or server', async () => {
    const good = await signed()
    const authorization = good.headers.get('authorization') ?? ''
    for (const request of [
      plain(chat({ max_tokens: 50 }), '/v1/messages', { authorization }),
      plain(chat({ max_tokens: 4_000 }), '/v1/chat/completions', { authorization }),
      plain(chat(), '/v1/chat/completions', { authorization, 'x-max-cost-usd': '1' }),
    ])
      await refused(request, 'invalid-challenge')
    const text = JSON.stringify(chat())
    const elsewhere = new Request('http://other.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: text,
    })
    await refused(elsewhere, 'invalid-challenge')
    // The same order in other bytes: the digest of the challenge is not theirs.
    const spaced = new Request(good.url, { method: 'POST', headers: good.headers, body: `${text} ` })
    await refused(spaced, 'invalid-challenge')
    const other = await startRig(on.chain, { ...rig.options }, { hash: hashOf('another') })
    const foreign = await signed(plain(), other.server.fetch)
    await refused(foreign, 'invalid-challenge')
    await other.server.stop()
    expect((await rig.server.fetch(good)).status).toBe(200)
  })

  test('a challenge whose time is over', async () => {
    const short = await startRig(on.chain, {
      ...optionsFor(on.facilitator, on.chain),
      timeoutSeconds: -40,
    })
    const due = Challenge.fromResponse((await short.server.fetch(plain())) as Response)
    expect(Date.parse(due.expires ?? '')).toBeLessThan(Date.now())
    const account = await on.chain.newPayer(1_000_000n)
    const credential = await evmOf(account).createCredential({ challenge: due as never, context: {} })
    const request = plain(chat(), '/v1/chat/completions', { authorization: credential })
    const body = await jsonOf(await short.server.fetch(request))
    expect([body.type, body.error]).toEqual([`${PROBLEMS}invalid-challenge`, 'quote_expired'])
    expect(await short.received()).toBe(0n)
    await short.server.stop()
  })

  test('copies that race and copies that come later are one payment and one call', async () => {
    const asked = rig.server.asked.length
    const before = await rig.received()
    const settled = on.facilitator.asked.settle
    const good = await signed()
    const answers = await Promise.all([0, 1, 2, 3].map(() => rig.server.fetch(again(good))))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const texts = await Promise.all(answers.map((answer) => answer.text()))
    expect(new Set(texts).size).toBe(1)
    const later = await rig.server.fetch(again(good))
    expect([await later.text(), later.headers.get('idempotent-replayed')]).toEqual([
      texts[0] as string,
      'true',
    ])
    expect(receiptIn(later)?.reference).toBe(receiptIn(answers[0] as Response)?.reference)
    expect(rig.server.asked.length).toBe(asked + 1)
    expect(on.facilitator.asked.settle).toBe(settled + 1)
    expect((await rig.received()) - before).toBe(BigInt(credentialIn(good).payload.value ?? ''))
    await rig.check()
  })

  test('what fails after it was paid has no receipt, and the same credential buys the answer', async () => {
    rig.server.answerWith(() => new Response('{}', { status: 500 }))
    const good = await signed()
    const failed = await rig.server.fetch(again(good))
    expect([failed.status, receiptIn(failed)]).toEqual([503, undefined])
    expect((await jsonOf(failed)).error.message).toContain('The payment is kept')
    rig.server.answerWith(() => completion('hello'))
    const served = await rig.server.fetch(again(good))
    expect([served.status, receiptIn(served)?.status]).toEqual([200, 'success'])
    await rig.check()
  })

  test('an unknown outcome is no 402, and is settled once', async () => {
    on.facilitator.meet('settle', 'deaf')
    const good = await signed()
    const first = await rig.server.fetch(again(good))
    expect([first.status, receiptIn(first)]).toEqual([503, undefined])
    expect((await jsonOf(first)).error.code).toBe('payment_unconfirmed')
    const second = await rig.server.fetch(again(good))
    expect(second.status).toBe(200)
    await rig.check()
  })

  test('what version 1 of x402 shows on the chain buys its reader nothing', async () => {
    const account = await on.chain.newPayer(1_000_000n)
    const [accepts] = (await jsonOf(await rig.server.fetch(plain()))).accepts
    const header = await payV1(account, accepts)
    const paid = (headers: Record<string, string> = {}) =>
      rig.server.fetch(plain(chat(), '/v1/chat/completions', { 'x-payment': header, ...headers }))
    const first = await paid()
    expect(first.status).toBe(200)
    const claim = first.headers.get('x-change-claim') ?? ''
    for (const headers of [
      {},
      { 'idempotency-key': 'a-guess' },
      { 'x-change-claim': `${claim.slice(0, -4)}0000` },
    ]) {
      const reader = await paid(headers as Record<string, string>)
      expect([reader.status, (await jsonOf(reader)).error]).toEqual([402, 'payment_already_used'])
      expect(reader.headers.get('x-change-claim')).toBeNull()
    }
    // Who has the claim of the first answer is who paid.
    const own = await paid({ 'x-change-claim': claim })
    expect([own.status, await own.text()]).toEqual([200, await first.text()])
    await rig.check()
  })

  test('a key that is not ours does not hide a payment, and a payment hides no key', async () => {
    const payer = await on.chain.newPayer(1_000_000n)
    const { pay } = mppPayer(payer, rig.server.fetch)
    const postPaid = plain()
    postPaid.headers.set('x-payment-protocol', 'mpp')
    expect((await pay(postPaid)).status).toBe(401)
    const good = await signed()
    good.headers.set('x-payment-protocol', 'wallet')
    expect((await rig.server.fetch(good)).status).toBe(401)
  })
}
