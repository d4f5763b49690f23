/** Metrics of real processes: by the token, on a port of their own, and one answer for all workers. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { fetchAgain } from '../late-ledger.ts'
import { postgresForTests } from '../postgres.ts'
import { beginProgram, endPrograms, runProgram, startProgram } from '../program.ts'
import { until } from '../until.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-metrics-'))
afterAll(async () => {
  await endPrograms()
  rmSync(home, { recursive: true })
})

const TOKEN = 'a-token-for-the-metrics'

const call = async (address: string, token: string) => {
  const answer = await fetchAgain(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/echo-1', messages: [{ role: 'user', content: 'hi' }] }),
    // Each comes on a connection of its own, and so to any of the workers.
    keepalive: false,
  })
  expect(answer.status).toBe(200)
  await answer.text()
}

const numberIn = (text: string, start: string): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(start))
    .map((line) => Number(line.split(' ').at(-1)))
    .reduce((a, b) => a + b, 0)

test('two workers give one answer, whichever is asked, and the sums of one that was killed stay', async () => {
  const database = await postgresForTests()
  try {
    const settings = {
      DATABASE_URL: database.url,
      WORKERS: '2',
      PORT: String(await freePort()),
      METRICS_TOKEN: TOKEN,
    }
    const { child, address, token } = await startProgram(home, settings)
    const headers = { authorization: `Bearer ${TOKEN}` }
    // The one that is killed takes its connections with it.
    const scrape = () =>
      fetch(`${address}/metrics`, { headers, keepalive: false }).then(
        (answer) => (answer.status === 200 ? answer.text() : ''),
        () => '',
      )
    await until(async () => numberIn(await scrape(), 'turnpike_processes') === 2)
    for (let calls = 0; calls < 12; calls++) await call(address, token)
    const answers = await Promise.all(Array.from({ length: 8 }, scrape))
    expect(answers.map((text) => numberIn(text, 'turnpike_calls_total'))).toEqual(answers.map(() => 12))
    const [worker] = Bun.spawnSync(['pgrep', '-P', String(child.pid)])
      .stdout.toString()
      .trim()
      .split('\n')
      .map(Number)
    process.kill(worker ?? 0, 'SIGKILL')
    await until(async () => numberIn(await scrape(), 'turnpike_processes') === 2)
    expect(numberIn(await scrape(), 'turnpike_calls_total')).toBe(12)
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  } finally {
    await database.stop()
  }
})

test('on a port of their own they need no token, and the address of calls has none', async () => {
  const port = await freePort()
  const { child, address } = await startProgram(home, { METRICS: String(port), METRICS_TOKEN: TOKEN })
  const own = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect([own.status, (await own.text()).includes('turnpike_build_info{version="')]).toEqual([200, true])
  expect((await fetch(`http://127.0.0.1:${port}/v1/models`)).status).toBe(404)
  expect((await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(
    404,
  )
  child.kill('SIGTERM')
  await child.exited
})

test('turnpike top shows the server of the same settings, with a token that nobody had to set', async () => {
  const settings = {
    PORT: String(await freePort()),
    DATABASE_URL: `sqlite:${join(home, 'top.db')}`,
    PLAN_RPM: '100000',
  }
  const { child, address, token } = await startProgram(home, settings)
  const shown = runProgram(home, settings, 'top', '--json', '--every', '3')
  let over = false
  void shown.then(() => {
    over = true
  })
  while (!over) await call(address, token)
  const { code, out, errors } = await shown
  expect([code, errors]).toEqual([0, ''])
  const { processes, in_touch, calls_per_second, vendors } = JSON.parse(out)
  expect([processes, in_touch, calls_per_second > 0]).toEqual([1, true, true])
  expect(vendors).toEqual([expect.objectContaining({ vendor: 'local', ok: '100.0 %', keys: '1' })])
  const text = await runProgram(home, settings, 'top', '--once', '--every', '0.1')
  expect([text.code, text.out.includes('USD/min'), text.out.includes('local')]).toEqual([0, true, true])
  const wrong = await runProgram(home, { ...settings, METRICS_TOKEN: TOKEN }, 'top', '--once')
  expect([wrong.code, wrong.errors.includes('another METRICS_TOKEN')]).toEqual([1, true])
  child.kill('SIGTERM')
  await child.exited
  const gone = await runProgram(home, settings, 'top', '--once')
  expect([gone.code, gone.errors.includes('no server answers at')]).toEqual([1, true])
})

test('turnpike top goes on when the server is away for a moment', async () => {
  let away = false
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response('', { status: away ? 503 : 200 }),
  })
  const { origin } = server.url
  const child = beginProgram(home, {}, 'top', '--address', origin, '--token', TOKEN, '--every', '0.1')
  const said = { out: '', errors: '' }
  const note = async (from: unknown, where: keyof typeof said) => {
    for await (const bytes of from as ReadableStream<Uint8Array>)
      said[where] += new TextDecoder().decode(bytes)
  }
  void note(child.stdout, 'out')
  void note(child.stderr, 'errors')
  const isSaid = (where: keyof typeof said, what: string) =>
    until(() => said[where].includes(what) || child.exitCode !== null)
  await isSaid('out', 'USD/min')
  away = true
  await isSaid('errors', 'gives no metrics: 503')
  said.out = ''
  away = false
  await isSaid('out', 'USD/min')
  expect([child.exitCode, said.out.includes('USD/min')]).toEqual([null, true])
  child.kill('SIGTERM')
  await child.exited
  await server.stop(true)
})

test('turnpike top shows a running server while its database is away', async () => {
  const port = { PORT: String(await freePort()) }
  const secret = { TURNPIKE_SECRET: 'a secret of at least thirty-two characters' }
  const away = { DATABASE_URL: `postgres://postgres@127.0.0.1:${await freePort()}/away` }
  for (const known of [{ METRICS_TOKEN: TOKEN }, secret]) {
    const settings = { ...port, ...secret, ...known, DATABASE_URL: `sqlite:${join(home, 'away.db')}` }
    const { child } = await startProgram(home, settings)
    const { code, out, errors } = await runProgram(
      home,
      { ...port, ...known, ...away },
      ...['top', '--json', '--every', '0.1'],
    )
    expect([code, errors, JSON.parse(out).processes]).toEqual([0, '', 1])
    child.kill('SIGTERM')
    await child.exited
  }
  const neither = await runProgram(home, { ...port, ...away }, 'top', '--once')
  expect([neither.code, neither.errors]).toEqual([1, expect.stringContaining('give the METRICS_TOKEN')])
})

test('the disks that are written to, and the backup that was made before the start', async () => {
  const settings = { DATABASE_URL: `sqlite:${join(home, 'kept.db')}`, METRICS_TOKEN: TOKEN }
  const first = await startProgram(home, settings)
  first.child.kill('SIGTERM')
  await first.child.exited
  const before = Date.now()
  expect((await runProgram(home, settings, 'backup', './backups')).code).toBe(0)
  const { child, address } = await startProgram(home, settings)
  const headers = { authorization: `Bearer ${TOKEN}` }
  const scrape = async () => (await fetch(`${address}/metrics`, { headers })).text()
  await until(async () => numberIn(await scrape(), 'turnpike_backup_timestamp_seconds') * 1_000 >= before)
  const text = await scrape()
  for (const of of ['ledger', 'assets'])
    for (const name of ['free', 'size'])
      expect(numberIn(text, `turnpike_disk_${name}_bytes{of="${of}"}`)).toBeGreaterThan(0)
  const noted = await runProgram(home, settings, 'backup', '--made', 's3://elsewhere', '--json')
  expect([noted.code, JSON.parse(noted.out).backup]).toEqual([0, 's3://elsewhere'])
  child.kill('SIGTERM')
  await child.exited
})
