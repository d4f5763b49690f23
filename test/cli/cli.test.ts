/** The program as its operator meets it: first start, a curl that works, commands beside a running server, drain. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { postgresForTests } from '../postgres.ts'

const root = resolve(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'turnpike-cli-'))
const database = await postgresForTests()

afterAll(async () => {
  await database.stop()
  rmSync(folder, { recursive: true })
})

const environment = (url: string) => ({
  PATH: process.env.PATH ?? '',
  HOME: folder,
  DATABASE_URL: url,
  DISCOVER: 'off',
  LOG: 'warn',
  PORT: '0',
})

const run = async (url: string, ...args: string[]) => {
  const child = Bun.spawn([join(root, 'bin', 'turnpike'), ...args], {
    cwd: folder,
    env: environment(url),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, out, errors }
}

const json = async (url: string, ...args: string[]) => {
  const { code, out, errors } = await run(url, ...args, '--json')
  expect([args.join(' '), code, errors]).toEqual([args.join(' '), 0, ''])
  return JSON.parse(out)
}

const serve = async (url: string) => {
  const child = Bun.spawn([join(root, 'bin', 'turnpike'), 'serve'], {
    cwd: folder,
    env: environment(url),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let greeting = ''
  for await (const piece of child.stdout) {
    greeting += new TextDecoder().decode(piece)
    if (greeting.includes('To turn on more')) break
  }
  return { child, greeting, address: /listens on (\S+)/.exec(greeting)?.[1] ?? '' }
}

for (const [engine, url] of [
  ['SQLite', `sqlite:${folder}/ledger.db`],
  ['PostgreSQL', database.url],
] as const)
  test(`${engine}: first start, the printed curl, commands beside the server, drain`, async () => {
    const { child, greeting, address } = await serve(url)
    const curl = /curl [\s\S]*?\}'/.exec(greeting)?.[0] ?? ''
    const answer = Bun.spawnSync(['sh', '-c', curl.replace('curl', 'curl -s')]).stdout.toString()
    expect(JSON.parse(answer).choices[0].message.content).toBe('You said: Hello')

    const made = await json(url, 'key', 'create', '--label', 'agent', '--spend-cap', '1.5', '--rpm', '10')
    expect(made).toMatchObject({ label: 'agent', spend_cap_usd: 1.5, rpm_limit: 10, disabled: false })
    const models = () =>
      fetch(`${address}/v1/models`, { headers: { authorization: `Bearer ${made.key}` } }).then(
        (response) => response.status,
      )
    expect(await models()).toBe(200)
    await json(url, 'key', 'disable', made.id)
    expect(await models()).toBe(403)
    await json(url, 'key', 'enable', made.key)
    expect(await models()).toBe(200)
    const child2 = await json(url, 'key', 'child', '--parent', made.id, '--label', 'tenant')
    expect(child2.parent).toBe(made.id)
    expect(
      await json(url, 'key', 'limits', made.id, '--spend-cap', 'none', '--monthly-cap', '2'),
    ).toMatchObject({ spend_cap_usd: null, monthly_cap_usd: 2 })
    await json(url, 'key', 'delete', made.id)
    expect(await models()).toBe(401)

    const before = await json(url, 'wallet', 'show')
    expect(await json(url, 'wallet', 'fund', '--usd', '2.5', '--ref', 'invoice-1')).toMatchObject({
      outcome: 'posted',
    })
    const again = await json(url, 'wallet', 'fund', '--usd', '2.5', '--ref', 'invoice-1')
    expect([again.outcome, again.balance_usd]).toEqual(['replayed', before.balance_usd + 2.5])
    const usage = await json(url, 'usage', '--by', 'model')
    expect(usage).toMatchObject([{ model: 'local/echo-1', requests: 1 }])
    expect((await json(url, 'audit')).every(({ ok }: { ok: boolean }) => ok)).toBe(true)

    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
    const second = await serve(url)
    expect(second.greeting).toContain('Your key was shown on the first start')
    second.child.kill('SIGTERM')
    expect(await second.child.exited).toBe(0)
  }, 30_000)

test('a refused command says why and ends with 1, wrong use with 2', async () => {
  const url = `sqlite:${folder}/ledger.db`
  const unknown = await run(url, 'key', 'disable', 'key_nobody')
  expect([unknown.code, unknown.errors.split('\n').length]).toEqual([1, 2])
  expect((await run(url, 'wallet', 'fund', '--usd', '-1')).code).toBe(1)
  expect((await run(url, 'key', 'create')).code).toBe(2)
  expect((await run(url, 'nonsense')).code).toBe(2)
})

test('several processes on SQLite are refused in one line', async () => {
  const { code, errors } = await run(`sqlite:${folder}/x.db`, 'serve', '--workers', '2')
  expect([code, errors]).toEqual([
    2,
    'turnpike: WORKERS above 1 needs PostgreSQL: set DATABASE_URL=postgres://… or leave one process on SQLite\n',
  ])
})
