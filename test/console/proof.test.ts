/** Accounts belong to who owns the address: what proves it, what it ends, and what is refused before. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { PROOF_MS } from '../../src/control/people/proof.ts'
import { jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { PASSWORD, somebody, startConsoleOn, type TestConsole, type Visitor } from './rig.ts'
import { codeOf } from './totp-code.ts'

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    let operator: Visitor
    beforeAll(async () => {
      it = await startConsoleOn(engine, { settings: { signUp: 'invite' } })
      owner = await it.visit(somebody(), 'owner')
      operator = await it.visit(somebody(), 'owner', 'operator', true)
    })
    afterAll(() => it.stop())

    const enter = (token: string, more: object = {}) =>
      it.stranger('POST', '/session/link', { token, ...more })
    const secretOf = (link: string) => link.split('#')[1] ?? ''
    const newAccount = (email: string) =>
      operator.ask('POST', '/operator/accounts', { name: 'Acme', owner_email: email })

    /** Somebody who invites an address of another, sees its link and takes the account. */
    const taken = async () => {
      const email = somebody()
      const { id, link } = await jsonOf(await owner.ask('POST', '/team', { email, role: 'viewer' }))
      const signed = await enter(secretOf(link), { password: PASSWORD })
      expect(signed.status).toBe(200)
      return { email, id: String(id), ask: it.withCookie(it.cookieOf(signed)) }
    }

    test('an account that nobody has proved is added nowhere by its address', async () => {
      const { email, id } = await taken()
      const other = await it.visit(somebody(), 'owner', 'org_else')
      for (const response of [
        await other.ask('POST', '/team', { email, role: 'admin' }),
        await newAccount(email),
      ]) {
        const { error } = await jsonOf(response)
        expect([response.status, error.code, error.reason]).toEqual([403, 'forbidden', 'not_proved'])
        expect(error.message).toContain('turnpike person reset-link')
      }
      expect((await it.store.members.list({ personId: id })).map(({ orgId }) => orgId)).toEqual(['org_test'])
    })

    test('the first proof ends whatever else signs in to the account, and the account is added then', async () => {
      const { email, ask, id } = await taken()
      const another = await it.link(email)
      expect((await ask('GET', '/team')).status).toBe(200)
      const proved = await enter(await it.link(email, { how: 'operator', by: 'test' }), {
        password: 'what only the owner knows',
      })
      expect(proved.status).toBe(200)
      expect((await ask('GET', '/team')).status).toBe(401)
      expect((await enter(another)).status).toBe(401)
      const signIn = (password: string) => it.stranger('POST', '/session/password', { email, password })
      expect((await signIn(PASSWORD)).status).toBe(401)
      expect((await signIn('what only the owner knows')).status).toBe(200)
      const [event] = await it.store.events.list({
        orgId: 'people',
        about: { what: 'person.proved', subject: id },
        most: 1,
      })
      expect(event?.after).toEqual({ how: 'operator', by: 'test' })
      // An account that is known is no secret of who adds it: no link is shown.
      const made = await newAccount(email)
      expect(made.status).toBe(201)
      expect(await jsonOf(made)).toMatchObject({ sent: false, link: null })
    })

    test('a proof holds for a year after it was last renewed', async () => {
      const { email, personId } = await it.visit(somebody(), 'viewer')
      const at = [{ column: 'id', is: '=', value: personId }] as const
      const proved = (ms: number) =>
        it.store.people.update('person', at, { proved_at: new Date(Date.now() - ms).toISOString() })
      await proved(PROOF_MS + 1_000)
      expect((await newAccount(email)).status).toBe(403)
      // What is renewed ends nothing.
      expect((await enter(await it.link(email, { how: 'operator', by: 'test' }))).status).toBe(200)
      expect((await it.stranger('POST', '/session/password', { email, password: PASSWORD })).status).toBe(200)
      expect((await newAccount(email)).status).toBe(201)
    })

    test('two who add one new address at once: one gets its link, the other is refused', async () => {
      const other = await it.visit(somebody(), 'owner', `org_${crypto.randomUUID()}`)
      for (let n = 0; n < 10; n++) {
        const email = somebody()
        const answers = await Promise.all(
          [owner, other].map((who) => who.ask('POST', '/team', { email, role: 'viewer' })),
        )
        expect(answers.map(({ status }) => status).sort()).toEqual([201, 403])
      }
    })

    test('a link of somebody with a second factor needs a code too, and a wrong one leaves the link', async () => {
      const visitor = await it.visit(somebody(), 'owner')
      const started = await jsonOf(await visitor.ask('POST', '/session/totp', { password: PASSWORD }))
      const secret = new URL(started.uri).searchParams.get('secret') ?? ''
      expect((await visitor.ask('PUT', '/session/totp', { code: codeOf(secret) })).status).toBe(200)
      const token = await it.link(visitor.email, { how: 'mail', by: visitor.email })
      const without = await enter(token, { password: 'another long password' })
      expect([without.status, (await jsonOf(without)).error.code]).toEqual([401, 'code_required'])
      expect((await enter(token, { code: '000000' })).status).toBe(401)
      const before = await it.store.people.count('person_session', [
        { column: 'user_id', is: '=', value: visitor.personId },
      ])
      expect((await enter(token, { code: '000001' })).status).toBe(401)
      expect(
        await it.store.people.count('person_session', [
          { column: 'user_id', is: '=', value: visitor.personId },
        ]),
      ).toBe(before)
      const right = await enter(token, { code: started.backup_codes[0], password: 'another long password' })
      expect(right.status).toBe(200)
      // The new password does not turn the codes off: that takes a code as well.
      const ask = it.withCookie(it.cookieOf(right))
      const off = (code: string) =>
        ask('POST', '/session/totp/off', { password: 'another long password', code })
      expect((await ask('POST', '/session/totp/off', { password: 'another long password' })).status).toBe(400)
      expect((await off('000002')).status).toBe(401)
      expect((await off(started.backup_codes[1])).status).toBe(200)
    })

    test('guesses of a code are counted wherever one is asked for', async () => {
      const visitor = await it.visit(somebody(), 'owner')
      await visitor.ask('POST', '/session/totp', { password: PASSWORD })
      const codes = []
      for (let n = 0; n < 12; n++)
        codes.push(
          (await visitor.ask('PUT', '/session/totp', { code: String(100_000 + n) })).status,
          (await visitor.ask('POST', '/session/totp', { password: 'a guess' })).status,
        )
      expect(codes.slice(0, 4)).toEqual([401, 401, 401, 401])
      expect(codes.slice(-2)).toEqual([429, 429])
    })
  })
