/** A company is asked again about a person who stays signed in, and whom it refuses is out on all processes. On both engines. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Secret } from '../../src/core/secret.ts'
import { systemClock } from '../../src/core/time.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { type Issuer, startIssuer } from './issuer.ts'
import { ORIGIN, somebody, startConsole, startConsoleOn, type TestConsole } from './rig.ts'

const MINUTES_MS = 60_000
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

for (const engine of serverEngines)
  describe(engine.name, () => {
    let issuer: Issuer
    let it: Awaited<ReturnType<typeof startConsoleOn>>
    let other: TestConsole
    let ahead = 0
    const clock = { ...systemClock, now: () => systemClock.now() + ahead }
    beforeAll(async () => {
      issuer = await startIssuer()
      const settings = {
        oidcIssuer: issuer.address,
        oidcClientId: issuer.client.id,
        oidcClientSecret: new Secret(issuer.client.secret),
        oidcScopes: 'openid email profile offline_access',
      }
      const setup = { settings, clock, options: { guestRpm: 10_000 } }
      it = await startConsoleOn(engine, setup)
      // A database in memory is of one process.
      other = engine.lasting ? await startConsole({ ...setup, url: it.url }) : it
      other.answerWith(() => completion('hello'))
    })
    afterAll(async () => {
      if (other !== it) await other.stop()
      await it.stop()
      await issuer.stop()
    })
    beforeEach(() => {
      ahead = 0
    })

    const form = async (path: string, members: Record<string, string>) => {
      const body = new URLSearchParams(members)
      const answer = await it.fetch(new Request(`${ORIGIN}${path}`, { method: 'POST', body }))
      return { status: answer.status, body: await jsonOf(answer) }
    }
    /** As a browser does; undefined for somebody who is not let in. */
    const throughCompany = async () => {
      const begun = await it.stranger('POST', '/session/companies/company')
      const sent = await fetch((await jsonOf(begun)).url, { redirect: 'manual' })
      const back = new URL(sent.headers.get('location') ?? '')
      const path = `${back.pathname.replace('/console/api', '')}${back.search}`
      return it.cookieOf(await it.withCookie(it.cookieOf(begun))('GET', path))
    }
    /** A person whom the company signs in. */
    const employee = async () => {
      const email = somebody()
      const { personId } = await it.visit(email, 'developer')
      const claims = { sub: email, email, email_verified: true }
      issuer.says(claims)
      return { email, personId, claims, cookie: await throughCompany() }
    }
    const agentOf = async (cookie: string) => {
      const { body: asked } = await form('/oauth/device_authorization', { surface: 'test' })
      const approved = await it.withCookie(cookie)('POST', `/logins/asked/${asked.user_code}/approve`, {})
      expect(approved.status).toBe(201)
      return (await form('/oauth/token', { grant_type: DEVICE, device_code: asked.device_code })).body
    }
    const refresh = (refresh_token: string) =>
      form('/oauth/token', { grant_type: 'refresh_token', refresh_token })
    const call = async (token: string) =>
      (await other.post('/v1/chat/completions', chat({ max_tokens: 5 }), {}, token)).status
    const isSignedIn = async (cookie: string) =>
      (await jsonOf(await it.withCookie(cookie)('GET', '/session'))).person !== null
    const accountOf = async (user: string) => {
      const of = [
        { column: 'user_id', is: '=', value: user },
        { column: 'provider_id', is: '=', value: 'company' },
      ] as const
      return (await it.store.people.find('person_account', { where: of }))[0]
    }

    test('each refresh after a while asks the provider once, with the token that it gave last', async () => {
      const { personId, cookie } = await employee()
      const agent = await agentOf(cookie)
      const before = issuer.refreshesAsked()
      // It was asked a moment ago, at the sign-in.
      expect((await refresh(agent.refresh_token)).status).toBe(200)
      expect(issuer.refreshesAsked()).toBe(before)
      for (let hour = 1; hour <= 3; hour++) {
        ahead = hour * 60 * MINUTES_MS
        const both = await Promise.all([refresh(agent.refresh_token), refresh(agent.refresh_token)])
        expect(both.map(({ status }) => status)).toEqual([200, 200])
        expect(issuer.refreshesAsked()).toBe(before + hour)
      }
      expect(await call(agent.access_token)).toBe(401)
      expect(await call((await refresh(agent.refresh_token)).body.access_token)).toBe(200)
      // It is stored, and nobody reads it without the server's secret.
      const account = await accountOf(personId)
      expect(String(account?.refresh_token)).toMatch(/^[\w-]{60,}$/)
      expect(account).toMatchObject({ access_token: null, id_token: null })
    })

    test('whom the provider refuses is out on all processes, and comes back by the company alone', async () => {
      const { email, claims, cookie } = await employee()
      const [one, two] = [await agentOf(cookie), await agentOf(cookie)]
      expect(await call(two.access_token)).toBe(200)
      ahead = 2 * MINUTES_MS
      issuer.says(claims, { refreshed: 'invalid_grant' })
      const refused = await refresh(one.refresh_token)
      expect([refused.status, refused.body.error]).toEqual([401, 'invalid_grant'])
      expect([await call(one.access_token), await call(two.access_token)]).toEqual([401, 401])
      expect((await refresh(two.refresh_token)).status).toBe(401)
      expect(await isSignedIn(cookie)).toBe(false)
      const [event] = await it.store.events.list({ orgId: 'people', most: 1 })
      expect(event).toMatchObject({ what: 'person.refused', after: { by: issuer.address } })
      // Another way in does not pass by the company.
      const token = await it.link(email, { how: 'operator', by: 'test' })
      const linked = it.cookieOf(await it.stranger('POST', '/session/link', { token }))
      expect(await isSignedIn(linked)).toBe(false)
      issuer.says(claims)
      const again = await throughCompany()
      expect(await isSignedIn(again)).toBe(true)
      expect(await call((await agentOf(again)).access_token)).toBe(200)
    })

    test('a token about somebody else is a refusal', async () => {
      const { claims, cookie } = await employee()
      const agent = await agentOf(cookie)
      ahead = 2 * MINUTES_MS
      issuer.says({ ...claims, sub: 'another' })
      expect((await refresh(agent.refresh_token)).status).toBe(401)
    })

    test('a session of the console is asked for each hour, and ends by a refusal', async () => {
      const { claims, cookie } = await employee()
      const agent = await agentOf(cookie)
      issuer.says(claims, { refreshed: 'invalid_grant' })
      ahead = 59 * MINUTES_MS
      expect(await isSignedIn(cookie)).toBe(true)
      ahead = 61 * MINUTES_MS
      expect(await isSignedIn(cookie)).toBe(false)
      ahead = 0
      expect(await call(agent.access_token)).toBe(401)
    })

    test('a provider that fails, or does not know this server, ends nobody for a day; then agents wait', async () => {
      const { claims, cookie } = await employee()
      const agent = await agentOf(cookie)
      for (const refreshed of ['down', 'invalid_client'] as const) {
        issuer.says(claims, { refreshed })
        const heard = ahead
        ahead = heard + 23 * 60 * MINUTES_MS
        expect((await refresh(agent.refresh_token)).status).toBe(200)
        ahead = heard + 25 * 60 * MINUTES_MS
        const late = await refresh(agent.refresh_token)
        expect([late.status, late.body.error]).toEqual([503, 'temporarily_unavailable'])
        expect(await isSignedIn(cookie)).toBe(true)
        issuer.says(claims)
        ahead = heard + 27 * 60 * MINUTES_MS
        expect((await refresh(agent.refresh_token)).status).toBe(200)
      }
    })
  })
