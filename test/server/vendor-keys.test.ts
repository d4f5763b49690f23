/** Keys of vendors that are added while the server runs: tried at the vendor first, then used, and there after a restart. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, runProgram, type Settings, startProgram } from '../program.ts'
import { until } from '../until.ts'
import { completion, jsonOf } from './harness.ts'

const GOOD = 'sk-good-key-0001'
const OTHER = 'sk-other-key-0002'

let home: string
let vendor: ReturnType<typeof Bun.serve>
let settings: Settings
let operator: string
let server: Awaited<ReturnType<typeof startProgram>>
/** The keys that calls came with. */
const used: string[] = []

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'turnpike-vendor-keys-'))
  vendor = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const key = (request.headers.get('authorization') ?? '').replace('Bearer ', '')
      const { pathname } = new URL(request.url)
      if (pathname === '/open/v1/models') return Response.json({ data: [] })
      if (key !== GOOD && key !== OTHER) return new Response('{}', { status: 401 })
      if (pathname.endsWith('/models')) return Response.json({ data: [] })
      used.push(key)
      return completion('hello')
    },
  })
  settings = {
    OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1`,
    GROQ_BASE_URL: `http://127.0.0.1:${vendor.port}/open/v1`,
    DATABASE_URL: 'sqlite:./ledger.db',
    LOCAL_MEDIA: 'off',
  }
  server = await startProgram(home, settings)
  const args = ['machine', 'create', '--label', 'ops', '--may', 'system,events', '--json']
  operator = JSON.parse((await runProgram(home, settings, ...args)).out).credential
})
afterAll(async () => {
  await endPrograms()
  vendor.stop(true)
  rmSync(home, { recursive: true, force: true })
})

const ask = (method: string, path: string, body?: object) =>
  fetch(`${server.address}/v1/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

const call = async (): Promise<number> => {
  const response = await fetch(`${server.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'openai/gpt-5-mini',
      max_completion_tokens: 5,
      messages: [{ role: 'user', content: 'hi' }],
    }),
  })
  await response.text()
  return response.status
}

const openai = async () =>
  (await jsonOf(await ask('GET', '/vendors'))).data.find((one: { id: string }) => one.id === 'openai')

test('a key that its vendor refuses, or says nothing of, is not added', async () => {
  const wrong = await ask('POST', '/vendors/openai/keys', { key: 'sk-wrong-key-9999' })
  expect([wrong.status, (await jsonOf(wrong)).error]).toEqual([
    400,
    expect.objectContaining({ param: 'key', message: expect.stringContaining('refuses this key') }),
  ])
  const open = await ask('POST', '/vendors/groq/keys', { key: GOOD })
  expect([open.status, (await jsonOf(open)).error.param]).toEqual([400, 'untested'])
  for (const id of ['nobody', 'bedrock', 'azure'])
    expect((await ask('POST', `/vendors/${id}/keys`, { key: GOOD })).status).toBe(400)
  expect((await ask('POST', '/vendors/openai/keys', { key: 'two keys, one' })).status).toBe(400)
  expect(await openai()).toBeUndefined()
  expect(await call()).toBe(400)
})

test('one that it takes turns the vendor on at once, and is in no answer, no event and readable by its owner alone', async () => {
  const made = await ask('POST', '/vendors/openai/keys', { key: GOOD })
  const shown = await jsonOf(made)
  expect([made.status, shown.key, shown.tested]).toEqual([201, '…0001', true])
  await until(async () => (await call()) === 200)
  expect(new Set(used)).toEqual(new Set([GOOD]))
  const again = await ask('POST', '/vendors/openai/keys', { key: GOOD })
  expect([again.status, (await jsonOf(again)).error.param]).toEqual([400, 'key'])
  const folder = join(home, 'data', 'vendor-keys')
  const [file = ''] = readdirSync(folder)
  expect([statSync(folder).mode & 0o777, statSync(join(folder, file)).mode & 0o777]).toEqual([0o700, 0o600])
  const all = await Promise.all(
    ['/vendors', '/setup', '/config', '/events?limit=5'].map(async (path) => (await ask('GET', path)).text()),
  )
  // Compared by themselves, as these texts are long.
  const told = `${all.join()} ${JSON.stringify(shown)} ${file}`
  expect([told.includes('vendor.key_added'), told.includes(GOOD)]).toEqual([true, false])
})

test('two that are added at once are both used, also after a restart, until they are removed', async () => {
  const [one, two] = await Promise.all([
    ask('POST', '/vendors/openai/keys', { key: OTHER }),
    ask('POST', '/vendors/groq/keys', { key: GOOD, untested: true }),
  ])
  expect([one.status, two.status, (await jsonOf(two)).tested]).toEqual([201, 201, false])
  server.child.kill('SIGKILL')
  await server.child.exited
  server = { ...(await startProgram(home, settings)), token: server.token }
  expect(await openai()).toMatchObject({ keys: ['…0001', '…0002'], added: ['…0001', '…0002'] })
  expect((await ask('DELETE', '/vendors/openai/keys/0001')).status).toBe(200)
  used.length = 0
  await until(async () => (await call()) === 200 && used.length > 5)
  expect(new Set(used)).toEqual(new Set([OTHER]))
  expect((await ask('DELETE', '/vendors/openai/keys/0001')).status).toBe(404)
  expect((await ask('DELETE', '/vendors/openai/keys/0002')).status).toBe(200)
  expect(await openai()).toBeUndefined()
})
