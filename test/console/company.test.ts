/** Signing in by a company's own identity provider, against a real one on loopback. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Secret } from '../../src/core/secret.ts'
import { systemClock } from '../../src/core/time.ts'
import type { Company } from '../../src/settings/companies.ts'
import { byTest } from '../by-test.ts'
import { freePort } from '../free-port.ts'
import { jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { type Issuer, startIssuer } from './issuer.ts'
import { ORIGIN, PASSWORD, somebody, startConsole, startConsoleOn, type TestConsole } from './rig.ts'
import { codeOf } from './totp-code.ts'

/** Changes the way back, and says which cookie goes along. */
type Change = (back: URL, cookie: string) => string

for (const engine of serverEngines)
  describe(engine.name, () => {
    let issuer: Issuer
    let it: Awaited<ReturnType<typeof startConsoleOn>>
    let open: TestConsole
    const settings = () => ({
      oidcIssuer: issuer.address,
      oidcClientId: issuer.client.id,
      oidcClientSecret: new Secret(issuer.client.secret),
      oidcName: 'Acme',
    })
    beforeAll(async () => {
      issuer = await startIssuer()
      it = await startConsoleOn(engine, { settings: settings() })
      open = await startConsole({ url: it.url, settings: { ...settings(), oidcOrg: 'org_test' } })
    })
    afterAll(async () => {
      await open.stop()
      await it.stop()
      await issuer.stop()
    })

    /** Goes to the provider and comes back as a browser does; returns the console's answer. */
    const throughCompany = async (
      at: TestConsole = it,
      change: Change = (_, own) => own,
      company = 'company',
    ) => {
      const begun = await at.stranger('POST', `/session/companies/${company}`)
      const { url } = await jsonOf(begun)
      const sent = await fetch(url, { redirect: 'manual' })
      const back = new URL(sent.headers.get('location') ?? '')
      const cookie = change(back, at.cookieOf(begun))
      const path = `${back.pathname.replace('/console/api', '')}${back.search}`
      const response = await at.withCookie(cookie)('GET', path, undefined, { 'sec-fetch-site': 'cross-site' })
      return { response, back, cookie, at }
    }
    const cameIn = async ({ response, at }: Awaited<ReturnType<typeof throughCompany>>) => {
      const { person } = await jsonOf(await at.withCookie(at.cookieOf(response))('GET', '/session'))
      return [response.status, response.headers.get('location'), person?.email ?? null]
    }
    const failed = [302, '/console/sign-in?company=failed&by=company', null]
    const unverified = [302, '/console/sign-in?company=unverified&by=company', null]

    test('the page is told its name; somebody who was added comes in, by PKCE and a checked token', async () => {
      expect((await jsonOf(await it.stranger('GET', '/session'))).companies).toEqual([
        { id: 'company', name: 'Acme' },
      ])
      const email = somebody()
      const { personId } = await it.visit(email, 'admin')
      issuer.says({ sub: `sub ${email}`, email, email_verified: true, name: 'Ada' })
      const back = await throughCompany()
      expect(await cameIn(back)).toEqual([302, '/console', email])
      expect(back.back.origin).toBe(ORIGIN)
      const session = it.withCookie(it.cookieOf(back.response))
      expect((await session('GET', '/keys')).status).toBe(200)
      const [event] = await it.store.events.list({ orgId: 'people', most: 1 })
      expect(event).toMatchObject({ what: 'person.signed_in', subject: personId, after: { how: 'company' } })
      // None of the provider's tokens is kept.
      const accounts = await it.store.people.find('person_account', {
        where: [{ column: 'user_id', is: '=', value: personId }],
      })
      const linked = accounts.find(({ provider_id }) => provider_id === 'company')
      expect(linked).toMatchObject({ access_token: null, refresh_token: null, id_token: null })
      // From then on known by the provider's own name, even with another address.
      issuer.says({ sub: `sub ${email}`, email: somebody(), email_verified: true })
      expect((await cameIn(await throughCompany()))[2]).toBe(email)
    })

    test('the first company sign-in ends whatever else opens the account, the next ones nothing', async () => {
      const email = somebody()
      const before = await it.visit(email, 'owner')
      const started = await jsonOf(await before.ask('POST', '/session/totp', { password: PASSWORD }))
      const secret = new URL(started.uri).searchParams.get('secret') ?? ''
      const on = await before.ask('PUT', '/session/totp', { code: codeOf(secret) })
      const earlier = it.withCookie(it.cookieOf(on))
      const link = await it.link(email, { how: 'operator', by: 'test' })
      issuer.says({ sub: email, email, email_verified: true })
      const first = await throughCompany()
      expect(await cameIn(first)).toEqual([302, '/console', email])
      expect((await earlier('GET', '/keys')).status).toBe(401)
      expect((await it.stranger('POST', '/session/password', { email, password: PASSWORD })).status).toBe(401)
      expect((await it.stranger('POST', '/session/link', { token: link })).status).toBe(401)
      const [row] = await it.store.people.find('person', {
        where: [{ column: 'id', is: '=', value: before.personId }],
      })
      expect(row).toMatchObject({ proved_how: 'company', proved_by: issuer.address, two_factor_enabled: 0 })
      // A password that the owner sets after that is theirs.
      const token = await it.link(email, { how: 'operator', by: 'test' })
      expect((await it.stranger('POST', '/session/link', { token, password: PASSWORD })).status).toBe(200)
      expect(await cameIn(await throughCompany())).toEqual([302, '/console', email])
      expect((await it.stranger('POST', '/session/password', { email, password: PASSWORD })).status).toBe(200)
      expect((await it.withCookie(it.cookieOf(first.response))('GET', '/session')).status).toBe(200)
    })

    test('an operator is not found by an address, but linked from a session of their own', async () => {
      const email = somebody()
      const operator = await it.visit(email, 'owner', 'operator', true)
      const other = await it.visit(somebody(), 'owner')
      issuer.says({ sub: email, email, email_verified: true })
      const refused = [302, '/console/sign-in?company=operator&by=company', null]
      expect(await cameIn(await throughCompany())).toEqual(refused)
      const asOther = await throughCompany(it, (_, own) => `${own}; ${other.cookie}`)
      expect(asOther.response.headers.get('location')).toBe('/console/sign-in?company=operator&by=company')
      const linked = await throughCompany(it, (_, own) => `${own}; ${operator.cookie}`)
      expect(await cameIn(linked)).toEqual([302, '/console', email])
      expect(await cameIn(await throughCompany())).toEqual([302, '/console', email])
    })

    test('somebody whom nobody added does not come in, unless there is an organisation for them', async () => {
      const email = somebody()
      issuer.says({ sub: email, email, email_verified: true, name: 'New\u0000 \u202eweN' })
      expect(await cameIn(await throughCompany())).toEqual(failed)
      expect(await it.store.people.count('person', [{ column: 'email', is: '=', value: email }])).toBe(0)
      const joined = await throughCompany(open)
      expect(await cameIn(joined)).toEqual([302, '/console', email])
      const session = await jsonOf(await open.withCookie(open.cookieOf(joined.response))('GET', '/session'))
      expect(session.organisation).toMatchObject({ id: 'org_test', role: 'developer' })
      // What it is called cannot pass for something else, and does not keep it out.
      expect(session.person.name).toBe('New\ufffd \ufffdweN')
    })

    test('each company has its own provider, which speaks for its own addresses alone', async () => {
      const second = await startIssuer()
      const beta: Company = {
        ...{ id: 'beta', setting: 'companies.beta', name: 'Beta', issuer: second.address },
        ...{ clientId: second.client.id, clientSecret: new Secret(second.client.secret) },
        ...{ trustEmail: false, org: 'org_beta', role: 'viewer', groupsClaim: undefined },
        ...{ scopes: 'openid email' },
        domains: ['beta.example'],
      }
      const both = await startConsole({ url: it.url, settings: { ...settings(), companies: [beta] } })
      const beside = (change?: Change) => throughCompany(both, change, 'beta')
      try {
        expect((await jsonOf(await both.stranger('GET', '/session'))).companies).toEqual([
          { id: 'company', name: 'Acme' },
          { id: 'beta', name: 'Beta' },
        ])
        await both.store.wallets.createWallet({ id: 'wal_beta', orgId: 'org_beta', name: 'Beta' }, byTest)
        const bea = `bea-${crypto.randomUUID()}@Beta.example`
        second.says({ sub: bea, email: bea, email_verified: true, name: 'Bea' })
        const joined = await beside()
        expect(await cameIn(joined)).toEqual([302, '/console', bea.toLowerCase()])
        const session = await jsonOf(await both.withCookie(both.cookieOf(joined.response))('GET', '/session'))
        expect(session.organisation).toMatchObject({ id: 'org_beta', role: 'viewer' })
        // Somebody of another company, whom Beta's provider claims to know.
        const victim = somebody()
        await both.visit(victim, 'owner')
        second.says({ sub: 'mallory', email: victim, email_verified: true })
        const foreign = [302, '/console/sign-in?company=foreign&by=beta', null]
        expect(await cameIn(await beside())).toEqual(foreign)
        second.says({ sub: 'mallory', email: `new-${victim}`, email_verified: true })
        expect(await cameIn(await beside())).toEqual(foreign)
        // The answer of one provider is none of the other's.
        second.says({ sub: bea, email: bea, email_verified: true })
        const crossed = await beside((back, own) => {
          back.pathname = back.pathname.replace('/beta', '/company')
          return own
        })
        expect(await cameIn(crossed)).toEqual(failed)
        expect((await both.stranger('POST', '/session/companies/gamma')).status).toBe(404)
      } finally {
        await both.stop()
        await second.stop()
      }
    })

    test('groups that the provider lists give the role and the teams of the rule, at each sign-in', async () => {
      const grouped = await startConsole({
        url: it.url,
        settings: { ...settings(), oidcOrg: 'org_test', oidcGroupsClaim: 'groups' },
      })
      try {
        const by = { kind: 'command', id: 'test', name: 'test' } as const
        const team = `sub_${crypto.randomUUID()}`
        const made = { id: team, orgId: 'org_test', walletId: grouped.wallet, label: 'team', budget: 1_000n }
        await grouped.store.teams.createTeam(made, by)
        const groups = [
          { group: 'admins', role: 'admin' },
          { group: 'platform', role: 'developer', team, teamRole: 'admin' },
        ] as const
        await grouped.store.directory.setGroupRule('org_test', { defaultRole: null, groups }, by)
        const email = somebody()
        const signedIn = async (claims: object) => {
          issuer.says({ sub: email, email, email_verified: true, name: 'New', ...claims })
          const back = await throughCompany(grouped)
          const session = grouped.withCookie(grouped.cookieOf(back.response))
          const { organisation, person } = await jsonOf(await session('GET', '/session'))
          const [own] = (await grouped.store.teams.teamMembers('org_test')).filter(
            (one) => one.email === email,
          )
          return [person?.email, organisation?.role, own?.role]
        }
        expect(await signedIn({ groups: ['platform', 'others'] })).toEqual([email, 'developer', 'admin'])
        expect(await signedIn({ groups: ['admins'] })).toEqual([email, 'admin', undefined])
        // A provider that lists none has said nothing of them.
        expect(await signedIn({})).toEqual([email, 'admin', undefined])
        expect(await signedIn({ groups: [] })).toEqual([undefined, undefined, undefined])
        expect(await signedIn({ groups: ['admins'] })).toEqual([email, 'admin', undefined])
        await grouped.store.directory.setGroupRule('org_test', { defaultRole: 'developer', groups: [] }, by)
      } finally {
        await grouped.stop()
      }
    })

    test('somebody who was removed from that organisation does not join it again', async () => {
      const email = somebody()
      const { personId } = await open.visit(email, 'viewer')
      const owner = await open.visit(somebody(), 'owner')
      expect((await owner.ask('DELETE', `/team/${personId}`)).status).toBe(200)
      issuer.says({ sub: email, email, email_verified: true })
      const back = await throughCompany(open)
      const { organisation } = await jsonOf(
        await open.withCookie(open.cookieOf(back.response))('GET', '/session'),
      )
      expect(organisation ?? null).toBeNull()
    })

    test('an address that the provider calls not verified opens nobody’s account, and makes none', async () => {
      const email = somebody()
      const { personId } = await it.visit(email, 'owner')
      for (const email_verified of [false, 'false']) {
        issuer.says({ sub: `another than ${email}`, email, email_verified, name: 'Eve' })
        expect(await cameIn(await throughCompany())).toEqual(unverified)
      }
      const linked = [
        { column: 'user_id', is: '=', value: personId },
        { column: 'provider_id', is: '=', value: 'company' },
      ] as const
      expect(await it.store.people.count('person_account', linked)).toBe(0)
      // Whether an address has an account here is nothing that the answer tells.
      const nobody = somebody()
      issuer.says({ sub: nobody, email: nobody, email_verified: false, name: 'Nobody' })
      expect(await cameIn(await throughCompany())).toEqual(unverified)
      expect(await cameIn(await throughCompany(open))).toEqual(unverified)
      expect(await it.store.people.count('person', [{ column: 'email', is: '=', value: nobody }])).toBe(0)
      // A provider that leaves the claim out has not said it either.
      issuer.says({ sub: `sub ${email}`, email, name: 'Ada' })
      expect(await cameIn(await throughCompany())).toEqual(unverified)
      issuer.says({ sub: `sub ${email}`, email, email_verified: true, name: 'Ada' })
      expect(await cameIn(await throughCompany())).toEqual([302, '/console', email])
      // Who is known by the provider's own name needs no address.
      issuer.says({ sub: `sub ${email}`, email, email_verified: false })
      expect(await cameIn(await throughCompany())).toEqual([302, '/console', email])
    })

    test('the operator may trust the addresses of a provider that verifies none', async () => {
      const trusting = await startConsole({
        url: it.url,
        settings: { ...settings(), oidcTrustEmail: true },
      })
      try {
        for (const claims of [{ email_verified: false }, {}]) {
          const email = somebody()
          await trusting.visit(email, 'owner')
          issuer.says({ sub: email, email, ...claims, name: 'Ada' })
          expect(await cameIn(await throughCompany(trusting))).toEqual([302, '/console', email])
        }
      } finally {
        await trusting.stop()
      }
    })

    test('a token that was made for another client, or tells of another person, lets nobody in', async () => {
      const email = somebody()
      await it.visit(email, 'owner')
      const claims = { sub: email, email, email_verified: true }
      const { id } = issuer.client
      issuer.says({ ...claims, aud: [id, 'another'] })
      expect(await cameIn(await throughCompany())).toEqual(failed)
      issuer.says({ ...claims, aud: [id, 'another'], azp: 'another' })
      expect(await cameIn(await throughCompany())).toEqual(failed)
      issuer.says(claims, { withoutIdToken: true, userinfo: claims })
      expect(await cameIn(await throughCompany())).toEqual(failed)
      issuer.says({ sub: 'another' }, { userinfo: claims })
      expect(await cameIn(await throughCompany())).toEqual(failed)
      issuer.says({ sub: email }, { userinfo: { ...claims, email_verified: 'false' } })
      expect(await cameIn(await throughCompany())).toEqual(unverified)
      issuer.says({ sub: email }, { userinfo: claims })
      expect(await cameIn(await throughCompany())).toEqual([302, '/console', email])
      issuer.says({ ...claims, aud: [id, 'another'], azp: id })
      expect(await cameIn(await throughCompany())).toEqual([302, '/console', email])
    })

    test('a provider that falls silent on the way back is given up', async () => {
      const email = somebody()
      let patient = true
      const sleep = (ms: number) => systemClock.sleep(patient ? ms : Math.min(ms, 10))
      const short = await startConsole({
        url: it.url,
        settings: settings(),
        clock: { ...systemClock, sleep },
      })
      try {
        for (const silentAt of ['/token', '/userinfo'] as const) {
          issuer.says({ sub: email }, { silentAt })
          const back = throughCompany(short, (_, own) => {
            patient = false
            return own
          })
          expect(await cameIn(await back)).toEqual(failed)
          patient = true
        }
      } finally {
        await short.stop()
      }
    })

    test('a token of another signer, a state of another browser, and an answer used twice let nobody in', async () => {
      const email = somebody()
      await it.visit(email, 'owner')
      issuer.says({ sub: email, email, email_verified: true }, { byStranger: true })
      expect(await cameIn(await throughCompany())).toEqual(failed)
      issuer.says({ sub: email, email, email_verified: true })
      // A person who was sent the address of an answer has not begun the sign-in: the cookie is missing, or is of
      // another one.
      expect((await cameIn(await throughCompany(it, () => '')))[2]).toBeNull()
      const others = it.cookieOf(await it.stranger('POST', '/session/companies/company'))
      expect((await cameIn(await throughCompany(it, () => others)))[2]).toBeNull()
      const wrongState = await throughCompany(it, (back, own) => {
        back.searchParams.set('state', 'x'.repeat(32))
        return own
      })
      expect((await cameIn(wrongState))[2]).toBeNull()
      const first = await throughCompany()
      expect((await cameIn(first))[2]).toBe(email)
      const given = issuer.tokensGiven()
      const path = `${first.back.pathname.replace('/console/api', '')}${first.back.search}`
      const again = await it.withCookie(first.cookie)('GET', path)
      expect((await cameIn({ ...first, response: again }))[2]).toBeNull()
      expect(issuer.tokensGiven()).toBe(given)
    })

    test('a provider that was away at first lets people in once it is there', async () => {
      const port = await freePort()
      const late = await startConsole({
        settings: {
          oidcIssuer: `http://127.0.0.1:${port}`,
          oidcClientId: issuer.client.id,
          oidcClientSecret: new Secret(issuer.client.secret),
        },
      })
      const email = somebody()
      await late.visit(email, 'owner')
      const away = await late.stranger('POST', '/session/companies/company')
      expect([away.status, (await jsonOf(away)).error.code]).toEqual([503, 'service_unavailable'])
      const there = await startIssuer(port)
      try {
        there.says({ sub: email, email, email_verified: true })
        expect(await cameIn(await throughCompany(late))).toEqual([302, '/console', email])
      } finally {
        await late.stop()
        await there.stop()
      }
    })

    test('without a provider there is no such way in, and one that is away keeps nobody else out', async () => {
      const plain = await startConsole()
      try {
        expect((await plain.stranger('POST', '/session/companies/company')).status).toBe(404)
      } finally {
        await plain.stop()
      }
      const away = await startConsole({
        settings: { oidcIssuer: 'http://127.0.0.1:1', oidcClientId: 'x', oidcName: 'Away' },
      })
      try {
        const owner = await away.visit('owner@example.com', 'owner')
        expect((await owner.ask('GET', '/keys')).status).toBe(200)
        expect((await away.stranger('POST', '/session/companies/company')).status).not.toBe(200)
        expect((await owner.ask('GET', '/keys')).status).toBe(200)
      } finally {
        await away.stop()
      }
    })
  })
