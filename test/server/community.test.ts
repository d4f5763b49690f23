/** Referrals credit both sides once; reviews count once an account. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { jsonOf, startTestServer, type TestServer, USD } from './harness.ts'

for (const engine of serverEngines)
  describe(`referrals and reviews on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
    })
    afterAll(async () => {
      await stopSound(server, database)
    })

    /** An account of its own, with an empty wallet. */
    const account = async () => {
      const id = crypto.randomUUID()
      const [walletId, orgId] = [`wal_${id}`, `org_${id}`]
      await server.store.wallets.createWallet({ id: walletId, orgId, name: id }, byTest)
      const { id: keyId, token } = await server.newKey({}, { walletId, orgId })
      const balance = async () => (await server.store.wallets.wallet(walletId))?.balance
      return { walletId, orgId, keyId, token, balance }
    }
    const codeOf = async (token: string) => (await jsonOf(await server.get('/api/referrals', token))).code
    const claim = async (code: unknown, token: string) => {
      const answer = await server.send('POST', '/api/referrals', { code }, token)
      const body = await jsonOf(answer)
      return { status: answer.status, error: body.error, body }
    }

    test('a code is made once, and credits both accounts when another one claims it', async () => {
      const [old, fresh] = [await account(), await account()]
      const codes = await Promise.all([1, 2, 3].map(() => codeOf(old.token)))
      expect(new Set(codes).size).toBe(1)
      expect(codes[0]).toMatch(/^[A-HJ-NP-Z2-9]{10}$/)
      const promo = await server.store.ledger.balance('promo')
      const { status, body } = await claim(` ${codes[0].toLowerCase()} `, fresh.token)
      expect([status, body]).toEqual([200, { code: codes[0], claimed: true, credits: 100 }])
      expect([await old.balance(), await fresh.balance()]).toEqual([2n * USD, USD])
      expect(promo - (await server.store.ledger.balance('promo'))).toBe(3n * USD)
      expect(await jsonOf(await server.get('/api/referrals', old.token))).toEqual({
        code: codes[0],
        claims: 1,
        earned_credits: 200,
        credits_for_you: 200,
        credits_for_them: 100,
      })
    })

    test('an account claims one code only, also when it tries many at once', async () => {
      const [one, other, fresh] = [await account(), await account(), await account()]
      const codes = [await codeOf(one.token), await codeOf(other.token)]
      const second = await server.newKey({}, { walletId: fresh.walletId, orgId: fresh.orgId })
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          claim(codes[index % 2], index % 3 ? fresh.token : second.token),
        ),
      )
      expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1)
      for (const { status, error } of outcomes.filter(({ status }) => status !== 200))
        expect([status, error]).toEqual([409, 'already_claimed'])
      expect(await fresh.balance()).toBe(USD)
      expect([await one.balance(), await other.balance()].sort()).toEqual([0n, 2n * USD])
    })

    test('accounts may claim the codes of each other, at once', async () => {
      const [one, other] = [await account(), await account()]
      const [first, second] = [await codeOf(one.token), await codeOf(other.token)]
      const outcomes = await Promise.all([claim(second, one.token), claim(first, other.token)])
      expect(outcomes.map(({ status }) => status)).toEqual([200, 200])
      expect([await one.balance(), await other.balance()]).toEqual([3n * USD, 3n * USD])
    })

    test('bad codes, the own code, and keys that do not speak for the account are refused', async () => {
      const own = await account()
      const code = await codeOf(own.token)
      for (const bad of ['NOSUCHCODE', '', 5, null, undefined, `${code}X`, "' or 1=1 -"])
        expect(await claim(bad, own.token)).toMatchObject({ status: 400, error: 'invalid_code' })
      const sibling = await server.newKey({}, { walletId: own.walletId, orgId: own.orgId })
      for (const token of [own.token, sibling.token])
        expect(await claim(code, token)).toMatchObject({ status: 400, error: 'self_referral_forbidden' })
      const child = await server.newKey({}, { ...own, id: `key_${crypto.randomUUID()}`, parentId: own.keyId })
      expect((await claim(code, child.token)).status).toBe(403)
      expect((await server.get('/api/referrals', child.token)).status).toBe(403)
      expect((await server.get('/api/referrals', '')).status).toBe(401)
      expect(await own.balance()).toBe(0n)
    })

    const review = async (body: unknown, token?: string) => {
      const answer = await server.send('POST', '/api/reviews', body, token)
      return { status: answer.status, body: await jsonOf(answer) }
    }
    const reviewsOf = async (skill: string) =>
      jsonOf(await server.get(`/api/reviews?skill=${encodeURIComponent(skill)}`))

    test('a review is kept once an account, and the answer has the average', async () => {
      const skill = 'mock/small'
      expect(await reviewsOf(skill)).toEqual({ skill, count: 0, average: null, reviews: [] })
      const accounts = await Promise.all([1, 2, 3].map(account))
      const made = await review({ skill, rating: 5, comment: 'quick \u0000' }, accounts[0]?.token)
      expect(made.status).toBe(201)
      expect(made.body).toMatchObject({ skill, rating: 5, comment: 'quick \ufffd' })
      expect(made.body.id).toMatch(/^rev_/)
      await Promise.all([
        review({ skill, rating: 4 }, accounts[1]?.token),
        review({ skill, rating: 4 }, accounts[2]?.token),
        ...Array.from({ length: 8 }, () => review({ skill, rating: 4 }, accounts[2]?.token)),
      ])
      expect(await reviewsOf(skill)).toMatchObject({ count: 3, average: 4.33 })
      await review({ skill, rating: 1 }, accounts[0]?.token)
      const after = await reviewsOf(skill)
      expect([after.count, after.average, after.reviews.length]).toEqual([3, 3, 3])
      expect(JSON.stringify(after)).not.toContain('org_')
      expect((await reviewsOf('mock/other')).count).toBe(0)
      expect((await review({ skill: 'Übersetzung 2 go', rating: 5 }, accounts[0]?.token)).status).toBe(201)
      expect((await reviewsOf('Übersetzung 2 go')).count).toBe(1)
    })

    test.each([
      [{ skill: 'a' }, 'rating must be 1-5'],
      [{ skill: 'a', rating: 0 }, 'rating must be 1-5'],
      [{ skill: 'a', rating: 6 }, 'rating must be 1-5'],
      [{ skill: 'a', rating: 4.5 }, 'rating must be 1-5'],
      [{ skill: 'a', rating: '5' }, 'rating must be 1-5'],
      [{ rating: 5 }, 'skill is required'],
      [{ skill: '', rating: 5 }, 'skill is required'],
      [{ skill: 7, rating: 5 }, 'skill is required'],
      [{ skill: '<script>', rating: 5 }, 'skill is required'],
      [{}, 'skill is required; rating must be 1-5'],
    ])('the review %j is refused: %s', async (body, error) => {
      const refused = await review(body)
      expect([refused.status, refused.body.error]).toEqual([400, error])
    })

    test('reviews are asked for by their skill', async () => {
      const refused = await server.get('/api/reviews')
      expect([refused.status, (await jsonOf(refused)).error]).toEqual([400, 'skill is required'])
      expect((await server.get('/api/reviews?skill=a', '')).status).toBe(401)
    })
  })
