/** People for machines and commands: nobody is made more than who makes them is, and a link goes to whom it belongs. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { somebody, startConsoleOn, type TestConsole } from '../console/rig.ts'
import { jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { machineOf } from './machine-rig.ts'

for (const engine of serverEngines)
  describe(`people on ${engine.name}`, () => {
    let it: TestConsole
    beforeAll(async () => {
      it = await startConsoleOn(engine, { settings: { signUp: 'closed' } })
    })
    afterAll(() => it.stop())

    const people = '/organisations/org_test/people'
    const told = async (answer: Response) => [answer.status, (await jsonOf(answer)).error?.code]
    const idOf = async (email: string) =>
      (await it.store.people.find('person', { where: [{ column: 'email', is: '=', value: email }] }))[0]?.id

    test('a machine makes nobody more than it is', async () => {
      const owner = await it.visit(somebody(), 'owner')
      const operator = await it.visit(somebody(), 'viewer', 'org_test', true)
      const viewer = await it.visit(somebody(), 'viewer')
      const weak = await machineOf(it, { rights: ['team', 'team_read', 'people', 'read', 'read_own'] })
      const asked = (role: string, more = {}) =>
        weak.ask('POST', people, { email: somebody(), role, ...more }).then(told)
      expect(await asked('owner')).toEqual([403, 'forbidden'])
      expect(await asked('developer')).toEqual([403, 'forbidden'])
      for (const path of [`${people}/${owner.personId}`, `${people}/${viewer.personId}`])
        expect(await told(await weak.ask('PUT', path, { role: 'owner' }))).toEqual([403, 'forbidden'])
      for (const { personId } of [owner, operator]) {
        expect(await told(await weak.ask('POST', `/people/${personId}/links`, {}))).toEqual([
          404,
          'not_found',
        ])
        expect(await told(await weak.ask('DELETE', `/people/${personId}`))).toEqual([404, 'not_found'])
        const made = await weak.ask('PUT', `/people/${personId}/operator`, { operator: true })
        expect(await told(made)).toEqual([404, 'not_found'])
      }
      const all = await machineOf(it)
      expect((await all.ask('POST', `/people/${owner.personId}/links`, {})).status).toBe(201)
      expect((await all.ask('PUT', `/people/${viewer.personId}/operator`, { operator: true })).status).toBe(
        200,
      )
    })

    test('who makes an organisation makes its owner, so needs what making one takes', async () => {
      const create = async (rights: readonly string[] | undefined) => {
        const { ask } = await machineOf(it, rights === undefined ? {} : { rights })
        const email = somebody()
        const answer = await ask('POST', '/organisations', { name: 'New', owner_email: email })
        return [answer.status, (await idOf(email)) !== undefined]
      }
      expect(await create(['accounts'])).toEqual([403, false])
      expect(await create(['accounts', 'people', 'team'])).toEqual([403, false])
      expect(await create(undefined)).toEqual([201, true])
    })

    test('a machine of some organisations reaches nobody who is in others too', async () => {
      const own = await machineOf(it, { organisations: ['org_test'] })
      const both = await it.visit(somebody(), 'viewer')
      await it.visit(both.email, 'viewer', 'org_other')
      const here = await it.visit(somebody(), 'viewer')
      expect(await told(await own.ask('POST', `/people/${both.personId}/links`, {}))).toEqual([
        404,
        'not_found',
      ])
      expect((await own.ask('POST', `/people/${here.email}/links`, {})).status).toBe(201)
      const { data } = await jsonOf(await own.ask('GET', '/people'))
      const found = data.find(({ id }: { id: string }) => id === both.personId)
      expect(found.organisations).toEqual([{ id: 'org_test', role: 'viewer' }])
    })

    test('where sign-up is closed, only who answers for all people adds some; its link proves the address', async () => {
      const ofTeam = await machineOf(it, {
        rights: ['team', 'read', 'read_own', 'wallet_read', 'sub_wallets_read', 'team_read'],
      })
      const email = somebody()
      expect(await told(await ofTeam.ask('POST', people, { email, role: 'viewer' }))).toEqual([
        403,
        'forbidden',
      ])
      expect(await idOf(email)).toBeUndefined()
      const all = await machineOf(it)
      const { link } = await jsonOf(await all.ask('POST', people, { email, role: 'viewer' }))
      const used = await it.stranger('POST', '/session/link', {
        token: link.split('#')[1],
        password: 'a long enough password',
      })
      expect(used.status).toBe(200)
      const [row] = await it.store.people.find('person', {
        where: [{ column: 'email', is: '=', value: email }],
      })
      expect([row?.proved_how, row?.proved_by]).toEqual(['operator', 'pipeline'])
    })

    test('a lost device: what signed the person in is ended, and the link begins again', async () => {
      const { personId, ask } = await it.visit(somebody(), 'viewer')
      const all = await machineOf(it)
      const { asks_code: asks } = await jsonOf(
        await all.ask('POST', `/people/${personId}/links`, { lost_device: true }),
      )
      expect([asks, (await ask('GET', '/team')).status]).toEqual([false, 401])
    })
  })
