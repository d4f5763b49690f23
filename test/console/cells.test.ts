/**
 * From the console of one cell to that of another, signed in: what is carried and what is not, and attacks on the way. Three
 * cells, each a whole server on a ledger of its own that listens, on both engines.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Cell } from '../../src/cells/directory.ts'
import { Places } from '../../src/cells/places.ts'
import { type HandOver, newHandOver, signed } from '../../src/console/cells/hand-over.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { byTest } from '../by-test.ts'
import { jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { ensurePerson, PASSWORD, somebody, startConsoleOn, type Visitor } from './rig.ts'
import { codeOf } from './totp-code.ts'

const NAMES = ['c1', 'c2', 'c3'] as const
type Name = (typeof NAMES)[number]
const consoleAt = (cell: Name): string => `https://${cell}.test`

for (const engine of serverEngines)
  describe(engine.name, () => {
    const cells = new Map<string, Cell>()
    let ahead = 0
    const now = () => Date.now() + ahead
    const clock = { now, monotonicMs: () => performance.now(), sleep: Bun.sleep, turn: () => Bun.sleep(0) }
    const started = async (own: Name) => {
      const first = { name: own, host: undefined, console: undefined, addresses: [] }
      const directory = { now: () => ({ cells, first: cells.get('c1') ?? first }) }
      const places = new Places(() => performance.now())
      const it = await startConsoleOn(engine, { cells: { own, directory, places }, clock })
      const server = listen(it, { hostname: '127.0.0.1', port: 0, shared: false })
      const addresses = [{ url: `http://127.0.0.1:${server.port}`, weight: 1 }]
      cells.set(own, { name: own, addresses, host: `${own}.test`, console: consoleAt(own) })
      const orgId = `org_${own}`
      await it.store.wallets.createWallet({ id: `wal_${own}`, orgId, name: `House ${own}` }, byTest)
      return {
        ...it,
        orgId,
        stop: () => {
          server.stop()
          return it.stop()
        },
      }
    }
    type Console = Awaited<ReturnType<typeof started>>
    let c1: Console
    let c2: Console
    let c3: Console
    beforeAll(async () => {
      c1 = await started('c1')
      c2 = await started('c2')
      c3 = await started('c3')
    })
    afterAll(async () => {
      for (const it of [c1, c2, c3]) await it.stop()
    })

    /** Somebody who is signed in at the first cell, and whom the second one has as a member who never came. */
    const member = async (email = somebody(), at = c2) => {
      const home = await c1.visit(email, 'owner', 'org_c1')
      const person = await ensurePerson(at.store.people, { email, name: email, now: now() })
      await at.store.members.put({ orgId: at.orgId, personId: person.id, role: 'developer' }, byTest)
      return { home, person }
    }
    const handOver = async (home: Visitor, organisation = 'org_c2', cell: Name = 'c2'): Promise<string> =>
      ((await jsonOf(await home.ask('POST', '/session/hand-over', { cell, organisation }))) as any).hand_over
    const bring = (it: Console, hand_over: string, from: string | null = consoleAt('c1')) =>
      it.fetch(
        new Request('http://turnpike.test/console/enter', {
          method: 'POST',
          headers: from === null ? {} : { origin: from },
          body: new URLSearchParams({ hand_over }),
        }),
      )
    /** The cookie that lets the browser go on; empty if the hand-over was refused. */
    const taken = async (it: Console, hand_over: string, from?: string | null): Promise<string> => {
      const answer = await bring(it, hand_over, from)
      expect([answer.status, answer.headers.get('location')]).toEqual([302, '/console/enter'])
      return /^turnpike_entering=[^;]+/.exec(answer.headers.getSetCookie()[0] ?? '')?.[0] ?? ''
    }
    const enter = async (it: Console, cookie: string, code?: string) => {
      const answer = await it.withCookie(cookie)('POST', '/session/enter', code === undefined ? {} : { code })
      const error = answer.ok ? undefined : ((await jsonOf(answer)) as any).error
      // A browser drops a cookie that is set to nothing.
      const cookies = it.cookieOf(answer).replace(/(?:; )?turnpike_entering=$/, '')
      return { status: answer.status, code: error?.code, reason: error?.reason, cookie: cookies }
    }
    const sessionAt = async (it: Console, cookie: string): Promise<any> =>
      jsonOf(await it.withCookie(cookie)('GET', '/session'))

    test('a person sees the organisations of all cells, chooses one of another and is signed in there', async () => {
      const { home } = await member()
      expect(((await jsonOf(await home.ask('GET', '/session'))) as any).cell).toBe('c1')
      expect(await jsonOf(await home.ask('GET', '/session/elsewhere'))).toEqual({
        proved: true,
        cells: [
          { name: 'c2', away: false, organisations: [{ id: 'org_c2', name: 'House c2', role: 'developer' }] },
          { name: 'c3', away: false, organisations: [] },
        ],
      })
      const came = await enter(c2, await taken(c2, await handOver(home)))
      expect(came.status).toBe(200)
      const { person, organisation } = await sessionAt(c2, came.cookie)
      expect([person.email, organisation.id, organisation.role]).toEqual([home.email, 'org_c2', 'developer'])
      const events = async (it: Console, what: string, subject: string) =>
        (await it.store.events.list({ orgId: 'people', about: { what, subject }, most: 1 })).map(
          ({ after }) => after,
        )
      expect(await events(c1, 'person.handed_over', home.personId)).toEqual([
        { cell: 'c2', organisation: 'org_c2' },
      ])
      expect(await events(c2, 'person.signed_in', person.id)).toEqual([{ how: 'cell c1' }])
      // The address was proved at the first cell, and so it is here: as long ago as there.
      const [there] = await c2.store.people.find('person', {
        where: [{ column: 'id', is: '=', value: person.id }],
      })
      const [here] = await c1.store.people.find('person', {
        where: [{ column: 'id', is: '=', value: home.personId }],
      })
      expect([there?.proved_at, there?.proved_how, there?.proved_by]).toEqual([
        here?.proved_at ?? null,
        'operator',
        'cell c1',
      ])
      // The next time the session is there, and only looks at another organisation.
      const again = await taken(c2, await handOver(home))
      const sameSession = await enter(c2, `${came.cookie}; ${again}`)
      expect([sameSession.status, sameSession.cookie]).toEqual([200, ''])
    })

    test('a hand-over is taken once, also of two at once, and opens one session', async () => {
      const { home } = await member()
      const one = await handOver(home)
      const both = await Promise.all([taken(c2, one), taken(c2, one)])
      expect(both.filter((cookie) => cookie !== '')).toHaveLength(1)
      expect(await taken(c2, one)).toBe('')
      const cookie = both.join('')
      const entered = await Promise.all([enter(c2, cookie), enter(c2, cookie)])
      expect(entered.map(({ status }) => status).sort()).toEqual([200, 401])
      expect((await enter(c2, cookie)).status).toBe(401)
      expect((await enter(c2, '')).code).toBe('sign_in_failed')
    })

    test('one that is late, changed, of another cell, of another page or another secret is not taken', async () => {
      const { home } = await member()
      const good = await handOver(home)
      const [body = '', signature = ''] = good.split('.')
      const value = JSON.parse(Buffer.from(body, 'base64url').toString()) as HandOver
      const { id: _, ...about } = value
      const made = (change: Partial<HandOver>) =>
        signed(c1.hash, 'hand-over between cells', newHandOver({ ...about, ...change }))
      const changed = Buffer.from(JSON.stringify({ ...value, email: 'victim@example.com' })).toString(
        'base64url',
      )
      const wrong: readonly (readonly [string, string, (string | null)?])[] = [
        ['another address', `${changed}.${signature}`],
        ['another signature', `${body}.${'0'.repeat(64)}`],
        ['more', `${good}.x`],
        ['nothing', ''],
        ['for another cell', await handOver(home, 'org_c2', 'c3')],
        ['of no cell', made({ from: 'c9' })],
        ['of this cell', made({ from: 'c2' }), consoleAt('c2')],
        ['of a cell that did not send it', made({ from: 'c3' })],
        ['late', made({ madeAt: now() - 61_000 })],
        ['far ahead', made({ madeAt: now() + 60_000 })],
        ['an old proof', made({ proof: { how: 'mail', at: now() - 367 * 86_400_000 } })],
        ['signed for something else', signed(c1.hash, 'half of a sign-in from a cell', newHandOver(about))],
        ['from a stranger’s page', good, 'https://evil.example'],
        ['from a page that does not say', good, null],
        ['from a page with no origin', good, 'null'],
      ]
      for (const [why, text, from] of wrong) expect([why, await taken(c2, text, from)]).toEqual([why, ''])
      // The signed text is no cookie of ours either.
      expect((await enter(c2, `turnpike_entering=${good}`)).code).toBe('sign_in_failed')
      // Nothing of that has used the right one up.
      const cookie = await taken(c2, good)
      ahead += 11 * 60_000
      expect((await enter(c2, cookie)).code).toBe('sign_in_failed')
      ahead -= 11 * 60_000
      expect((await enter(c2, cookie)).status).toBe(200)
      // A cookie of one cell opens no other.
      await member(home.email, c3)
      const other = await taken(c2, await handOver(home))
      expect((await enter(c3, other)).code).toBe('sign_in_failed')
    })

    test('an address that nobody has proved, or not for a year, is not carried and asks no cell', async () => {
      const email = somebody()
      const { person } = await member(email)
      await c1.store.people.update('person', [{ column: 'email', is: '=', value: email }], {
        proved_at: null,
      })
      const answer = await c1.stranger('POST', '/session/password', { email, password: PASSWORD })
      const ask = c1.withCookie(c1.cookieOf(answer))
      expect(await jsonOf(await ask('GET', '/session/elsewhere'))).toEqual({ proved: false, cells: [] })
      const refused = await ask('POST', '/session/hand-over', { cell: 'c2', organisation: 'org_c2' })
      expect([refused.status, ((await jsonOf(refused)) as any).error.reason]).toEqual([403, 'not_proved'])
      const long = new Date(now() - 367 * 86_400_000).toISOString()
      await c1.store.people.update('person', [{ column: 'email', is: '=', value: email }], {
        proved_at: long,
        proved_how: 'mail',
      })
      expect((await ask('POST', '/session/hand-over', { cell: 'c2', organisation: 'org_c2' })).status).toBe(
        403,
      )
      expect(person.email).toBe(email)
    })

    test('what somebody else set on the account before its owner came ends with the proof', async () => {
      const { home, person } = await member()
      // An admin of the organisation there saw the invitation, and used it.
      const seen = await c2.stranger('POST', '/session/link', {
        token: await c2.link(home.email),
        password: PASSWORD,
      })
      const squatter = c2.cookieOf(seen)
      expect((await sessionAt(c2, squatter)).person.id).toBe(person.id)
      expect((await enter(c2, await taken(c2, await handOver(home)))).status).toBe(200)
      expect((await sessionAt(c2, squatter)).person).toBeNull()
      const password = await c2.stranger('POST', '/session/password', {
        email: home.email,
        password: PASSWORD,
      })
      expect(password.status).toBe(401)
    })

    test('a second factor of the account there is asked for there, whatever was shown here', async () => {
      const { home } = await member()
      const there = await c2.visit(home.email)
      const begun = (await jsonOf(await there.ask('POST', '/session/totp', { password: PASSWORD }))) as any
      const secret = new URL(begun.uri).searchParams.get('secret') ?? ''
      expect((await there.ask('PUT', '/session/totp', { code: codeOf(secret) })).status).toBe(200)
      const cookie = await taken(c2, await handOver(home))
      expect((await enter(c2, cookie)).code).toBe('code_required')
      const wrong = await enter(c2, cookie, '000000')
      expect([wrong.code, wrong.cookie]).toEqual(['sign_in_failed', ''])
      const right = await enter(c2, cookie, codeOf(secret, 1))
      expect(right.status).toBe(200)
      expect((await sessionAt(c2, right.cookie)).person.totp).toBe(true)
      const passkeyed = await member()
      await c2.store.people.create('person_passkey', {
        id: crypto.randomUUID(),
        public_key: 'x',
        user_id: passkeyed.person.id,
        credential_id: crypto.randomUUID(),
        counter: 0,
        device_type: 'singleDevice',
        backed_up: 0,
      })
      const keyed = await enter(c2, await taken(c2, await handOver(passkeyed.home)))
      expect([keyed.code, keyed.reason, keyed.cookie]).toEqual(['forbidden', 'passkey', ''])
    })

    test('an operator, a stranger and somebody who was removed are not let in by their address', async () => {
      const { home, person } = await member()
      await c2.store.members.setOperator(person.id, true, byTest)
      const operator = await enter(c2, await taken(c2, await handOver(home)))
      expect([operator.reason, operator.cookie]).toEqual(['operator', ''])
      // Who operates the first cell is an ordinary member of the second.
      const boss = await member()
      await c1.store.members.setOperator(boss.home.personId, true, byTest)
      const came = await enter(c2, await taken(c2, await handOver(boss.home)))
      expect((await sessionAt(c2, came.cookie)).person.operator).toBe(false)
      const stranger = await c1.visit(somebody(), 'owner', 'org_c1')
      expect((await enter(c2, await taken(c2, await handOver(stranger)))).reason).toBe('no_member')
      const gone = await member()
      const carried = await taken(c2, await handOver(gone.home))
      await c2.store.members.remove({ orgId: 'org_c2', personId: gone.person.id }, byTest)
      expect((await enter(c2, carried)).reason).toBe('no_member')
      const other = await member()
      expect((await enter(c2, await taken(c2, await handOver(other.home, 'org_test')))).reason).toBe(
        'no_member',
      )
    })

    test('the session is as old as the sign-in that it comes from, and ends after half a day', async () => {
      const { home } = await member()
      ahead += 2 * 3_600_000
      const { cookie } = await enter(c2, await taken(c2, await handOver(home)))
      const fresh = await c2.withCookie(cookie)('POST', '/session/passkeys/begin')
      expect([fresh.status, ((await jsonOf(fresh)) as any).error.reason]).toEqual([403, 'sign_in_again'])
      ahead += 12 * 3_600_000 - 60_000
      expect((await sessionAt(c2, cookie)).person.email).toBe(home.email)
      ahead += 120_000
      expect((await sessionAt(c2, cookie)).person).toBeNull()
      ahead = 0
      expect((await sessionAt(c2, cookie)).person).toBeNull()
    })

    test('only cells are told who is a member where, and targets are the directory’s alone', async () => {
      const asked = await c2.post('/api/cells/people', { email: 'a@example.com' }, {}, 'sk-x')
      expect(asked.status).toBe(401)
      const { home } = await member()
      for (const cell of ['c1', 'c9', 'evil'])
        expect((await home.ask('POST', '/session/hand-over', { cell, organisation: 'x' })).status).toBe(404)
      const answer = (await jsonOf(
        await home.ask('POST', '/session/hand-over', { cell: 'c2', organisation: 'https://evil.example' }),
      )) as any
      expect(answer.to).toBe('https://c2.test/console/enter')
    })

    test('of a cell that is away the name is shown, within a second, beside what the others have', async () => {
      const { home } = await member()
      const before = cells.get('c3') as Cell
      const silent = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch: () => new Promise<Response>(() => undefined),
      })
      for (const url of ['http://127.0.0.1:9', `http://127.0.0.1:${silent.port}`]) {
        cells.set('c3', { ...before, addresses: [{ url, weight: 1 }] })
        const shown = (await jsonOf(await home.ask('GET', '/session/elsewhere'))) as any
        expect(shown.cells.map(({ name, away }: any) => [name, away])).toEqual([
          ['c2', false],
          ['c3', true],
        ])
      }
      cells.set('c3', before)
      await silent.stop(true)
    })
  })
