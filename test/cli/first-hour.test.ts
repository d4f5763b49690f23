/** The first hour: the program's own answers to a newcomer's settings and mistakes. */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { fetchAgain } from '../late-ledger.ts'
import { postgresForTests } from '../postgres.ts'
import { endPrograms, ownProgram, runProgram, startProgram } from '../program.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-hour-'))
const vendor = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/v1beta/models/gemini-2.5-flash:generateContent')
      return Response.json({
        candidates: [{ content: { role: 'model', parts: [{ text: 'asked here' }] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
      })
    if (pathname !== '/v1/models') return new Response('', { status: 404 })
    return request.headers.get('authorization') === 'Bearer house-key'
      ? Response.json({ object: 'list', data: [{ id: 'qwen3' }, { id: 'bge-m3' }] })
      : new Response('', { status: 401 })
  },
})
afterAll(async () => {
  await endPrograms()
  await vendor.stop(true)
  rmSync(folder, { recursive: true })
})

const home = (name: string): string => {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}
const address = `http://127.0.0.1:${vendor.port}`

test('key list shows state, spend and last use', async () => {
  const path = home('keys')
  const settings = { DATABASE_URL: 'sqlite:./ledger.db' }
  const { child, address: at, token } = await startProgram(path, settings)
  await runProgram(path, settings, 'key', 'create', '--label', 'unused')
  const answer = await fetchAgain(`${at}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  const cost = Number(answer.headers.get('x-cost-usd'))
  const list = async (...more: string[]) => (await runProgram(path, settings, 'key', 'list', ...more)).out
  const [unused, used] = JSON.parse(await list('--json'))
  expect(unused).toMatchObject({
    label: 'unused',
    spent_usd: 0,
    requests: 0,
    last_used_at: null,
    deleted: false,
  })
  expect(used).toMatchObject({ label: 'first key', spent_usd: cost, spent_this_month_usd: cost, requests: 1 })
  expect(Math.abs(Date.parse(used.last_used_at) - Date.now())).toBeLessThan(3_600_000)
  await runProgram(path, settings, 'key', 'delete', used.id)
  expect(JSON.parse(await list('--json'))).toHaveLength(1)
  const all = await list('--deleted')
  expect(all).toMatch(/spent_usd .*last_used\n/)
  expect(all).toMatch(
    new RegExp(
      `first key .* deleted .* ${cost.toFixed(9).replace(/0+$/, '')} .* \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d\n`,
    ),
  )
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

test('a PostgreSQL that says no ends the start at once, with its address and without its password', async () => {
  const path = home('refused')
  const database = await postgresForTests()
  const { host, pathname } = new URL(database.url)
  const url = `postgres://nobody-here:a-password@${host}${pathname}`
  for (const command of [['serve'], ['key', 'list']]) {
    const { code, errors } = await runProgram(path, { DATABASE_URL: url }, ...command)
    expect(code).toBe(1)
    expect(errors).toContain(`PostgreSQL at ${host}, database ${pathname.slice(1)}, user nobody-here: `)
    expect(errors).not.toContain('a-password')
    expect(errors).not.toContain('waiting')
  }
  await database.stop()
})

test('one that does not answer is named at once, while it is waited for', async () => {
  const port = await freePort()
  const { child } = await startless(home('away'), `postgres://user:a-password@127.0.0.1:${port}/ledger`)
  const reader = (child.stderr as ReadableStream<Uint8Array>).getReader()
  const said = new TextDecoder().decode((await reader.read()).value)
  expect(JSON.parse(said.split('\n')[0] ?? '')).toMatchObject({
    event: 'waiting for the database',
    error: `PostgreSQL at 127.0.0.1:${port}, database ledger, user user: nothing answers there, or the name is not known; start PostgreSQL, or correct DATABASE_URL`,
  })
  child.kill('SIGKILL')
})

/** A server that never gets to its greeting. */
const startless = async (path: string, url: string) => ({
  child: Bun.spawn([ownProgram, 'serve'], {
    cwd: path,
    env: { PATH: process.env.PATH ?? '', DATABASE_URL: url, PORT: '0', DISCOVER: 'off' },
    stdout: 'ignore',
    stderr: 'pipe',
  }),
})

test('addresses count under the names that clients use, with or without the version; others are told of', async () => {
  const path = home('addresses')
  for (const name of ['GOOGLE_BASE_URL', 'GEMINI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'])
    for (const version of ['', '/v1beta']) {
      const settings = {
        DATABASE_URL: 'sqlite::memory:',
        GEMINI_API_KEY: 'k',
        [name]: `${address}${version}`,
      }
      const { child, address: at, token } = await startProgram(path, settings)
      const answer = await fetchAgain(`${at}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'google/gemini-2.5-flash',
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      })
      expect([name, version, answer.status, (await answer.text()).includes('asked here')]).toEqual([
        name,
        version,
        200,
        true,
      ])
      child.kill('SIGKILL')
    }
  const twice = await runProgram(
    path,
    { GEMINI_API_KEY: 'k', GEMINI_BASE_URL: address, GOOGLE_BASE_URL: 'https://elsewhere.example' },
    'config',
    'check',
  )
  expect([twice.code, twice.errors]).toEqual([
    2,
    'turnpike: GOOGLE_BASE_URL and GEMINI_BASE_URL name different addresses: keep one of them\n',
  ])
  const stray = await runProgram(
    path,
    { OPENIA_BASE_URL: address, OPENAI_BASE_URL: address },
    'config',
    'check',
  )
  expect(stray.out).toContain('no vendor has the address OPENIA_BASE_URL')
  expect(stray.out).not.toContain('OPENAI_BASE_URL')
})

test('a vendor without models sells what runs on this machine, and names what needs a price', async () => {
  const path = home('models')
  const file = (url: string) =>
    writeFileSync(
      join(path, 'turnpike.yaml'),
      `vendors:\n  own:\n    base_url: ${url}\n    keys: house-key\n`,
    )
  const settings = { DISCOVER: 'on', DATABASE_URL: 'sqlite::memory:' }
  file(`${address}/v1`)
  const { out } = await runProgram(path, settings, 'models', '--json')
  expect(
    JSON.parse(out)
      .filter(({ id }: { id: string }) => id.startsWith('own/'))
      .map(({ id, kind }: { id: string; kind: string }) => [id, kind]),
  ).toEqual([
    ['own/bge-m3', 'embeddings'],
    ['own/qwen3', 'chat'],
  ])
  // The same server under a name that may be another machine's.
  file(`http://0.0.0.0:${vendor.port}/v1`)
  const checked = await runProgram(path, settings, 'config', 'check')
  expect([checked.code, checked.out]).toEqual([
    0,
    expect.stringContaining(
      'Note: own offers qwen3, bge-m3; give those that you sell a price: turnpike models add own/qwen3\n',
    ),
  ])
})

test('all bad settings are told at once', async () => {
  const path = home('settings')
  writeFileSync(join(path, 'turnpike.yaml'), 'markup: 15\n')
  const wrong = { PORT: 'abc', LOG: 'nope', OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'x' }
  const { code, errors } = await runProgram(path, wrong, 'config', 'check')
  expect(code).toBe(2)
  for (const name of ['PORT', 'LOG', 'OPENAI_BASE_URL', 'markup']) expect(errors).toContain(`${name}`)
  expect(errors.trim().split('\n')).toHaveLength(4)
})
