/** PostgreSQL with TLS, whose certificate is verified, and at several addresses, of which one takes writes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { readConfig } from '../../src/cli/config/config.ts'
import { mayPass, whyNotOpen } from '../../src/cli/config/database-place.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { openStore } from '../../src/store/open-store.ts'
import { newAuthority } from '../certificates.ts'
import { startEmbedded } from '../embedded-postgres.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

type Own = Awaited<ReturnType<typeof startEmbedded>>
let primary: Own
let standby: Own
let folder: string
beforeAll(async () => {
  folder = await tempFolder('turnpike-hosts-')
  ;[primary, standby] = await Promise.all([startEmbedded(), startEmbedded()])
})
afterAll(() => primary.stop())

const admin = async (url: string, ...statements: string[]): Promise<string> => {
  const sql = new SQL({ url, max: 1 })
  try {
    let last = ''
    for (const one of statements) last = String(Object.values((await sql.unsafe(one))[0] ?? {})[0])
    return last
  } finally {
    await sql.close()
  }
}

/** Opens the ledger there; what an operator reads if that fails. */
const opened = async (url: string): Promise<string> => {
  try {
    await (await openStore({ url })).close()
    return 'open'
  } catch (error) {
    return `${mayPass(url, error) ? 'later' : 'never'}: ${whyNotOpen(url, error).split('user postgres: ')[1]}`
  }
}

describe('TLS', () => {
  const file = (name: string) => join(folder, name)
  /** The server's address with another host and with these parameters. */
  const at = (host: string, parameters: string) => {
    const url = new URL(primary.url)
    url.hostname = host
    return `${url.href}?${parameters}&connect_timeout=120`
  }
  beforeAll(async () => {
    const [authority, stranger] = [newAuthority('ours'), newAuthority('stranger')]
    writeFileSync(file('ours.pem'), authority.pem)
    writeFileSync(file('stranger.pem'), stranger.pem)
    writeFileSync(file('rubbish.pem'), 'rubbish')
    expect(await opened(at('localhost', 'sslmode=require'))).toStartWith('never: it speaks no TLS')
    const data = await admin(primary.url, 'show data_directory')
    const { pem, key } = authority.signFor('localhost')
    for (const [name, text] of [['server.crt', pem] as const, ['server.key', key] as const]) {
      writeFileSync(join(data, name), text, { mode: 0o600 })
      chownSync(join(data, name), statSync(data).uid, statSync(data).gid)
    }
    await admin(primary.url, 'alter system set ssl = on', 'select pg_reload_conf()')
    await until(async () => (await opened(at('localhost', 'sslmode=require'))) === 'open')
  })

  test.each([
    ['localhost', 'sslmode=verify-full&sslrootcert=ours.pem', 'open'],
    ['localhost', 'sslmode=verify-ca&sslrootcert=ours.pem', 'open'],
    ['127.0.0.1', 'sslmode=verify-ca&sslrootcert=ours.pem', 'open'],
    ['127.0.0.1', 'sslmode=require&sslrootcert=ours.pem', 'open'],
    ['127.0.0.1', 'sslmode=verify-full&sslrootcert=ours.pem', 'never: its certificate is of another name'],
    ['localhost', 'sslmode=verify-full&sslrootcert=stranger.pem', 'never: its certificate is signed by none'],
    ['localhost', 'sslmode=require&sslrootcert=stranger.pem', 'never: its certificate is signed by none'],
    ['localhost', 'sslmode=verify-full&sslrootcert=system', 'never: its certificate is signed by none'],
    ['localhost', 'sslmode=verify-full', 'never: its certificate is signed by none'],
    ['localhost', 'sslmode=verify-full&sslrootcert=rubbish.pem', 'never: sslrootcert names'],
  ])('%s with %s: %s', async (host, parameters, outcome) => {
    expect(
      await opened(
        at(
          host,
          parameters.replace('sslrootcert=', `sslrootcert=${folder}/`).replace(`${folder}/system`, 'system'),
        ),
      ),
    ).toStartWith(outcome)
  })

  test('the connections of all lanes are encrypted', async () => {
    const engine = openEngine({ url: at('localhost', `sslmode=verify-full&sslrootcert=${file('ours.pem')}`) })
    for (const lane of ['writer', 'control', 'relaxed', 'reading'] as const) {
      const ask = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
      expect(await engine.batch(lane, [{ text: ask, params: [] }])).toEqual([[{ ssl: true }]])
    }
    await engine.close()
  })
})

describe('several addresses', () => {
  const both = (parameters = '') => {
    const [one, other] = [new URL(standby.url), new URL(primary.url)]
    return primary.url.replace(other.host, `${one.host},${other.host}`) + parameters
  }
  /** As a server does that was a standby, or becomes one. */
  const takesWrites = (server: Own, does: boolean) =>
    admin(
      server.url,
      'set default_transaction_read_only = off',
      `alter system set default_transaction_read_only = ${does ? 'off' : 'on'}`,
      'select pg_reload_conf()',
    )

  test('the one that takes writes is used, and the other one once it takes over', async () => {
    await (await openStore({ url: standby.url })).close()
    await takesWrites(standby, false)
    const store = await openStore({ url: both() })
    const written = async (value: string) => {
      await store.writeSetting('place', value)
      await store.instances.beat('one', undefined)
    }
    const at = ({ url }: Own) =>
      admin(url, `select coalesce(max(value), 'nothing') from setting where name = 'place'`)
    await written('first')
    expect([await at(primary), await at(standby)]).toEqual(['first', 'nothing'])
    await takesWrites(primary, false)
    await takesWrites(standby, true)
    await until(() =>
      written('second').then(
        () => true,
        () => false,
      ),
    )
    expect([await at(primary), await at(standby)]).toEqual(['first', 'second'])
    await takesWrites(primary, true)
    await standby.stop()
    await until(() =>
      written('third').then(
        () => true,
        () => false,
      ),
    )
    expect(await at(primary)).toBe('third')
    await store.close()
  })

  test('each says why it cannot be used', async () => {
    await takesWrites(primary, false)
    expect(await opened(both())).toMatch(
      /^later: .*: nothing answers there.*; .*: it takes no writes, as a standby/,
    )
    expect(await opened(both('?target_session_attrs=any'))).not.toContain('as a standby')
    await takesWrites(primary, true)
  })

  test.each([
    ['postgres://one,two:65536/x', 'must be postgres://'],
    ['postgres://one,,two/x', 'must be postgres://'],
    ['postgres:///x', 'must be postgres://'],
    [
      'postgres://one/x?target_session_attrs=standby',
      "'target_session_attrs' cannot be 'standby'; it may be any, read-write, primary",
    ],
    [
      'postgres://one/x?sslmode=on',
      "'sslmode' cannot be 'on'; it may be disable, prefer, require, verify-ca, verify-full",
    ],
    ['postgres://one/x?ssl_mode=require', "has no parameter 'ssl_mode'; there are connect_timeout, sslmode"],
    [
      'postgres://one/x?sslmode=require&sslrootcert=/none.pem',
      "sslrootcert names '/none.pem', which cannot be read",
    ],
    ['postgres://one/x?sslrootcert=/none.pem', 'sslrootcert needs sslmode=require, verify-ca, verify-full'],
    ['postgres://one/x?sslmode=require&sslcert=/none.pem', 'sslcert and sslkey belong together'],
  ])('%s is no address', (url, why) => {
    expect(() => readConfig({ DATABASE_URL: url }, {})).toThrow(`DATABASE_URL: ${why}`)
  })
})
