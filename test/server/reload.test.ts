/**
 * The configuration changes while the server runs: real processes on both engines, with open streams and calls. None is
 * lost, each is charged by the prices that it began with, and an invalid configuration changes nothing.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { freePort } from '../free-port.ts'
import { postgresForTests } from '../postgres.ts'
import { endPrograms, runProgram, type Settings, startProgram } from '../program.ts'
import { COST, fileWith, isExact, type Paid, putFile, startReloading } from '../reload-load.ts'
import { until } from '../until.ts'

const homes: string[] = []
const newHome = (): string => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-reload-'))
  homes.push(home)
  return home
}
afterAll(async () => {
  await endPrograms()
  for (const home of homes) rmSync(home, { recursive: true })
})

const CALLERS = 6
/** Most of the time goes by in commands; `bench/reload.ts` calls as fast as it can. */
const PAUSE_MS = 10
const STREAMS = 50
const CALLS_LEAST = 300

/** Changes prices and key four times under load, and checks every charge. */
const changeUnderLoad = async (settings: Settings, processes: number): Promise<void> => {
  const server = await startReloading(newHome(), settings, { processes })
  const { state } = server
  const paid: Paid[] = []
  const lost: string[] = []
  let over = false
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!over) {
      await server.call().then(
        (one) => paid.push(one),
        (error: unknown) => lost.push(String(error)),
      )
      await Bun.sleep(PAUSE_MS)
    }
  })
  const open = await Promise.all(Array.from({ length: STREAMS }, server.stream))
  try {
    for (const by of ['SIGHUP', 'apply', 'SIGHUP', 'apply'] as const) {
      await server.change(by)
      const since = paid.length
      server.vendor.keysSince()
      await until(() => paid.length >= since + 2 * CALLERS * processes || lost.length > 0, 5)
      // A call that was open during the change may still have come with the other.
      expect(server.vendor.keysSince()).toContain(`Bearer key-${state.times}`)
    }
    await until(() => paid.length >= CALLS_LEAST || lost.length > 0, 5)
  } finally {
    over = true
    await Promise.all(callers)
  }
  // A call that begins now goes out with the new key alone, whichever process it comes to.
  server.vendor.keysSince()
  for (let calls = 0; calls < 5 * processes; calls++) paid.push(await server.call())
  expect(server.vendor.keysSince()).toEqual([`Bearer key-${state.times}`])
  server.vendor.release()
  const streams = await Promise.all(open.map(({ ended }) => ended))

  expect(lost).toEqual([])
  // All of them began before the first change, and end after the last.
  expect(streams.filter(({ cost, times }) => cost !== COST || times !== 1)).toEqual([])
  expect(paid.filter((one) => !isExact(one))).toEqual([])
  expect(new Set(paid.flatMap(({ times }) => times ?? []))).toEqual(new Set([1, 2]))
  const shown = await server.command('config', 'status', '--json')
  const { processes: reported } = JSON.parse(shown.out)
  expect([shown.code, reported.length, new Set(reported.map(({ version }: any) => version)).size]).toEqual([
    0,
    processes,
    1,
  ])

  server.child.kill('SIGTERM')
  expect(await server.child.exited).toBe(0)
  const store = await openStore({ url: settings.DATABASE_URL ?? '' })
  const charged = [...paid, ...streams].reduce((sum, { cost }) => sum + cost, 0n)
  expect(await store.ledger.balance('revenue')).toBe(charged)
  expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
  await store.close()
  await server.vendor.stop()
}

test('prices and keys change under load, and each call is charged by those it began with', async () => {
  await changeUnderLoad({ DATABASE_URL: `sqlite:${join(newHome(), 'ledger.db')}` }, 1)
})

test('the same with two processes on one port and PostgreSQL: all of them change', async () => {
  const database = await postgresForTests()
  try {
    const settings = { DATABASE_URL: database.url, WORKERS: '2', PORT: String(await freePort()) }
    await changeUnderLoad(settings, 2)
  } finally {
    await database.stop()
  }
})

test('a file that cannot be used changes nothing, and shows in exit codes, status, health and metrics', async () => {
  const home = newHome()
  const server = await startReloading(home, { DATABASE_URL: `sqlite:${join(home, 'ledger.db')}` })
  const health = async () =>
    ((await (await fetch(`${server.address}/api/status`)).json()) as any).services.config
  const sold = async () => (await server.call()).cost
  expect(await health()).toEqual({ status: 'ok' })
  const bad: readonly (readonly [text: string | undefined, why: string])[] = [
    [`${fileWith(server.vendor.url, 2)}    nonsense: [`, 'is not valid YAML'],
    [`${fileWith(server.vendor.url, 2)}modells: {}\n`, 'Unrecognized key'],
    [
      `${fileWith(server.vendor.url, 2)}aliases: { fast: mock/nothing }\n`,
      "there is no model 'mock/nothing'",
    ],
    [`${fileWith(server.vendor.url, 2)}prices: { mock/n: { input_usd_per_1m: "1" } }\n`, "no model 'mock/n'"],
    [undefined, 'turnpike.yaml is gone'],
  ]
  for (const [text, why] of bad) {
    if (text === undefined) unlinkSync(server.yaml)
    else putFile(server.yaml, text)
    const dry = await server.command('config', 'apply', '--dry-run')
    expect([dry.code, dry.out]).toEqual([2, ''])
    expect(dry.errors).toContain(why)
    const applied = await server.command('config', 'apply')
    expect([applied.code, applied.out, applied.errors.includes(why)]).toEqual([2, '', true])
    expect(applied.errors).toContain('Nothing has changed.')
    expect((await server.command('config', 'apply', '--json')).code).toBe(2)
    const status = await server.command('config', 'status')
    expect([status.code, status.out.includes(why)]).toEqual([1, true])
    expect(await sold()).toBe(COST)
  }
  expect((await health()).status).toBe('degraded')
  expect(await server.metric('turnpike_config_ok')).toBe(0)
  expect(await server.metric('turnpike_config_reloads_total')).toBe(0)

  putFile(server.yaml, fileWith(server.vendor.url, 2))
  const dry = await server.command('config', 'apply', '--dry-run')
  expect(dry.out).toBe(
    'The settings are valid. To be changed:\n  ~ model mock/m: cost 1.1 → 2.2; pricing.per_1m_input_usd 1 → 2; pricing.per_1m_output_usd 10 → 20\n',
  )
  expect(await sold()).toBe(COST)
  expect((await server.command('config', 'apply')).code).toBe(0)
  expect(await sold()).toBe(2n * COST)
  expect([await health(), await server.metric('turnpike_config_ok')]).toEqual([{ status: 'ok' }, 1])
  await server.vendor.stop()
})

test('a changed file is sold without a command; what is only read at a start is named', async () => {
  const home = newHome()
  const secret = join(home, 'metrics-token')
  putFile(secret, 'a-token-for-the-metrics')
  const server = await startReloading(home, {
    DATABASE_URL: `sqlite:${join(home, 'ledger.db')}`,
    CONFIG_WATCH: 'on',
    METRICS_TOKEN: '',
    METRICS_TOKEN_FILE: secret,
  })
  putFile(server.yaml, fileWith(server.vendor.url, 2))
  await until(async () => (await server.call()).cost === 2n * COST)
  // A key's file alone: its text has the same length.
  putFile(join(home, 'mock-key'), 'key-9')
  await until(async () => {
    server.vendor.keysSince()
    await server.call()
    return server.vendor.keysSince().includes('Bearer key-9')
  })
  putFile(secret, 'another-token-for-metrics')
  putFile(server.yaml, `${fileWith(server.vendor.url, 2)}export: { to: ./calls.jsonl }\n`)
  const applied = await server.command('config', 'apply', '--json')
  expect(JSON.parse(applied.out).needs_restart.sort()).toEqual(['METRICS_TOKEN', 'export in turnpike.yaml'])
  expect(await server.metric('turnpike_config_needs_restart')).toBe(1)
  const elsewhere = await server.command('config', 'status', '--json')
  expect(JSON.parse(elsewhere.out).processes[0].needs_restart.length).toBe(2)
  // What the command's own environment has otherwise is told to programs, as it is to people.
  const other = { ...server.settings, ASSETS: './elsewhere' }
  const here = await runProgram(home, other, 'config', 'status', '--address', server.address, '--json')
  expect(JSON.parse(here.out).needs_restart.sort()).toEqual([
    'ASSETS',
    'METRICS_TOKEN',
    'export in turnpike.yaml',
  ])
  // A caller without access to the ledger has none to its configuration.
  for (const [headers, status] of [
    [{}, 401],
    [{ authorization: 'Bearer guess' }, 401],
  ] as const)
    expect((await fetch(`${server.address}/api/config`, { headers: { ...headers } })).status).toBe(status)
  await server.vendor.stop()
})

test('a file that was emptied or cut changes nothing by itself; a command applies it', async () => {
  const home = newHome()
  const server = await startReloading(home, {
    DATABASE_URL: `sqlite:${join(home, 'ledger.db')}`,
    CONFIG_WATCH: 'on',
  })
  const whole = `${fileWith(server.vendor.url, 2)}markup: 3x\n`
  putFile(server.yaml, whole)
  await until(async () => (await server.call()).cost === 6n * COST)
  const refusal = async () =>
    (JSON.parse((await server.command('config', 'status', '--json')).out) as any).processes[0].refused
      ?.errors ?? []
  for (const [text, gone] of [
    ['', 'vendors of turnpike.yaml is gone'],
    [fileWith(server.vendor.url, 2), 'markup of turnpike.yaml is gone'],
    [whole.replace(/output_usd_per_1m[^,]+, /, ''), 'output_usd_per_1m'],
  ] as const) {
    putFile(server.yaml, text)
    await until(async () => (await refusal()).join('\n').includes(gone))
    expect((await server.call()).cost).toBe(6n * COST)
  }
  // What was meant takes effect by the command, and what is put back by itself.
  putFile(server.yaml, fileWith(server.vendor.url, 2))
  const applied = await server.command('config', 'apply')
  expect([applied.code, applied.out]).toEqual([0, expect.stringContaining('markup 3 → 1')])
  expect((await server.call()).cost).toBe(2n * COST)
  expect(await refusal()).toEqual([])
  putFile(server.yaml, whole)
  await until(async () => (await server.call()).cost === 6n * COST)
  await server.vendor.stop()
})

test('a file that was first written while the server ran may not go either: what it sells would change silently', async () => {
  const home = newHome()
  const settings = { PORT: String(await freePort()), DATABASE_URL: `sqlite:${join(home, 'ledger.db')}` }
  await startProgram(home, { ...settings, CONFIG_WATCH: 'off' })
  const apply = () => runProgram(home, settings, 'config', 'apply')
  expect((await apply()).code).toBe(0)
  putFile(join(home, 'turnpike.yaml'), 'markup: "2"\n')
  expect((await apply()).out).toContain('markup 1 → 2')
  unlinkSync(join(home, 'turnpike.yaml'))
  const gone = await apply()
  expect([gone.code, gone.errors]).toEqual([2, expect.stringContaining('turnpike.yaml is gone')])
})
