/**
 * Attacks on the sign-in: guesses, what answers and their timing reveal, links and codes used twice, cookies of others.
 * On both engines.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { PASSWORD, somebody, startConsoleOn, type TestConsole } from './rig.ts'
import { codeOf } from './totp-code.ts'

const GUESSES = 1_000
const BY_ACCOUNT = 10
const BY_ADDRESS = 100
/** Attempts are counted in quarters of an hour. */
const quarter = () => Math.floor(Date.now() / (15 * 60_000))

/** The outcome within one quarter; if the quarter turned meanwhile, another try. */
const withinQuarter = async <T>(attack: () => Promise<T>): Promise<T> => {
  for (;;) {
    const before = quarter()
    const met = await attack()
    if (quarter() === before) return met
  }
}

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    beforeAll(async () => {
      it = await startConsoleOn(engine)
    })
    afterAll(() => it.stop())

    /** The statuses of this many guesses, each for an account and from an address of its own choice. */
    const guesses = async (
      count: number,
      of: (n: number) => { readonly email: string; readonly peer: string },
    ): Promise<ReadonlyMap<number, number>> => {
      const statuses = new Map<number, number>()
      for (let n = 0; n < count; n++) {
        const { email, peer } = of(n)
        const request = new Request('http://turnpike.test/console/api/session/password', {
          method: 'POST',
          headers: {
            host: 'turnpike.test',
            origin: 'http://turnpike.test',
            'content-type': 'application/json',
          },
          body: JSON.stringify({ email, password: `guess number ${n}` }),
        })
        const { status } = await it.fetchFrom(peer, request)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
      return statuses
    }
    const peer = (n: number) => `198.51.${Math.trunc(n / 250)}.${(n % 250) + 1}`

    test('1,000 guesses at one account from as many addresses: ten are looked at', async () => {
      const statuses = await withinQuarter(async () => {
        const email = somebody()
        await it.visit(email, 'owner')
        return guesses(GUESSES, (n) => ({ email: n % 2 === 0 ? email : email.toUpperCase(), peer: peer(n) }))
      })
      expect(statuses).toEqual(
        new Map([
          [401, BY_ACCOUNT],
          [429, GUESSES - BY_ACCOUNT],
        ]),
      )
    })

    // They are counted like those at one account, which show what the engines do.
    if (engine.name === 'PostgreSQL')
      test('1,000 guesses from one address at as many accounts: a hundred are looked at', async () => {
        let tries = 0
        const statuses = await withinQuarter(() => {
          const address = `203.0.113.${++tries}`
          return guesses(GUESSES, (n) => ({ email: `${n}.${somebody()}`, peer: address }))
        })
        expect(statuses).toEqual(
          new Map([
            [401, BY_ADDRESS],
            [429, GUESSES - BY_ADDRESS],
          ]),
        )
      })

    test('a known and an unknown address cost the same work: one slow hash, whatever is asked', async () => {
      const email = somebody()
      await it.visit(email, 'owner')
      const invited = somebody()
      // Somebody without a password yet.
      const person = await it.store.people.create('person', {
        id: crypto.randomUUID(),
        name: invited,
        email: invited,
        email_verified: 0,
        created_at: new Date().toISOString(),
        updated_at: new Date().toISOString(),
      })
      expect(person.email).toBe(invited)
      const { hash, verify } = Bun.password
      const work = async (who: string) => {
        let hashes = 0
        const counted =
          <Args extends unknown[], Result>(one: (...args: Args) => Result) =>
          (...args: Args): Result => {
            hashes += 1
            return one(...args)
          }
        Object.assign(Bun.password, { hash: counted(hash), verify: counted(verify) })
        try {
          const response = await it.stranger('POST', '/session/password', { email: who, password: 'no' })
          const { error } = await jsonOf(response)
          return { status: response.status, code: error.code, message: error.message, hashes }
        } finally {
          Object.assign(Bun.password, { hash, verify })
        }
      }
      const [known, unknown, without] = [await work(email), await work(somebody()), await work(invited)]
      expect(known).toMatchObject({ status: 401, code: 'sign_in_failed', hashes: 1 })
      expect(unknown).toEqual(known)
      expect(without).toEqual(known)
    })

    test('a code of the second factor works once, also for two who bring it at the same moment', async () => {
      const email = somebody()
      const visitor = await it.visit(email, 'owner')
      const started = await jsonOf(await visitor.ask('POST', '/session/totp', { password: PASSWORD }))
      const secret = new URL(started.uri).searchParams.get('secret') ?? ''
      const first = codeOf(secret)
      expect((await visitor.ask('PUT', '/session/totp', { code: first })).status).toBe(200)
      const bring = (code: string) =>
        it.stranger('POST', '/session/password', { email, password: PASSWORD, code })
      // Somebody saw the code of the set-up, too.
      expect((await bring(first)).status).toBe(401)
      const code = codeOf(secret, 1)
      const once = (await Promise.all([bring(code), bring(code), bring(code)])).map(({ status }) => status)
      expect(once.sort()).toEqual([200, 401, 401])
      // A code that was seen over a shoulder is useless after it.
      expect((await bring(code)).status).toBe(401)
    })

    test('a cookie that is changed, swapped, ended, or of before a new password opens nothing', async () => {
      const [mine, theirs] = [await it.visit(somebody(), 'owner'), await it.visit(somebody(), 'viewer')]
      const opens = async (cookie: string) => (await it.withCookie(cookie)('GET', '/keys')).status
      expect(await opens(mine.cookie)).toBe(200)
      const [name = '', value = ''] = mine.cookie.split(/=(.*)/s)
      const [token = '', signature = ''] = decodeURIComponent(value).split('.')
      const theirSignature = decodeURIComponent(theirs.cookie.split(/=(.*)/s)[1] ?? '').split('.')[1] ?? ''
      for (const forged of [
        `${token}x.${signature}`,
        `${token}.${theirSignature}`,
        token,
        `${token}.`,
        '.',
        '',
      ])
        expect([forged, await opens(`${name}=${encodeURIComponent(forged)}`)]).toEqual([forged, 401])
      // A stolen session is dead as soon as its owner ends it, or sets a new password elsewhere.
      const again = await it.stranger('POST', '/session/password', { email: mine.email, password: PASSWORD })
      const second = it.withCookie(it.cookieOf(again))
      const changed = await second('PUT', '/session/new-password', {
        current: PASSWORD,
        password: 'a password after the theft',
      })
      expect(changed.status).toBe(200)
      expect(await opens(mine.cookie)).toBe(401)
      expect((await theirs.ask('DELETE', '/session')).status).toBe(200)
      expect(await opens(theirs.cookie)).toBe(401)
      // And one whose week is over.
      await it.store.people.update('person_session', [{ column: 'user_id', is: '=', value: mine.personId }], {
        expires_at: new Date(Date.now() - 1_000).toISOString(),
      })
      expect((await second('GET', '/keys')).status).toBe(401)
    })
  })
