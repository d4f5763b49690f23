/**
 * TURNPIKE_SECRET changes: while both are set, what the old one made is still accepted, moves as it is used, and is
 * reported.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LOGIN_MS } from '../../src/control/people/logins.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { fetchAgain } from '../late-ledger.ts'
import { endPrograms, runProgram, type Settings, startProgram } from '../program.ts'
import { serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-secret-'))
afterAll(async () => {
  await endPrograms()
  rmSync(home, { recursive: true })
})

const [A, B] = ['the-first-secret-of-all', 'the-second-secret-of-all']

type Started = Awaited<ReturnType<typeof startProgram>>

const asked = async (
  { address }: Started,
  token: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
) => {
  const answer = await fetchAgain(`${address}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, json: () => JSON.parse(text) as any }
}
const chat = { model: 'local/echo-1', messages: [{ role: 'user', content: 'hi' }] }
const call = (server: Started, token: string, headers: Record<string, string> = {}) =>
  asked(server, token, '/v1/chat/completions', chat, headers)
const stopped = async ({ child }: Started) => {
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
}

/** Signs an agent in, and returns when that ends. */
const agentSignsIn = async (url: string): Promise<number> => {
  const store = await openStore({ url })
  const [person] = await store.people.find('person', { where: [] })
  const [userCode, deviceHash, orgId] = ['ABCDEFGH', crypto.randomUUID(), 'operator']
  const ask = { id: 'login', deviceHash, userCode, surface: 'agent', address: '127.0.0.1', lifeMs: 60_000 }
  expect(await store.logins.askLogin(ask)).toBe(true)
  const as = { personId: String(person?.id), orgId, keyId: 'key_first' }
  expect(await store.logins.approveLogin(userCode, as, byTest)).toBe(true)
  const poll = { deviceHashes: [deviceHash], refreshHash: 'hash', everyMs: 0, lifeMs: LOGIN_MS }
  expect(await store.logins.pollLogin(poll)).toMatchObject({ userCode })
  const [login] = await store.logins.logins({ orgId })
  await store.close()
  return login?.endsAt ?? 0
}

for (const engine of serverEngines)
  describe(engine.name, () => {
    const run = async (secretsOf: (secret: Settings) => Settings, first: Settings) => {
      const place = engine.name.includes('SQLite') ? undefined : await engine.fresh()
      const url = place?.url ?? `sqlite:${join(home, `${Bun.randomUUIDv7()}.db`)}`
      const both = secretsOf({ DATABASE_URL: url })
      const one = await startProgram(home, { DATABASE_URL: url, ...first })
      const { token } = one
      const made = { 'idempotency-key': 'the-child' }
      const childOf = (server: Started) =>
        asked(server, token, '/v1/key/wholesale', { label: 'child' }, made).then((answer) => answer.json())
      const child = await childOf(one)
      const resting = (await asked(one, token, '/v1/key/wholesale', { label: 'resting' })).json().data.key
      const once = { 'idempotency-key': 'the-call' }
      const before = await call(one, token, once)
      const picture = await asked(one, token, '/v1/run', { model: 'local/qr-1', inputs: { text: 'hi' } })
      const link = new URL(picture.json().outputs[0].url)
      const signers = (await asked(one, token, '/.well-known/jwks.json')).text
      expect([before.status, picture.status]).toEqual([200, 200])
      const machineOf = async (label: string): Promise<string> => {
        const args = ['machine', 'create', '--label', label, '--may', 'read', '--json']
        return JSON.parse((await runProgram(home, { DATABASE_URL: url, ...first }, ...args)).out).credential
      }
      const [machine, idle] = [await machineOf('deploy'), await machineOf('idle')]
      await stopped(one)
      const signInEnds = await agentSignsIn(url)

      const two = await startProgram(home, both)
      const repeat = await call(two, token, once)
      expect([repeat.headers.get('idempotent-replayed'), repeat.text]).toEqual(['true', before.text])
      expect((await call(two, token, { 'idempotency-key': 'another' })).status).toBe(200)
      expect((await asked(two, '', link.pathname + link.search)).status).toBe(200)
      expect((await childOf(two)).data.key).toBe(child.data.key)
      expect((await call(two, child.data.key)).status).toBe(200)
      const receipt = await asked(two, token, `/v1/receipts/${before.headers.get('x-request-id')}`)
      expect(receipt.status).toBe(200)
      expect((await asked(two, machine, '/v1/admin/keys')).status).toBe(200)
      expect((await call(two, 'sk-nobody-has-this-one-at-all')).status).toBe(401)
      const status = async () => {
        const { code, out } = await runProgram(home, both, 'secret', 'status', '--json')
        const { needed, keys, newest, machines } = JSON.parse(out)
        const labels = [...newest, ...machines].map(({ label }: { label: string }) => label)
        return { code, needed, keys, labels }
      }
      // Keys move to the new secret beside the call that brought them.
      await until(async () => (await status()).keys === 1)
      expect(await status()).toEqual({ code: 1, needed: true, keys: 1, labels: ['resting', 'idle'] })
      const shown = await runProgram(home, both, 'secret', 'status')
      expect(shown.out).toContain('TURNPIKE_SECRET_OLD is still needed.')
      // An agent that is signed in refreshes its token for a month.
      expect(shown.out).toContain(`end by ${new Date(signInEnds).toISOString()}.`)
      // New keys are of the new secret.
      const { key: fresh } = (await asked(two, token, '/v1/key/wholesale', { label: 'fresh' })).json().data
      expect((await status()).keys).toBe(1)
      await stopped(two)

      const three = await startProgram(home, { DATABASE_URL: url, TURNPIKE_SECRET: B })
      for (const good of [token, child.data.key, fresh]) expect((await call(three, good)).status).toBe(200)
      expect((await call(three, resting)).status).toBe(401)
      expect((await asked(three, machine, '/v1/admin/keys')).status).toBe(200)
      expect((await asked(three, idle, '/v1/admin/keys')).status).toBe(401)
      expect((await asked(three, '', link.pathname + link.search)).status).toBe(404)
      // The keys of receipts moved, so no new one had to be made.
      expect((await asked(three, token, '/.well-known/jwks.json')).text).toBe(signers)
      expect((await runProgram(home, { DATABASE_URL: url, TURNPIKE_SECRET: B }, 'audit')).code).toBe(0)
      const none = await runProgram(home, { DATABASE_URL: url, TURNPIKE_SECRET: B }, 'secret', 'status')
      expect([none.code, none.errors]).toEqual([
        1,
        'turnpike: TURNPIKE_SECRET_OLD is not set: there is one secret\n',
      ])
      await stopped(three)
      await place?.stop()
    }

    test('from one that was set to another', () =>
      run((url) => ({ ...url, TURNPIKE_SECRET: B, TURNPIKE_SECRET_OLD: A }), { TURNPIKE_SECRET: A }))

    test('from the one that the database made', () =>
      run((url) => ({ ...url, TURNPIKE_SECRET: B, TURNPIKE_SECRET_OLD: 'database' }), {}))
  })

test('a start with another secret says that keys are unknown, and so does a restore for one', async () => {
  const folder = mkdtempSync(join(home, 'other-'))
  const url = { DATABASE_URL: `sqlite:${folder}/ledger.db` }
  const logOf = async (settings: Settings) => {
    const { child } = await startProgram(home, { ...url, ...settings }, 'pipe')
    child.kill('SIGTERM')
    return new Response(child.stderr as ReadableStream).text()
  }
  const unknown = 'some keys were made under another TURNPIKE_SECRET'
  expect(await logOf({})).not.toContain(unknown)
  expect(await logOf({ TURNPIKE_SECRET: B })).toContain(unknown)
  expect(await logOf({ TURNPIKE_SECRET: B, TURNPIKE_SECRET_OLD: 'database' })).not.toContain(unknown)
  const { out } = await runProgram(home, url, 'backup', folder, '--json')
  const restored = async (name: string, settings: Settings) => {
    const to = { ...settings, DATABASE_URL: `sqlite:${folder}/${name}.db` }
    return (await runProgram(home, to, 'restore', JSON.parse(out).backup)).out
  }
  expect(await restored('one', {})).not.toContain('every key is unknown')
  expect(await restored('two', { TURNPIKE_SECRET: B })).toContain('every key is unknown')
})

test('while several processes are replaced, those with the old one know what the new one makes', async () => {
  const { postgresForTests } = await import('../postgres.ts')
  const database = await postgresForTests()
  const url = { DATABASE_URL: database.url }
  try {
    const old = await startProgram(home, { ...url, TURNPIKE_SECRET: A, TURNPIKE_SECRET_OLD: B })
    const next = await startProgram(home, { ...url, TURNPIKE_SECRET: B, TURNPIKE_SECRET_OLD: A })
    const { token } = old
    // The server takes the command of the other secret, whose fingerprints of everything differ.
    const port = { PORT: new URL(next.address).port }
    const seen = await runProgram(home, { ...url, ...port, TURNPIKE_SECRET: A }, 'config', 'status')
    expect(seen.out).toContain('This command has another TURNPIKE_SECRET than the server')
    expect(seen.out).not.toContain('Needs a restart')
    for (const maker of [old, next]) {
      const made = await asked(maker, token, '/v1/key/wholesale', { label: 'made' })
      const { key } = made.json().data
      for (const server of [next, old, next, old]) expect((await call(server, key)).status).toBe(200)
    }
    await stopped(old)
    await stopped(next)
  } finally {
    await database.stop()
  }
})

test('a key is not made under a secret that the server does not have: it would be a 401', async () => {
  const url = `sqlite:${join(home, 'two-secrets.db')}`
  const server = await startProgram(home, { DATABASE_URL: url, TURNPIKE_SECRET: A })
  const create = (secret: Settings) =>
    runProgram(home, { DATABASE_URL: url, ...secret }, 'key', 'create', '--label', 'new')
  for (const [secret, why] of [
    [{ TURNPIKE_SECRET: B }, 'TURNPIKE_SECRET here is not that of the server: it would answer 401'],
    [{}, 'TURNPIKE_SECRET is not set here, but the server has one: it would answer 401'],
  ] as const) {
    const { code, out, errors } = await create(secret)
    expect([code, out, errors]).toEqual([1, '', expect.stringContaining(why)])
  }
  const made = await create({ TURNPIKE_SECRET: A })
  expect(made.code).toBe(0)
  expect((await call(server, made.out.split('\n')[0] ?? '')).status).toBe(200)
  await stopped(server)
  // The servers of the ledger have another secret from now on.
  const next = await startProgram(home, { DATABASE_URL: url, TURNPIKE_SECRET: B, TURNPIKE_SECRET_OLD: A })
  expect((await create({ TURNPIKE_SECRET: A })).code).toBe(1)
  expect((await create({ TURNPIKE_SECRET: B })).code).toBe(0)
  await stopped(next)
})
