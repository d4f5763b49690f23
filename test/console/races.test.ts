/**
 * Two of everything at once: on PostgreSQL two servers share the database, as a double click behind a load balancer
 * meets them; on SQLite one has it alone.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { PASSWORD, somebody, startConsole, startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

const ROUNDS = 5

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: Awaited<ReturnType<typeof startConsoleOn>>
    let other: TestConsole
    beforeAll(async () => {
      const settings = { signUp: 'invite' } as const
      it = await startConsoleOn(engine, { settings })
      other = engine.name === 'PostgreSQL' ? await startConsole({ url: it.url, settings }) : it
    })
    afterAll(async () => {
      if (other !== it) await other.stop()
      await it.stop()
    })

    /** The same person at both servers. */
    const both = (visitor: Visitor): readonly Visitor['ask'][] => [
      visitor.ask,
      other.withCookie(visitor.cookie),
    ]
    const statuses = async (answers: readonly Promise<Response>[]) =>
      (await Promise.all(answers)).map(({ status }) => status).sort()

    test('a list of tenants that is sent twice at once makes each of them once, or none', async () => {
      const owner = await it.visit(somebody(), 'owner')
      for (let round = 0; round < ROUNDS; round++) {
        const tenants = [1, 2, 3].map((n) => ({ label: `T ${n}`, reference: `R-${round}-${n}` }))
        expect(await statuses(both(owner).map((ask) => ask('POST', '/tenants', { tenants })))).toEqual([
          201, 400,
        ])
        // One that shares only its last line with a list that was made leaves nothing of itself behind.
        const half = { tenants: [{ label: 'new', reference: `N-${round}` }, ...tenants.slice(2)] }
        expect((await owner.ask('POST', '/tenants', half)).status).toBe(400)
        const { data } = await jsonOf(await owner.ask('GET', '/keys?which=tenants&limit=1000'))
        const references = data.map(({ reference }: { reference: string }) => reference)
        expect(references.filter((one: string) => one.startsWith(`R-${round}-`)).length).toBe(3)
        expect(references).not.toContain(`N-${round}`)
      }
    })

    test('two organisations that invite one new address at once: only one of them gets a link into it', async () => {
      const [a, b] = await Promise.all(
        ['org_a', 'org_b'].map((org) => it.visit(somebody(), 'owner', `${org}${crypto.randomUUID()}`)),
      )
      for (let round = 0; round < ROUNDS; round++) {
        const body = { email: somebody(), role: 'viewer' }
        const asked = [
          a?.ask('POST', '/team', body),
          other.withCookie(b?.cookie ?? '')('POST', '/team', body),
        ]
        expect(await statuses(asked.filter((one) => one !== undefined))).toEqual([201, 403])
      }
    })

    test('of two owners who remove each other at once one stays', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const orgId = `org_${crypto.randomUUID()}`
        const [one, two] = [
          await it.visit(somebody(), 'owner', orgId),
          await it.visit(somebody(), 'owner', orgId),
        ]
        await Promise.all([
          one.ask('DELETE', `/team/${two.personId}`),
          other.withCookie(two.cookie)('DELETE', `/team/${one.personId}`),
        ])
        expect((await it.store.members.list({ orgId })).filter(({ role }) => role === 'owner')).toHaveLength(
          1,
        )
      }
    })

    test('a link and a code sign in once, wherever they are brought', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const email = somebody()
        await it.visit(email, 'viewer')
        const body = { token: await it.link(email), password: PASSWORD }
        const asked = [it, other].map((at) => at.stranger('POST', '/session/link', body))
        expect(await statuses(asked)).toEqual([200, 401])
      }
    })

    test('a key that is rotated and disabled at once leaves no value enabled', async () => {
      const owner = await it.visit(somebody(), 'owner')
      const [here, there] = both(owner)
      for (let round = 0; round < ROUNDS; round++) {
        const tenants = [{ label: 'once', reference: `S-${crypto.randomUUID()}` }]
        const { data } = await jsonOf(await owner.ask('POST', '/tenants', { tenants }))
        const id = data[0].id
        await Promise.all([
          here?.('POST', `/keys/${id}/rotate`),
          there?.('PUT', `/tenants/${id}`, { suspended: true }),
        ])
        const { keys } = await jsonOf(await owner.ask('GET', `/tenants/${id}`))
        expect(keys.map(({ status }: { status: string }) => status)).not.toContain('enabled')
      }
    })
  })
