/** Signing in and out of the console: links, passwords, codes, sessions, limits. On both engines. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { StoreFault } from '../../src/store/faults.ts'
import { jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { PASSWORD, somebody, startConsole, startConsoleOn, type TestConsole } from './rig.ts'
import { codeOf } from './totp-code.ts'

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    beforeAll(async () => {
      it = await startConsoleOn(engine)
    })
    afterAll(() => it.stop())

    test('a link signs in once, sets a password, and the password signs in', async () => {
      const email = somebody()
      const visitor = await it.visit(email, 'owner')
      const session = await jsonOf(await visitor.ask('GET', '/session'))
      expect(session.person).toMatchObject({ email, operator: false, has_password: true })
      expect(session.organisation).toMatchObject({ id: 'org_test', role: 'owner', acts_for: false })
      const token = await it.link(email)
      const [one, two] = await Promise.all([1, 2].map(() => it.stranger('POST', '/session/link', { token })))
      expect([one?.status, two?.status].sort()).toEqual([200, 401])
      expect((await it.stranger('POST', '/session/password', { email, password: PASSWORD })).status).toBe(200)
    })

    test('a link whose sign-in failed for want of the ledger signs in at the next try', async () => {
      const failing = await startConsoleOn(engine, { ledgerFails: true })
      try {
        const email = somebody()
        await failing.visit(email, 'owner')
        const token = await failing.link(email)
        for (const method of ['create', 'update'] as const) {
          // The link is used up by the time that the session, or the password, is to be stored.
          const gone = spyOn(failing.store.people, method).mockImplementationOnce(async () => {
            throw new StoreFault('the ledger went away')
          })
          const failed = await failing.stranger('POST', '/session/link', { token, password: PASSWORD })
          gone.mockRestore()
          expect([method, failed.status]).toEqual([method, 503])
        }
        const signIn = () => failing.stranger('POST', '/session/link', { token })
        expect([(await signIn()).status, (await signIn()).status]).toEqual([200, 401])
      } finally {
        await failing.stop()
      }
    })

    test('a link that is old, and one that nobody made, sign nobody in', async () => {
      const email = somebody()
      await it.visit(email, 'viewer')
      const token = await it.link(email)
      await it.store.people.update(
        'person_verification',
        [{ column: 'identifier', is: '=', value: `magic-link:${it.hashOfLink(token)}` }],
        { expires_at: new Date(Date.now() - 1_000).toISOString() },
      )
      expect((await it.stranger('POST', '/session/link', { token })).status).toBe(401)
      expect((await it.stranger('POST', '/session/link', { token: 'x'.repeat(43) })).status).toBe(401)
    })

    test('a wrong password is answered alike for known and unknown people, and guesses end', async () => {
      const email = somebody()
      await it.visit(email, 'owner')
      const guess = async (who: string) => {
        const response = await it.stranger('POST', '/session/password', {
          email: who,
          password: 'wrong password',
        })
        const { error } = await jsonOf(response)
        return { status: response.status, code: error.code, message: error.message }
      }
      const [known, unknown] = [await guess(email), await guess(somebody())]
      expect(known).toEqual(unknown)
      expect(known).toMatchObject({ status: 401, code: 'sign_in_failed' })
      // Windows are of the clock: one may turn in between.
      let guesses = 1
      while (guesses < 20 && (await guess(email)).status !== 429) guesses++
      expect([guesses >= 10, guesses < 20]).toEqual([true, true])
      // Not even the right one helps then.
      expect((await it.stranger('POST', '/session/password', { email, password: PASSWORD })).status).toBe(429)
    })

    test('a new password ends all other sessions, and signing out ends this one', async () => {
      const email = somebody()
      const first = await it.visit(email, 'admin')
      const second = await it.stranger('POST', '/session/password', { email, password: PASSWORD })
      const other = it.withCookie(it.cookieOf(second))
      expect((await other('GET', '/keys')).status).toBe(200)
      const changed = await first.ask('PUT', '/session/new-password', {
        current: PASSWORD,
        password: 'another long password',
      })
      expect(changed.status).toBe(200)
      expect((await other('GET', '/keys')).status).toBe(401)
      expect((await first.ask('GET', '/keys')).status).toBe(200)
      expect((await first.ask('DELETE', '/session')).status).toBe(200)
      expect((await first.ask('GET', '/keys')).status).toBe(401)
    })

    test('with a second factor the password alone is not enough, and a code works once', async () => {
      const email = somebody()
      const visitor = await it.visit(email, 'owner')
      const started = await jsonOf(await visitor.ask('POST', '/session/totp', { password: PASSWORD }))
      const secret = new URL(started.uri).searchParams.get('secret') ?? ''
      expect((await visitor.ask('PUT', '/session/totp', { code: codeOf(secret) })).status).toBe(200)
      const without = await it.stranger('POST', '/session/password', { email, password: PASSWORD })
      expect([without.status, (await jsonOf(without)).error.code]).toEqual([401, 'code_required'])
      const wrong = await it.stranger('POST', '/session/password', {
        email,
        password: PASSWORD,
        code: '000000',
      })
      expect(wrong.status).toBe(401)
      const right = await it.stranger('POST', '/session/password', {
        email,
        password: PASSWORD,
        code: started.backup_codes[0],
      })
      expect(right.status).toBe(200)
      const again = await it.stranger('POST', '/session/password', {
        email,
        password: PASSWORD,
        code: started.backup_codes[0],
      })
      expect(again.status).toBe(401)
    })
  })

test('while the store is away the console says so, as everything else does', async () => {
  const it = await startConsole({ ledgerFails: true })
  const visitor = await it.visit('owner@example.com', 'owner')
  await it.store.close()
  for (const path of ['/session', '/keys']) {
    const response = await visitor.ask('GET', path)
    expect([path, response.status, (await jsonOf(response)).error.code]).toEqual([
      path,
      503,
      'service_unavailable',
    ])
  }
})
