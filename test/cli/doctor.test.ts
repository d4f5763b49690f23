/** `turnpike doctor`: each weak setting is named once, a sound house has none, and the command fails where one is weak. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/cli/config/config.ts'
import { weaknessesOf } from '../../src/cli/house/weaknesses.ts'
import { newAuthority } from '../certificates.ts'
import { runProgram } from '../program.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'))
afterAll(() => rmSync(folder, { recursive: true }))

const one = newAuthority('house').signFor('gate.test')
writeFileSync(join(folder, 'cert.pem'), one.pem)
writeFileSync(join(folder, 'key.pem'), one.key)

const now = Date.UTC(2026, 10, 26)
const sound = {
  TURNPIKE_SECRET: 'f3a91c0be27d4865b9e0d7a1c4f28836',
  HOST: '0.0.0.0',
  TLS_CERT: join(folder, 'cert.pem'),
  TLS_KEY: join(folder, 'key.pem'),
  PUBLIC_URL: 'https://gate.test',
  DATABASE_URL: 'postgres://turnpike@ledger.test,other.test:5433/books?sslmode=verify-full',
  SYNC: 'require',
  JOURNAL: folder,
  TURNPIKE_CONFIG: '',
}
const facts = { now, backedUp: now - 3_600_000, certificate: one.pem }

const found = (change: Readonly<Record<string, string>>, known: Partial<typeof facts> = {}) =>
  weaknessesOf(readConfig({ ...sound, ...change }), { ...facts, ...known }).map(({ setting }) => setting)

test('a sound house has no weak setting', () => {
  expect(found({})).toEqual([])
  const proxied = { TLS_CERT: '', TLS_KEY: '', TRUSTED_PROXIES: '10.0.0.1' }
  expect(found(proxied)).toEqual([])
  const alone = { HOST: '127.0.0.1', PUBLIC_URL: '', TLS_CERT: '', TLS_KEY: '' }
  expect(found({ ...alone, DATABASE_URL: 'sqlite::memory:', SYNC: 'any' })).toEqual([])
})

const weak: readonly (readonly [string, Readonly<Record<string, string>>, Partial<typeof facts>?])[] = [
  ['TURNPIKE_SECRET', { TURNPIKE_SECRET: '' }],
  ['TURNPIKE_SECRET', { TURNPIKE_SECRET: 'f3a91c0be27d4865' }],
  ['TURNPIKE_SECRET', { TURNPIKE_SECRET: 'please-change-me-f3a91c0be27d4865b9e0' }],
  ['TURNPIKE_SECRET', { TURNPIKE_SECRET: 'a'.repeat(40) }],
  ['TURNPIKE_SECRET_OLD', { TURNPIKE_SECRET_OLD: 'database' }],
  ['TLS_CERT', { TLS_CERT: '', TLS_KEY: '' }],
  ['TLS_CERT', { TLS_CERT: '', TLS_KEY: '', TRUSTED_PROXIES: '10.0.0.1', PUBLIC_URL: 'http://gate.test' }],
  ['TLS_CERT', {}, { now: Date.UTC(2049, 11, 25), backedUp: Date.UTC(2049, 11, 25) }],
  ['PUBLIC_URL', { PUBLIC_URL: '' }],
  [
    'PUBLIC_URL',
    { PUBLIC_URL: '', HOST: '127.0.0.1', SMTP_URL: 'smtps://mail.test', CONSOLE_ORIGIN: 'https://gate.test' },
  ],
  ['SIGN_UP', { SIGN_UP: 'open' }],
  ['OIDC_TRUST_EMAIL', { OIDC_ISSUER: 'https://id.test', OIDC_CLIENT_ID: 'x', OIDC_TRUST_EMAIL: 'on' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres://turnpike@127.0.0.1,ledger.test/books?sslmode=require' }],
  ['SYNC', { SYNC: 'any' }],
  ['JOURNAL', { JOURNAL: 'off' }],
  ['RECEIPTS', { RECEIPTS: 'off' }],
  ['METRICS', { METRICS: '0.0.0.0:9464' }],
  ['turnpike backup', {}, { backedUp: now - 3 * 86_400_000 }],
]

for (const [setting, change, known] of weak)
  test(`${setting} is named: ${Object.entries({ ...change, ...known }).join(' ')}`, () => {
    expect(found(change, known)).toEqual([setting])
  })

test('what makes a setting sound again is taken', () => {
  expect(found({ METRICS: '0.0.0.0:9464', METRICS_ADDRESSES: '10.0.0.0/8' })).toEqual([])
  expect(found({ DATABASE_URL: 'postgres://turnpike@localhost/books' })).toEqual([])
})

test('the command names setting and fix, and fails where one is weak', async () => {
  const settings = {
    DATABASE_URL: `sqlite:${join(folder, 'none.db')}`,
    TURNPIKE_SECRET: sound.TURNPIKE_SECRET,
  }
  const { code, out, errors } = await runProgram(folder, { ...settings, HOST: '127.0.0.1' }, 'doctor')
  expect([code, errors]).toEqual([1, 'turnpike: 1 weak setting\n'])
  expect(out).toMatch(
    /^turnpike backup: the ledger was not backed up within two days\n {4}run `turnpike backup`/,
  )
  const json = await runProgram(folder, { ...settings, HOST: '0.0.0.0' }, 'doctor', '--json')
  expect(JSON.parse(json.out).data.map((line: { setting: string }) => line.setting)).toEqual([
    'TLS_CERT',
    'PUBLIC_URL',
    'turnpike backup',
  ])
})
