/**
 * Anonymous trials: one for each network address, all of a day within the house's budget, every nano-dollar accounted
 * for.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { readConfig } from '../../src/cli/config/config.ts'
import { readBlock } from '../../src/core/address.ts'
import { brokenLaws, engines, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, USD } from './harness.ts'

const DAY_MS = 86_400_000

for (const engine of serverEngines)
  describe(`anonymous trials on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    const trial = { amount: USD / 10n, dailyAmount: 10n * USD, lifeMs: 7 * DAY_MS, againMs: 30 * DAY_MS }

    beforeAll(async () => {
      database = await engine.fresh()
      const block = readBlock('10.1.0.0/16')
      server = await startTestServer({
        url: database.url,
        options: { trial, trustedProxies: block === undefined ? [] : [block] },
      })
    })
    afterEach(async () => {
      expect(await brokenLaws(server.store)).toEqual([])
    })
    afterAll(async () => {
      await server.stop()
      await database.stop()
    })

    const claim = (peer: string | undefined, headers: Record<string, string> = {}, at = server) =>
      at.fetchFrom(
        peer,
        new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST', headers }),
      )

    test('give a key that works on a wallet of its own, paid by the house', async () => {
      server.answerWith(() => completion('x'))
      const before = await server.store.ledger.balance('promo')
      const answer = await claim('192.0.2.1')
      expect(answer.status).toBe(201)
      const { api_key, wallet_id, credits, expires_at, ...rest } = await jsonOf(answer)
      expect([credits, Object.keys(rest)]).toEqual([10, []])
      expect(Math.abs(Date.parse(expires_at) - Date.now() - trial.lifeMs)).toBeLessThan(60_000)
      expect(before - (await server.store.ledger.balance('promo'))).toBe(trial.amount)
      expect((await server.store.wallets.wallet(wallet_id))?.balance).toBe(trial.amount)
      expect((await server.post('/v1/chat/completions', chat(), {}, api_key)).status).toBe(200)
      expect((await server.store.wallets.wallet(wallet_id))?.balance).toBe(trial.amount - 60_000n)
      const usage = await jsonOf(await server.get('/v1/key/wholesale/me/usage', api_key))
      expect(usage.data).toMatchObject({ requests: 1, spent_usd: 0.00006, rpm_limit: 10 })
      for (const path of ['/api/wallet/rules', '/api/referrals'])
        expect([path, (await server.get(path, api_key)).status]).toEqual([path, 403])
      const review = await server.send('POST', '/api/reviews', { skill: 'mock/small', rating: 5 }, api_key)
      expect(review.status).toBe(403)
    })

    test('are given once for an address, and say how long to wait', async () => {
      expect((await claim('192.0.2.2')).status).toBe(201)
      const again = await claim('192.0.2.2')
      const { error, retry_after_seconds } = await jsonOf(again)
      expect([again.status, error]).toEqual([429, 'trial_already_claimed'])
      expect(retry_after_seconds).toBeGreaterThan(29.9 * 86_400)
      expect(retry_after_seconds).toBeLessThanOrEqual(30 * 86_400)
      expect(again.headers.get('retry-after')).toBe(String(retry_after_seconds))
    })

    test('of many claims from one address at once exactly one is granted', async () => {
      const promo = await server.store.ledger.balance('promo')
      for (const peer of ['192.0.2.3', '2001:470:1:2::9']) {
        const answers = await Promise.all(Array.from({ length: 25 }, () => claim(peer)))
        expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(24).fill(429)])
      }
      expect(promo - (await server.store.ledger.balance('promo'))).toBe(2n * trial.amount)
    })

    test('count an IPv6 network as one address, and a mapped IPv4 address as itself', async () => {
      expect((await claim('2001:470:aa:1::1')).status).toBe(201)
      expect((await claim('2001:470:aa:1:ffff:ffff:ffff:ffff')).status).toBe(429)
      expect((await claim('2001:470:aa:2::1')).status).toBe(201)
      expect((await claim('::ffff:192.0.2.4')).status).toBe(201)
      expect((await claim('192.0.2.4')).status).toBe(429)
      expect((await claim('::ffff:192.0.2.5')).status).toBe(201)
    })

    test('believe X-Forwarded-For of trusted proxies only, and from the right', async () => {
      expect((await claim('192.0.2.6', { 'x-forwarded-for': '198.51.100.1' })).status).toBe(201)
      expect((await claim('192.0.2.6', { 'x-forwarded-for': '198.51.100.2' })).status).toBe(429)
      expect((await claim('10.1.0.1', { 'x-forwarded-for': '198.51.100.3' })).status).toBe(201)
      const forged = ['1.1.1.1, 198.51.100.3', '2.2.2.2,198.51.100.3, 10.1.2.3', 'x, 198.51.100.3']
      for (const list of forged)
        expect([list, (await claim('10.1.0.1', { 'x-forwarded-for': list })).status]).toEqual([list, 429])
      expect((await claim('10.1.0.1', { 'x-forwarded-for': '198.51.100.4' })).status).toBe(201)
      // No address is known before the proxy, so all such callers count as one.
      expect((await claim('10.1.0.1', { 'x-forwarded-for': 'unknown' })).status).toBe(201)
      expect((await claim('10.1.0.1', {})).status).toBe(429)
      expect([(await claim(undefined)).status, (await claim(undefined)).status]).toEqual([201, 429])
    })

    test('are given again to who repeats the claim with its Idempotency-Key, and to nobody else', async () => {
      const key = { 'idempotency-key': crypto.randomUUID() }
      const answers = await Promise.all(Array.from({ length: 5 }, () => claim('192.0.2.7', key)))
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
      const bodies = await Promise.all(answers.map(jsonOf))
      for (const body of bodies) expect(body).toEqual(bodies[0])
      expect((await server.get('/v1/models', bodies[0].api_key)).status).toBe(200)
      expect((await claim('192.0.2.7', { 'idempotency-key': 'another' })).status).toBe(429)
      expect((await claim('192.0.2.7')).status).toBe(429)
      const elsewhere = await claim('192.0.2.8', key)
      expect((await jsonOf(elsewhere)).api_key).not.toBe(bodies[0].api_key)
      expect((await claim('192.0.2.9', { 'idempotency-key': 'ü' })).status).toBe(400)
    })

    test('are off when nothing is given', async () => {
      const off = await startTestServer({ url: database.url, options: { trial: { ...trial, amount: 0n } } })
      const answer = await claim('192.0.2.10', {}, off)
      expect([answer.status, (await jsonOf(answer)).error]).toEqual([404, 'not_found'])
      await off.stop()
    })
  })

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`trials of a day stay within the house's budget, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const trial = { amount: USD / 10n, dailyAmount: USD / 2n, lifeMs: DAY_MS, againMs: DAY_MS }
    // The ledger's day does not end.
    const now = Date.now()
    const server = await startTestServer({ url: database.url, now: () => now, options: { trial } })
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        server.fetchFrom(
          `192.0.2.${index}`,
          new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST' }),
        ),
      ),
    )
    const bodies = await Promise.all(answers.map(jsonOf))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    for (const body of bodies.filter(({ error }) => error !== undefined)) {
      expect(body.error).toBe('trial_budget_exhausted')
      expect(body.retry_after_seconds).toBeLessThanOrEqual(86_400)
    }
    expect(-(await server.store.ledger.balance('promo'))).toBe(trial.dailyAmount)
    expect(await brokenLaws(server.store)).toEqual([])
    await server.stop()
    await database.stop()
  })

const signUpUrl = 'https://example.com/sign-up'

test('a trial whose credit is used up gets a refusal that says where to sign up; a call too dear for it learns that', async () => {
  const trial = { amount: USD / 50n, dailyAmount: USD, lifeMs: DAY_MS, againMs: DAY_MS }
  const server = await startTestServer({ options: { trial, signUpUrl } })
  const address = new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST' })
  const { api_key } = await jsonOf(await server.fetchFrom('192.0.2.1', address))
  const call = async (max_tokens: number) => {
    const response = await server.post('/v1/chat/completions', chat({ max_tokens }), {}, api_key)
    return [response.status, (await jsonOf(response)).error] as const
  }
  const [dear, tooDear] = await call(8_000)
  expect([dear, tooDear.limit, tooDear.reason, tooDear.sign_up_url]).toEqual([
    402,
    'wallet',
    undefined,
    signUpUrl,
  ])
  expect(tooDear.message).toMatch(/^The call needs .* Sign up for a key: https:\/\/example\.com\/sign-up$/)
  server.answerWith(() =>
    completion('x', { prompt_tokens: 10, completion_tokens: 1_100, total_tokens: 1_110 }),
  )
  expect((await call(1_100))[0]).toBe(200)
  const [status, error] = await call(5)
  expect([status, error.code, error.reason, error.sign_up_url]).toEqual([
    402,
    'insufficient_balance',
    'trial_ended',
    signUpUrl,
  ])
  expect(error.message).toBe(`The trial has ended: its credit is used up. Sign up for a key: ${signUpUrl}`)
  await server.stop()
})

test('a trial of the default size does not begin with the balance warning', async () => {
  const { gateway } = readConfig({})
  const server = await startTestServer({ options: { trial: gateway.trial, creditNano: gateway.creditNano } })
  const address = new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST' })
  const { api_key } = await jsonOf(await server.fetchFrom('192.0.2.1', address))
  const answer = await jsonOf(await server.post('/v1/chat/completions', chat(), {}, api_key))
  expect(answer._balance_warning).toBe(false)
  await server.stop()
})

test('a trial ends: its key is unknown, and what is left goes back to the house', async () => {
  const trial = { amount: USD / 10n, dailyAmount: USD, lifeMs: 3_000, againMs: 3_000 }
  const server = await startTestServer({ options: { trial, signUpUrl } })
  const claim = (peer: string) =>
    server.fetchFrom(peer, new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST' }))
  let [claims, api_key, wallet_id] = [0, '', '']
  // On a busy machine a trial may end before its call; then we make another one.
  await until(async () => {
    ;({ api_key, wallet_id } = await jsonOf(await claim(`192.0.2.${++claims}`)))
    return (await server.post('/v1/chat/completions', chat(), {}, api_key)).status === 200
  })
  // What somebody pays in stays, and what the call cost was the house's.
  const paid = { kind: 'topup', ref: 'paid-in', debit: 'cash', credit: wallet_id, amount: USD } as const
  expect(await server.store.ledger.post(paid)).toBe('posted')
  await Bun.sleep(trial.lifeMs + 50)
  const refused = await server.post('/v1/chat/completions', chat(), {}, api_key)
  expect([refused.status, (await jsonOf(refused)).error]).toMatchObject([
    401,
    {
      code: 'invalid_api_key',
      reason: 'trial_ended',
      sign_up_url: signUpUrl,
      message: `The trial has ended. Sign up for a key: ${signUpUrl}`,
    },
  ])
  const forged = await server.get('/v1/models', `sk-trial${'0'.repeat(64)}`)
  expect((await jsonOf(forged)).error.reason).toBeUndefined()
  await until(async () => (await server.store.ledger.balance('promo')) === -60_000n, 100)
  expect(await server.store.ledger.balance(wallet_id)).toBe(USD)
  expect((await claim(`192.0.2.${claims}`)).status).toBe(201)
  expect(await brokenLaws(server.store)).toEqual([])
  await server.stop()
})

test('a claim that the database does not take is refused by its stable name', async () => {
  const postgres = engines.find(({ name }) => name === 'PostgreSQL')
  const database = await postgres?.fresh()
  if (database === undefined) throw new Error('no PostgreSQL')
  const server = await startTestServer({ url: database.url })
  const admin = new SQL({ url: database.url, max: 1 })
  const claim = async () => {
    const answer = await server.fetchFrom(
      '192.0.2.1',
      new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST' }),
    )
    return [answer.status, (await jsonOf(answer)).error]
  }
  await admin.unsafe('alter table trial_day rename to gone')
  expect(await claim()).toEqual([500, 'wallet_grant_failed'])
  await admin.unsafe('alter table gone rename to trial_day')
  await admin.unsafe("alter table api_key add constraint api_key_refused check (label <> 'anonymous trial')")
  expect(await claim()).toEqual([500, 'mint_key_failed'])
  await admin.unsafe('alter table api_key drop constraint api_key_refused')
  // Nothing remains of the failed attempts.
  expect(await server.store.ledger.balance('promo')).toBe(0n)
  expect(await claim()).toEqual([201, undefined])
  await admin.close()
  await server.stop()
  await database.stop()
})
