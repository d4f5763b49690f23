/**
 * SCIM 2.0 as directories speak it: the requests that Okta (developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20) and
 * Entra ID (learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups) publish, what a user is here
 * from then on, and who is faster. On both engines.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { personBy } from '../../src/control/people/new-person.ts'
import { somebody, startConsoleOn, type TestConsole, type Visitor } from '../console/rig.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { machineOf } from './machine-rig.ts'

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const ORG = 'org_test'

for (const engine of serverEngines)
  describe(`SCIM on ${engine.name}`, () => {
    let it: TestConsole
    let owner: Visitor
    let credential = ''
    let others = ''
    beforeAll(async () => {
      it = await startConsoleOn(engine, {})
      it.answerWith(() => completion('hello'))
      owner = await it.visit(somebody(), 'owner')
      await it.store.wallets.createWallet(
        { id: 'wal_b', orgId: 'org_b', name: 'b' },
        { kind: 'command', id: 't', name: 't' },
      )
      const rights = ['directory']
      credential = (await machineOf(it, { rights, organisations: [ORG] })).credential
      others = (await machineOf(it, { rights, organisations: ['org_b'] })).credential
    })
    afterAll(() => it.stop())

    const ask = async (
      method: string,
      path: string,
      body?: unknown,
      more: Record<string, string> = {},
      as = credential,
    ) => {
      const answer = await it.fetch(
        new Request(`http://turnpike.test/scim/v2${path}`, {
          method,
          headers: {
            authorization: `Bearer ${as}`,
            ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
            ...more,
          },
          ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      )
      const text = await answer.text()
      const value: any = text === '' ? undefined : JSON.parse(text)
      return { status: answer.status, value, headers: answer.headers }
    }
    const user = (userName: string, more: object = {}) => ({
      schemas: [USER],
      userName,
      name: { givenName: 'Ada', familyName: 'Lovelace' },
      emails: [{ primary: true, value: userName, type: 'work' }],
      active: true,
      ...more,
    })
    const patch = (...Operations: object[]) => ({ schemas: [PATCH], Operations })
    const roleOf = async (email: string) => {
      const person = await personBy(it.store.people, email)
      const members =
        person === undefined ? [] : await it.store.members.list({ orgId: ORG, personId: person.id })
      return members[0]?.role
    }
    const made = async (userName = somebody(), more: object = {}) =>
      (await ask('POST', '/Users', user(userName, more))).value
    const call = async (token: string) =>
      (await it.post('/v1/chat/completions', chat({ max_tokens: 5 }), {}, token)).status
    const team = async () =>
      (await jsonOf(await owner.ask('POST', '/teams', { name: `t ${crypto.randomUUID()}`, budget_usd: '5' })))
        .id as string
    const rule = (groups: object[], role: string | null = 'developer') =>
      owner.ask('PUT', '/group-rule', { default_role: role, groups })

    test('says what it can, and shows its schemas to everybody', async () => {
      const { value } = await ask('GET', '/ServiceProviderConfig', undefined, {}, '')
      expect([
        value.patch.supported,
        value.filter.supported,
        value.etag.supported,
        value.bulk.supported,
      ]).toEqual([true, true, true, false])
      expect(
        (await ask('GET', '/ResourceTypes')).value.Resources.map(
          ({ endpoint }: { endpoint: string }) => endpoint,
        ),
      ).toEqual(['/Users', '/Groups'])
      expect((await ask('GET', `/Schemas/${USER}`)).value.attributes[0]).toMatchObject({
        name: 'userName',
        required: true,
      })
      expect((await ask('GET', '/Schemas/none')).status).toBe(404)
    })

    test('Okta: looks for a user, makes them, reads and replaces them, ends them', async () => {
      const email = somebody()
      const path = `/Users?filter=${encodeURIComponent(`userName eq "${email}"`)}&startIndex=1&count=100`
      expect((await ask('GET', path)).value).toMatchObject({ totalResults: 0, startIndex: 1, Resources: [] })
      const sent = user(email, {
        displayName: 'Ada Lovelace',
        locale: 'en-US',
        externalId: '00ujl29u0le5T6Aj10h7',
        groups: [],
        password: '1mz050nq',
      })
      const { status, value, headers } = await ask('POST', '/Users', sent)
      expect(status).toBe(201)
      expect(value).toMatchObject({
        userName: email,
        active: true,
        externalId: '00ujl29u0le5T6Aj10h7',
        groups: [],
        meta: { resourceType: 'User' },
      })
      expect(value).not.toHaveProperty('password')
      expect([headers.get('location'), headers.get('etag')]).toEqual([value.meta.location, 'W/"1"'])
      expect(await roleOf(email)).toBe('developer')
      expect((await ask('GET', path)).value.Resources).toEqual([value])
      expect((await ask('GET', `/Users/${value.id}`)).value).toEqual(value)
      const replaced = await ask('PUT', `/Users/${value.id}`, { ...value, name: { givenName: 'Augusta' } })
      expect(replaced.value).toMatchObject({ name: { givenName: 'Augusta' }, meta: { version: 'W/"2"' } })
      const ended = await ask(
        'PATCH',
        `/Users/${value.id}`,
        patch({ op: 'replace', value: { active: false } }),
      )
      expect([ended.status, ended.value.active, await roleOf(email)]).toEqual([200, false, undefined])
      await ask('PATCH', `/Users/${value.id}`, patch({ op: 'replace', value: { active: true } }))
      expect(await roleOf(email)).toBe('developer')
      expect((await ask('DELETE', `/Users/${value.id}`)).status).toBe(204)
      expect([await roleOf(email), (await ask('GET', `/Users/${value.id}`)).status]).toEqual([undefined, 404])
      expect((await ask('DELETE', `/Users/${value.id}`)).status).toBe(404)
    })

    test('Entra ID: operations in its case, paths with filters, booleans in words', async () => {
      const email = somebody()
      const { id } = await made(email, {
        schemas: [USER, ENTERPRISE],
        externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
        [ENTERPRISE]: { department: 'x' },
      })
      const changed = await ask(
        'PATCH',
        `/Users/${id}`,
        patch(
          { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@microsoft.com' },
          { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 2' },
          { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
          { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Research' },
          { op: 'Add', value: { 'name.givenName': 'dotted', title: 'Dr' } },
          { op: 'Remove', path: 'externalId' },
        ),
      )
      expect(changed.value).toMatchObject({
        emails: [{ type: 'work', value: 'updatedEmail@microsoft.com', primary: true }],
        phoneNumbers: [{ type: 'mobile', value: '+1 2' }],
        name: { familyName: 'updatedFamilyName', givenName: 'dotted' },
        title: 'Dr',
        [ENTERPRISE]: { department: 'Research' },
        schemas: [USER, ENTERPRISE],
      })
      expect(changed.value).not.toHaveProperty('externalId')
      const off = await ask('PATCH', `/Users/${id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))
      expect([off.value.active, await roleOf(email)]).toEqual([false, undefined])
      // Its groups: members one by one, and a list without them.
      const group = (
        await ask('POST', '/Groups', { schemas: [GROUP], displayName: `g ${id}`, externalId: 'e' })
      ).value
      const members = (op: string, more: object) =>
        ask('PATCH', `/Groups/${group.id}`, patch({ op, path: 'members', ...more }))
      expect((await members('Add', { value: [{ $ref: null, value: id }] })).value.members).toMatchObject([
        { value: id, display: email },
      ])
      expect((await ask('GET', `/Users/${id}`)).value.groups).toMatchObject([
        { value: group.id, display: `g ${id}` },
      ])
      const list = await ask(
        'GET',
        `/Groups?excludedAttributes=members&filter=${encodeURIComponent(`displayName eq "G ${id}"`)}`,
      )
      expect(list.value.Resources).toHaveLength(1)
      expect(list.value.Resources[0]).not.toHaveProperty('members')
      expect((await members('Remove', { value: [{ $ref: null, value: id }] })).value.members).toEqual([])
      await members('Add', { value: [{ value: id }] })
      const left = await ask(
        'PATCH',
        `/Groups/${group.id}`,
        patch({ op: 'remove', path: `members[value eq "${id}"]` }),
      )
      expect(left.value.members).toEqual([])
      // Okta names the group anew with its id.
      const named = await ask(
        'PATCH',
        `/Groups/${group.id}`,
        patch({ op: 'replace', value: { id: group.id, displayName: `h ${id}` } }),
      )
      expect([named.value.id, named.value.displayName]).toEqual([group.id, `h ${id}`])
    })

    test('filters and pages', async () => {
      const tag = crypto.randomUUID().slice(0, 8)
      for (const at of [1, 2, 3])
        await made(`${tag}${at}@example.com`, {
          title: at === 2 ? 'Boss' : undefined,
          externalId: `${tag}-${at}`,
        })
      const names = async (filter: string) => {
        const { value } = await ask('GET', `/Users?filter=${encodeURIComponent(filter)}`)
        return (
          value.Resources?.map(({ userName }: { userName: string }) =>
            userName.replace(tag, '').replace('@example.com', ''),
          ) ?? value.scimType
        )
      }
      const mine = `userName sw "${tag}"`
      for (const [filter, found] of [
        [mine, ['1', '2', '3']],
        [`userName eq "${tag}2@EXAMPLE.com"`, ['2']],
        [`externalId eq "${tag}-3"`, ['3']],
        [`${mine} and title pr`, ['2']],
        [`${mine} and not (title pr)`, ['1', '3']],
        [`emails[type eq "work" and value co "${tag}1"]`, ['1']],
        [`emails.value eq "${tag}1@example.com"`, ['1']],
        [`${mine} and (title eq "boss" or externalId ew "-1") and active eq true`, ['1', '2']],
        [`${mine} and active eq false`, []],
        [`${USER}:userName eq "${tag}3@example.com"`, ['3']],
        [`${mine} and meta.created gt "2000-01-01T00:00:00Z"`, ['1', '2', '3']],
        [`${mine} and name.givenName ne "Ada"`, []],
        ...[
          'userName',
          'userName eq',
          'userName is "x"',
          '(userName pr',
          'userName pr)',
          'userName eq "x',
          '"x" eq userName',
          'and',
          '',
        ].map((bad) => [bad, 'invalidFilter'] as const),
      ] as const)
        expect([filter, await names(filter)]).toEqual([filter, found as never])
      const page = await ask(
        'GET',
        `/Users?filter=${encodeURIComponent(mine)}&startIndex=2&count=1&attributes=userName&sortBy=userName`,
      )
      expect(page.value).toMatchObject({
        totalResults: 3,
        startIndex: 2,
        itemsPerPage: 1,
        Resources: [{ userName: `${tag}2@example.com` }],
      })
      expect(Object.keys(page.value.Resources[0]).sort()).toEqual(['id', 'meta', 'schemas', 'userName'])
      expect(
        (await ask('GET', `/Users?filter=${encodeURIComponent(mine)}&startIndex=-5&count=0`)).value,
      ).toMatchObject({ totalResults: 3, startIndex: 1, Resources: [] })
    })

    test('who is no longer active calls with nothing from then on', async () => {
      const email = somebody()
      const { id } = await made(email)
      const person = await it.visit(email)
      const key = (await jsonOf(await person.ask('POST', '/keys', { label: 'k' }))).key
      expect(await call(key)).toBe(200)
      await ask('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: false }))
      expect([await call(key), (await person.ask('GET', '/keys')).status]).toEqual([403, 401])
      // Once more changes nothing; and back is back, without the keys whose values left.
      expect(
        (await ask('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: false }))).status,
      ).toBe(200)
      await ask('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: true }))
      expect([await roleOf(email), await call(key)]).toEqual(['developer', 403])
    })

    test('groups give roles and teams by the organisation’s rule', async () => {
      const id = await team()
      const [admins, platform] = ['admins', 'platform'].map((name) => `${name} ${id}`)
      expect(
        (
          await rule(
            [
              { group: admins, role: 'admin' },
              { group: platform, team: id },
              { group: admins, team: id, team_role: 'admin' },
            ],
            'viewer',
          )
        ).status,
      ).toBe(200)
      const email = somebody()
      const user = await made(email)
      expect(await roleOf(email)).toBe('viewer')
      const groups = await Promise.all(
        [admins, platform].map(
          async (displayName) =>
            (await ask('POST', '/Groups', { displayName, members: [{ value: user.id }] })).value.id,
        ),
      )
      const teamRole = async () =>
        (await it.store.teams.teamMembers(ORG)).find((one) => one.email === email)?.role
      expect([await roleOf(email), await teamRole()]).toEqual(['admin', 'admin'])
      await ask('PATCH', `/Groups/${groups[0]}`, patch({ op: 'remove', path: 'members' }))
      expect([await roleOf(email), await teamRole()]).toEqual(['viewer', 'member'])
      expect((await ask('DELETE', `/Groups/${groups[1]}`)).status).toBe(204)
      expect([await roleOf(email), await teamRole()]).toEqual(['viewer', undefined])
      // Without a role by a group nobody belongs to it.
      await rule([{ group: admins, role: 'admin' }], null)
      await ask('PATCH', `/Users/${user.id}`, patch({ op: 'replace', path: 'title', value: 'x' }))
      expect(await roleOf(email)).toBeUndefined()
      await ask('PUT', `/Groups/${groups[0]}`, {
        displayName: admins,
        members: [{ value: user.id }, { value: 'nobody' }],
      })
      expect(await roleOf(email)).toBe('admin')
      // Nobody gives what they are not, and no group makes an owner.
      const admin = await it.visit(somebody(), 'developer')
      expect((await admin.ask('PUT', '/group-rule', { default_role: 'developer', groups: [] })).status).toBe(
        403,
      )
      expect((await rule([{ group: 'x', role: 'owner' }])).status).toBe(400)
      expect((await rule([{ group: 'x', team: 'sub_none' }])).status).toBe(400)
      await rule([])
    })

    test('an owner stays one, and the last one stays', async () => {
      const email = somebody()
      const second = await it.visit(email, 'owner')
      const { id } = await made(email)
      expect(await roleOf(email)).toBe('owner')
      expect((await owner.ask('DELETE', `/team/${owner.personId}`)).status).toBe(200)
      const refused = await ask(
        'PATCH',
        `/Users/${id}`,
        patch({ op: 'replace', path: 'active', value: false }),
      )
      expect([refused.status, (await ask('GET', `/Users/${id}`)).value.active, await roleOf(email)]).toEqual([
        403,
        true,
        'owner',
      ])
      owner = second
    })

    test('whoever has an account that they have not proved is not added by their address', async () => {
      const email = somebody()
      await it.store.people.create('person', {
        id: crypto.randomUUID(),
        name: 'x',
        email,
        email_verified: 0,
        created_at: 'x',
        updated_at: 'x',
      })
      const { status, value } = await ask('POST', '/Users', user(email))
      expect([status, value.detail.includes('proved')]).toEqual([403, true])
      expect(
        (await ask('GET', `/Users?filter=${encodeURIComponent(`userName eq "${email}"`)}`)).value
          .totalResults,
      ).toBe(0)
    })

    test('no other organisation’s machine, and none without the right, reaches anything', async () => {
      const { id } = await made()
      for (const [method, body] of [
        ['GET'],
        ['PUT', user('x@example.com')],
        ['PATCH', patch({ op: 'add', value: { title: 'x' } })],
        ['DELETE'],
      ] as const)
        expect((await ask(method, `/Users/${id}`, body, {}, others)).status).toBe(404)
      const foreign = (
        await ask('POST', '/Groups', { displayName: 'g', members: [{ value: id }] }, {}, others)
      ).value
      expect(foreign.members).toEqual([])
      const lesser = (await machineOf(it, { rights: ['team', 'people'], organisations: [ORG] })).credential
      expect((await ask('GET', '/Users', undefined, {}, lesser)).status).toBe(403)
      const both = (await machineOf(it, { rights: ['directory'] })).credential
      expect((await ask('GET', '/Users', undefined, {}, both)).status).toBe(400)
      for (const none of ['', 'tm-x', 'sk-x']) {
        const { status, value } = await ask('GET', '/Users', undefined, {}, none)
        expect([status, value.schemas, value.status]).toEqual([
          401,
          ['urn:ietf:params:scim:api:messages:2.0:Error'],
          '401',
        ])
      }
    })

    test('what is wrong is said in its words', async () => {
      const { id, userName } = await made()
      expect((await ask('POST', '/Users', user(userName.toUpperCase()))).value).toMatchObject({
        status: '409',
        scimType: 'uniqueness',
      })
      const other = await made()
      expect(
        (
          await ask(
            'PATCH',
            `/Users/${other.id}`,
            patch({ op: 'replace', path: 'userName', value: userName }),
          )
        ).status,
      ).toBe(409)
      // The same person under two names would be ended by one and kept by the other.
      expect((await ask('POST', '/Users', user('another', { emails: [{ value: userName }] }))).status).toBe(
        409,
      )
      for (const [body, word] of [
        ['{', 'invalidSyntax'],
        ['[]', 'invalidSyntax'],
        [{}, 'invalidValue'],
        [user('no address', { emails: [] }), 'invalidValue'],
        [user(somebody(), { active: 'maybe' }), 'invalidValue'],
      ] as const)
        expect([word, (await ask('POST', '/Users', body)).value]).toMatchObject([
          word,
          { status: '400', scimType: word },
        ])
      for (const operation of [
        {},
        { op: 'move', path: 'title' },
        { op: 'remove' },
        { op: 'add', path: 'title' },
        { op: 'add', path: 'emails[', value: 'x' },
        { op: 'add', path: 'a.b.c.d.e.f.g', value: 'x' },
        { op: 'replace', path: 'emails[type co "x"].value', value: 'x' },
        { op: 'replace', path: 'userName', value: '' },
        { op: 'replace', value: 'x' },
      ])
        expect([operation, (await ask('PATCH', `/Users/${id}`, patch(operation))).status]).toEqual([
          operation,
          400,
        ])
      await ask(
        'PATCH',
        `/Users/${id}`,
        '{"Operations":[{"op":"add","value":{"__proto__":{"polluted":true}}}]}',
      )
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
      const { version } = (await ask('GET', `/Users/${id}`)).value.meta
      const title = patch({ op: 'replace', path: 'title', value: 'x' })
      expect((await ask('PATCH', `/Users/${id}`, title, { 'if-match': version })).status).toBe(200)
      expect((await ask('PATCH', `/Users/${id}`, title, { 'if-match': version })).status).toBe(412)
    })

    test('of two who make one user, one does; changes at once are all there; a delete wins', async () => {
      const email = somebody()
      const statuses = await Promise.all(
        Array.from({ length: 6 }, async () => (await ask('POST', '/Users', user(email))).status),
      )
      expect(statuses.sort()).toEqual([201, 409, 409, 409, 409, 409])
      const users = await Promise.all(Array.from({ length: 6 }, () => made()))
      const group = (await ask('POST', '/Groups', { displayName: `r ${email}` })).value
      await Promise.all(
        users.map(({ id }) =>
          ask('PATCH', `/Groups/${group.id}`, patch({ op: 'add', path: 'members', value: [{ value: id }] })),
        ),
      )
      expect(
        (await ask('GET', `/Groups/${group.id}`)).value.members
          .map(({ value }: { value: string }) => value)
          .sort(),
      ).toEqual(users.map(({ id }) => id).sort())
      for (const { id, userName } of users) {
        await Promise.all([
          ask('DELETE', `/Users/${id}`),
          ...[false, true, true].map((value) =>
            ask('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value })),
          ),
        ])
        expect([(await ask('GET', `/Users/${id}`)).status, await roleOf(userName)]).toEqual([404, undefined])
      }
    })
  })
