/** The server's secret changes under people who are signed in, and under tokens that callers hold. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encryptAnew } from '../../src/console/old-secret.ts'
import { isOurs } from '../../src/core/keyed-hash.ts'
import { isRunToken } from '../../src/gateway/jobs/shown-run.ts'
import { signedHeaders } from '../../src/gateway/jobs/signed-webhook.ts'
import { postgresForTests } from '../postgres.ts'
import { hashOf, jsonOf, USD } from '../server/harness.ts'
import { PASSWORD, startConsole } from './rig.ts'
import { codeOf } from './totp-code.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-old-secret-'))
afterAll(() => rmSync(home, { recursive: true }))

const [A, B] = [hashOf('secret a'), hashOf('secret b', hashOf('secret a'))]
const DAY_MS = 86_400_000
const places = [
  {
    name: 'SQLite',
    open: async () => ({ url: `sqlite:${join(home, 'ledger.db')}`, stop: async () => undefined }),
  },
  { name: 'PostgreSQL', open: postgresForTests },
]

for (const place of places)
  describe(place.name, () => {
    test('sessions go on, and second factors go over for good', async () => {
      const { url, stop } = await place.open()
      const email = 'somebody@example.com'
      const first = await startConsole({ url, hash: A })
      const visitor = await first.visit(email, 'owner')
      const started = await jsonOf(await visitor.ask('POST', '/session/totp', { password: PASSWORD }))
      const secret = new URL(started.uri).searchParams.get('secret') ?? ''
      expect((await visitor.ask('PUT', '/session/totp', { code: codeOf(secret) })).status).toBe(200)
      const [again] = started.backup_codes
      const signedIn = await first.stranger('POST', '/session/password', {
        email,
        password: PASSWORD,
        code: again,
      })
      const cookie = first.cookieOf(signedIn)
      expect((await first.withCookie(cookie)('GET', '/keys')).status).toBe(200)
      await first.stop()

      const both = await startConsole({ url, hash: B })
      expect(await encryptAnew(both.store.people, B)).toBe(0)
      expect((await both.withCookie(cookie)('GET', '/keys')).status).toBe(200)
      // A cookie that nobody signed fits neither secret.
      const forged = cookie.replace(
        /=([^.]+)\./,
        (_all, value) => `=${value.slice(0, -1)}${value.endsWith('x') ? 'y' : 'x'}.`,
      )
      expect((await both.withCookie(forged)('GET', '/keys')).status).toBe(401)
      await both.stop()

      const only = await startConsole({ url, hash: hashOf('secret b') })
      expect((await only.withCookie(cookie)('GET', '/keys')).status).toBe(401)
      const code = started.backup_codes[1]
      const later = await only.stranger('POST', '/session/password', { email, password: PASSWORD, code })
      expect([later.status, await encryptAnew(only.store.people, hashOf('secret b'))]).toEqual([200, 0])
      expect(await encryptAnew(only.store.people, hashOf('secret c'))).toBe(1)
      await only.stop()
      await stop()
    })

    test('an address that has claimed a trial cannot claim another one', async () => {
      const { url, stop } = await place.open()
      const options = { trial: { amount: USD, dailyAmount: 10n * USD, lifeMs: DAY_MS, againMs: DAY_MS } }
      const claim = (server: Awaited<ReturnType<typeof startConsole>>) =>
        server.fetchFrom(
          '203.0.113.7',
          new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST' }),
        )
      const first = await startConsole({ url, hash: A, options })
      expect((await claim(first)).status).toBe(201)
      await first.stop()
      for (const hash of [B, hashOf('secret b')]) {
        const next = await startConsole({ url, hash, options })
        expect((await claim(next)).status).toBe(429)
        await next.stop()
      }
      await stop()
    })
  })

test('what one of the secrets made is ours, and nothing else', () => {
  expect([isOurs(B, 'text', A('text')), isOurs(B, 'text', B('text')), isOurs(A, 'text', B('text'))]).toEqual([
    true,
    true,
    false,
  ])
  for (const wrong of ['', A('other'), `${A('text')}0`, A('text').slice(1)])
    expect(isOurs(B, 'text', wrong)).toBe(false)
  expect(isRunToken({ hash: B }, 'one', A('run one'))).toBe(true)
  expect(isRunToken({ hash: B }, 'one', A('run two'))).toBe(false)
})

test('a webhook has a signature of each secret', () => {
  const of = (hash: typeof A) =>
    signedHeaders({ hash }, { walletId: 'w', id: 'one', timestamp: '1', body: '{}' })['webhook-signature']
  expect(of(B)?.split(' ')).toEqual([expect.any(String), of(A)])
  expect(of(B)?.split(' ')[0]).toBe(of(hashOf('secret b')))
})
