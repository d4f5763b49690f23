/** Signing in from an agent: the device flow, its tokens, their end, and what an agent is told. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { performAs } from '../../src/cli/run/control.ts'
import { personLink } from '../../src/control/people/persons.ts'
import { newAccessToken } from '../../src/gateway/enter/access-token.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { ORIGIN, somebody, startConsole, startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

type Asked = {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri_complete: string
}
type Tokens = { readonly access_token: string; readonly refresh_token: string; readonly email: string }

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    beforeAll(async () => {
      it = await startConsoleOn(engine, { options: { guestRpm: 10_000 } })
      it.answerWith(() => completion('hello'))
    })
    afterAll(() => it.stop())

    const form = (path: string, members: Record<string, string>): Promise<Response> =>
      it.fetch(
        new Request(`${ORIGIN}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams(members).toString(),
        }),
      )
    const askSignIn = async (): Promise<Asked> =>
      jsonOf(await form('/oauth/device_authorization', { surface: 'claude_code' }))
    const poll = ({ device_code }: Asked) => form('/oauth/token', { grant_type: DEVICE, device_code })
    const refresh = (refresh_token: string) =>
      form('/oauth/token', { grant_type: 'refresh_token', refresh_token })
    const approve = (by: Visitor, { user_code }: Asked) =>
      by.ask('POST', `/logins/asked/${user_code}/approve`, {})
    const signIn = async (by: Visitor): Promise<Tokens & { readonly key: string }> => {
      const asked = await askSignIn()
      const { key } = await jsonOf(await approve(by, asked))
      return { ...(await jsonOf(await poll(asked))), key }
    }
    const call = async (token: string) => {
      const answer = await it.post('/v1/chat/completions', chat({ max_tokens: 5 }), {}, token)
      const body = await jsonOf(answer)
      return {
        status: answer.status,
        code: body.error?.code,
        reason: body.error?.reason,
        headers: answer.headers,
      }
    }
    const errorOf = async (answer: Response) => [answer.status, (await jsonOf(answer)).error]
    const joined = async (role: 'owner' | 'developer' | 'viewer') => it.visit(somebody(), role)

    test('an agent finds where it signs people in', async () => {
      const found = await it.fetch(new Request(`${ORIGIN}/.well-known/oauth-authorization-server`))
      expect(await jsonOf(found)).toMatchObject({
        issuer: ORIGIN,
        device_authorization_endpoint: `${ORIGIN}/oauth/device_authorization`,
        token_endpoint: `${ORIGIN}/oauth/token`,
        revocation_endpoint: `${ORIGIN}/oauth/revoke`,
      })
    })

    test('what an agent calls itself cannot pass for something else where a person approves it', async () => {
      const person = await joined('developer')
      const surface = 'edoc \u202eedualc\n\u009b31m'
      const asked: Asked = await jsonOf(await form('/oauth/device_authorization', { surface }))
      const shown = await jsonOf(await person.ask('GET', `/logins/asked/${asked.user_code}`))
      expect(shown.surface).toBe('edoc \ufffdedualc\ufffd\ufffd31m')
    })

    test('a person approves the code, and the agent calls as that person', async () => {
      const person = await joined('developer')
      const asked = await askSignIn()
      expect(asked.verification_uri_complete).toBe(`${ORIGIN}/console/device?user_code=${asked.user_code}`)
      expect(await errorOf(await poll(asked))).toEqual([400, 'authorization_pending'])
      expect(await errorOf(await poll(asked))).toEqual([429, 'slow_down'])
      const shown = await jsonOf(await person.ask('GET', `/logins/asked/${asked.user_code.toLowerCase()}`))
      expect(shown).toMatchObject({ surface: 'claude_code' })
      expect((await approve(person, asked)).status).toBe(201)
      const tokens: Tokens = await jsonOf(await poll(asked))
      expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3600, email: person.email })
      expect(await call(tokens.access_token)).toMatchObject({ status: 200 })
      // An answer that was lost is given again.
      expect((await jsonOf(await poll(asked))).refresh_token).toBe(tokens.refresh_token)
      const { data } = await jsonOf(await person.ask('GET', '/calls?limit=1'))
      expect(data[0].key.label).toBe(`Agents of ${person.email}`)
      // A token that has ended says so, and another is had for the refresh token alone.
      const [, keyId = '', login = ''] = /^sk-at-(key_\w+)-([0-9a-f]+)-/.exec(tokens.access_token) ?? []
      const ended = await call(newAccessToken(it.gateway, { keyId, login }, Date.now()))
      expect(ended).toMatchObject({ status: 401, code: 'invalid_api_key', reason: 'sign_in_ended' })
      expect(ended.headers.get('x-should-retry')).toBe('false')
      const next: Tokens = await jsonOf(await refresh(tokens.refresh_token))
      expect(await call(next.access_token)).toMatchObject({ status: 200 })
    })

    test('whoever asks too often is told to slow down, in the words that agents know', async () => {
      const one = await startConsole({ options: { guestRpm: 1 } })
      const ask = () =>
        one.fetch(
          new Request(`${ORIGIN}/oauth/token`, { method: 'POST', body: new URLSearchParams({ a: '1' }) }),
        )
      expect(await errorOf(await ask())).toEqual([400, 'invalid_request'])
      expect(await errorOf(await ask())).toEqual([429, 'slow_down'])
      await one.stop()
    })

    test('what nobody approved gives no token', async () => {
      const person = await joined('developer')
      const denied = await askSignIn()
      expect((await person.ask('POST', `/logins/asked/${denied.user_code}/deny`, {})).status).toBe(200)
      expect(await errorOf(await poll(denied))).toEqual([400, 'access_denied'])
      expect((await approve(person, denied)).status).toBe(404)
      const asked = await askSignIn()
      expect((await approve(await joined('viewer'), asked)).status).toBe(403)
      expect((await it.stranger('POST', `/logins/asked/${asked.user_code}/approve`, {})).status).toBe(401)
      expect(await errorOf(await form('/oauth/token', { grant_type: DEVICE, device_code: 'x' }))).toEqual([
        400,
        'expired_token',
      ])
      expect(await errorOf(await form('/oauth/token', { grant_type: 'password' }))).toEqual([
        400,
        'unsupported_grant_type',
      ])
      expect(await errorOf(await form('/oauth/token', {}))).toEqual([400, 'invalid_request'])
      expect(await errorOf(await refresh('rt-none'))).toEqual([401, 'invalid_grant'])
    })

    test('a forged, changed or foreign token is none', async () => {
      const { access_token: token } = await signIn(await joined('developer'))
      const key = await it.newKey()
      const [, id = ''] = /^sk-at-(key_\w+)-/.exec(token) ?? []
      const later = token.replace(/-[0-9a-z]+-(?=[0-9a-f]{64}$)/, '-zzzzzzzz-')
      for (const forged of [
        token.replace(id, key.id),
        later,
        `${token.slice(0, -1)}x`,
        'sk-at-key_1-zzzzzzzz',
      ])
        expect(await call(forged)).toMatchObject({ status: 401, code: 'invalid_api_key' })
    })

    test('two approvals of one code sign one agent in, and two codes share the limits of their person', async () => {
      const person = await joined('developer')
      const asked = await askSignIn()
      const both = await Promise.all([approve(person, asked), approve(person, asked)])
      expect(both.map(({ status }) => status).sort()).toEqual([201, 404])
      const first: Tokens = await jsonOf(await poll(asked))
      const [second, third] = await Promise.all([signIn(person), signIn(person)])
      const owner = await joined('owner')
      const { data } = await jsonOf(await owner.ask('GET', '/keys?which=own&search=Agents of'))
      const above = data.filter((one: { label: string }) => one.label === `Agents of ${person.email}`)
      expect(above).toHaveLength(1)
      const cap = { spend_cap_usd: '0.00000001' }
      expect((await person.ask('PUT', `/keys/${above[0].id}`, cap)).status).toBe(403)
      expect((await owner.ask('PUT', `/keys/${above[0].id}`, cap)).status).toBe(200)
      for (const { access_token: token } of [first, second, third])
        expect([402, 403]).toContain((await call(token)).status)
      // Who has reached a cap is told so, and stays signed in.
      expect((await refresh(first.refresh_token)).status).toBe(200)
    })

    test('an agent that signs out, and a person who is removed, stop at once', async () => {
      const [person, owner] = [await joined('developer'), await joined('owner')]
      const [out, stays] = [await signIn(person), await signIn(person)]
      expect((await form('/oauth/revoke', { token: out.access_token })).status).toBe(200)
      expect(await call(out.access_token)).toMatchObject({ status: 401 })
      expect(await errorOf(await refresh(out.refresh_token))).toEqual([401, 'invalid_grant'])
      // Found: by a token whose hour was over an agent was told that it is signed out, and its refresh token lived on.
      const slept = await signIn(person)
      const [, login = ''] = /-([0-9a-f]{24})-/.exec(slept.access_token) ?? []
      const late = newAccessToken(it.gateway, { keyId: slept.key, login }, Date.now() - 60_000)
      expect((await form('/oauth/revoke', { token: late })).status).toBe(200)
      expect(await errorOf(await refresh(slept.refresh_token))).toEqual([401, 'invalid_grant'])
      const forged = `${stays.access_token.slice(0, -1)}${stays.access_token.endsWith('0') ? '1' : '0'}`
      expect((await form('/oauth/revoke', { token: forged })).status).toBe(200)
      expect(await call(stays.access_token)).toMatchObject({ status: 200 })
      expect((await owner.ask('DELETE', `/team/${person.personId}`)).status).toBe(200)
      expect(await call(stays.access_token)).toMatchObject({ status: 403, code: 'key_disabled' })
      expect(await errorOf(await refresh(stays.refresh_token))).toEqual([401, 'invalid_grant'])
    })

    test('agents of a lost device, and of who had an account before its owner proved it, are signed out', async () => {
      const ends = async (person: Visitor, what: () => Promise<unknown>) => {
        const [there, waiting] = [await signIn(person), await askSignIn()]
        expect((await approve(person, waiting)).status).toBe(201)
        expect(await call(there.access_token)).toMatchObject({ status: 200 })
        await what()
        expect(await call(there.access_token)).toMatchObject({ status: 401, reason: 'sign_in_ended' })
        expect(await errorOf(await refresh(there.refresh_token))).toEqual([401, 'invalid_grant'])
        expect(await errorOf(await poll(waiting))).toEqual([400, 'expired_token'])
      }
      const loser = await joined('developer')
      const lost = { person: loser.personId, lost_device: true }
      await ends(loser, () => performAs('person reset-link', it.gateway, personLink, lost))
      const { personId, email } = loser
      const again = await it.visit(email)
      await it.store.people.update('person', [{ column: 'id', is: '=', value: personId }], {
        proved_at: null,
      })
      const proof = { how: 'mail', by: email } as const
      await ends(again, async () =>
        it.stranger('POST', '/session/link', { token: await it.link(email, proof) }),
      )
      // The key of the person's agents is as it was.
      expect((await signIn(await it.visit(email))).access_token).toStartWith('sk-at-')
    })

    test('an organisation tells its agents settings, and its agents send telemetry', async () => {
      const owner = await joined('owner')
      const { access_token: token } = await signIn(owner)
      const settings = { permissions: { deny: ['WebFetch'] }, env: { B: '2', A: '1' } }
      const get = (headers: Record<string, string> = {}) =>
        it.fetch(
          new Request(`${ORIGIN}/managed/settings`, {
            headers: { authorization: `Bearer ${token}`, ...headers },
          }),
        )
      expect((await get()).status).toBe(404)
      expect((await owner.ask('PUT', '/agent-settings', { settings: [] })).status).toBe(400)
      expect((await owner.ask('PUT', '/agent-settings', { settings })).status).toBe(200)
      const inOrder = '{"env":{"A":"1","B":"2"},"permissions":{"deny":["WebFetch"]}}'
      const checksum = `sha256:${createHash('sha256').update(inOrder).digest('hex')}`
      const told = await get()
      expect(await jsonOf(told)).toMatchObject({ checksum, settings })
      expect(told.headers.get('etag')).toBe(`"${checksum}"`)
      expect((await get({ 'if-none-match': `"${checksum}"` })).status).toBe(304)
      expect((await owner.ask('PUT', '/agent-settings', { settings: null })).status).toBe(200)
      expect((await get()).status).toBe(404)
      for (const signal of ['metrics', 'logs', 'traces'])
        expect((await it.post(`/v1/${signal}`, {}, {}, token)).status).toBe(200)
    })

    test('all sign-ins of a lost device are ended, however many there are', async () => {
      const person = await joined('developer')
      const { personId } = person
      const first = await signIn(person)
      const [{ keyId = '', orgId = '' } = {}] = await it.store.logins.logins({ orgId: 'org_test', personId })
      const by = { kind: 'person', id: personId, name: 'dev' } as const
      const hash = (n: number) => n.toString(16).padStart(24, '0')
      for (let n = 0; n < 120; n++) {
        const [id, userCode] = [hash(n), `CODE${n}`]
        const ask = { surface: 'ci', address: '', lifeMs: 600_000 }
        await it.store.logins.askLogin({ ...ask, id, deviceHash: `${personId} ${n}`, userCode })
        await it.store.logins.approveLogin(userCode, { personId, orgId, keyId }, by)
      }
      const last = await signIn(person)
      await performAs('person reset-link', it.gateway, personLink, { person: personId, lost_device: true })
      for (const { access_token: token } of [first, last])
        expect(await call(token)).toMatchObject({ status: 401, reason: 'sign_in_ended' })
      expect(await it.store.logins.logins({ orgId, personId })).toEqual([])
    })

    test('each approval and refusal is an event of its person', async () => {
      const person = await joined('developer')
      await signIn(person)
      await person.ask('POST', `/logins/asked/${(await askSignIn()).user_code}/deny`, {})
      const events = await it.store.events.list({ orgId: 'org_test', most: 10 })
      const own = events.filter(({ actor }) => actor.id === person.personId).map(({ what }) => what)
      expect(own.filter((what) => what.startsWith('login.'))).toEqual(['login.denied', 'login.approved'])
    })
  })
