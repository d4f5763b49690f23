/**
 * The first start: one key, shown by the process that stored it, once it can be used; and commands that create no
 * ledger.
 */
import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../free-port.ts'
import { fetchAgain } from '../late-ledger.ts'
import { untouchedPostgres } from '../postgres.ts'
import { beginProgram, runProgram, startProgram } from '../program.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-first-'))
afterAll(() => rmSync(home, { recursive: true }))

const end = async ({ child }: Awaited<ReturnType<typeof startProgram>>) => {
  child.kill('SIGTERM')
  await child.exited
}

const statusOf = async (address: string, token: string) =>
  (await fetchAgain(`${address}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status

test('of several servers that start at once on one database, one shows a key, and it works everywhere', async () => {
  for (const more of [{}, { WORKERS: '2' }] as const) {
    const database = await untouchedPostgres()
    try {
      const settings = { DATABASE_URL: database.url, ...more }
      const started = await Promise.all([1, 2, 3].map(() => startProgram(home, settings)))
      const shown = started.filter(({ token }) => token !== '')
      // They share a folder, and so the file that has it.
      expect(new Set(shown.map(({ token }) => token)).size).toBe(1)
      for (const { address } of started) expect(await statusOf(address, shown[0]!.token)).toBe(200)
      for (const { greeting } of started) expect(greeting).toMatch(/shown only once|key create/)
      await Promise.all(started.map(end))
    } finally {
      await database.stop()
    }
  }
})

test('a start that fails makes no key: the next one shows it', async () => {
  const database = await untouchedPostgres()
  const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  try {
    const settings = { DATABASE_URL: database.url, HOST: '127.0.0.1' }
    const failed = await runProgram(home, { ...settings, PORT: String(taken.port) }, 'serve')
    expect(failed.code).not.toBe(0)
    expect(failed.out).not.toContain('sk-')
    const started = await startProgram(home, settings)
    expect(await statusOf(started.address, started.token)).toBe(200)
    await end(started)
  } finally {
    await taken.stop(true)
    await database.stop()
  }
})

/** What a program writes to its log, until it says this. */
const logUntil = async (child: ReturnType<typeof beginProgram>, what: string): Promise<string> => {
  let log = ''
  for await (const piece of child.stderr as ReadableStream<Uint8Array>) {
    log += new TextDecoder().decode(piece)
    if (log.includes(what)) break
  }
  return log
}

test('a start whose output nobody reads makes no key: the next one shows it', async () => {
  const settings = { DATABASE_URL: `sqlite:${join(home, 'unread.db')}` }
  const unread = beginProgram(home, { ...settings, LOG: 'call' }, 'serve')
  await unread.stdout.cancel()
  const log = await logUntil(unread, 'nobody reads standard output')
  expect(log).toContain('nobody reads standard output')
  // Nothing that the start asks for itself is a call.
  expect(log).not.toContain('"event":"call"')
  unread.kill('SIGTERM')
  expect(await unread.exited).toBe(0)
  const started = await startProgram(home, settings)
  expect(await statusOf(started.address, started.token)).toBe(200)
  await end(started)
})

test('while it waits for its database a closed terminal ends nothing, and its signal or its parent end it', async () => {
  const settings = { DATABASE_URL: `postgres://postgres@127.0.0.1:${await freePort()}/nobody` }
  const orphan = beginProgram(home, settings, 'serve', '--worker', 'silent')
  // Its input is empty, as that of a worker whose parent has died.
  expect(await orphan.exited).toBe(0)
  const [hungUp, signalled] = [1, 2].map(() => beginProgram(home, settings, 'serve')) as [
    typeof orphan,
    typeof orphan,
  ]
  await Promise.all([hungUp, signalled].map((child) => logUntil(child, 'waiting for the database')))
  hungUp.kill('SIGHUP')
  signalled.kill('SIGTERM')
  expect(await signalled.exited).toBe(0)
  expect([hungUp.exitCode, hungUp.signalCode]).toEqual([null, null])
  hungUp.kill('SIGTERM')
  expect(await hungUp.exited).toBe(0)
})

test('the first key and link go into a file of their own where nobody reads a terminal, and into no log', async () => {
  const folder = join(home, 'kept')
  mkdirSync(folder)
  const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db` }
  const started = await startProgram(home, settings)
  expect(started.greeting).not.toMatch(/sk-(?!…)|link#/)
  expect(started.file).toBe(join(folder, 'first-start.txt'))
  expect(statSync(started.file!).mode & 0o777).toBe(0o600)
  expect(await statusOf(started.address, started.token)).toBe(200)
  expect(started.link).toContain('/console/link#')
  await end(started)
  // Later starts have nothing to show, and a file of another ledger in the folder stays.
  const again = await startProgram(home, settings)
  expect([again.file, again.greeting.includes('key create')]).toEqual([undefined, true])
  await end(again)
  const beside = await startProgram(home, { DATABASE_URL: `sqlite:${folder}/other.db` })
  const both = readFileSync(started.file!, 'utf8')
  expect([both.includes(started.token), both.includes(beside.token)]).toEqual([true, true])
  await end(beside)
})

test('a start that can neither show nor write the first key makes none; on PostgreSQL it is beside the journal', async () => {
  const database = await untouchedPostgres()
  try {
    const file = join(home, 'journal', 'first-start.txt')
    const settings = { DATABASE_URL: database.url, JOURNAL: join(home, 'journal') }
    mkdirSync(file, { recursive: true })
    const blocked = await startProgram(home, settings, 'pipe')
    expect([blocked.token, blocked.link]).toEqual(['', ''])
    await end(blocked)
    const log = await new Response(blocked.child.stderr as ReadableStream).text()
    expect(log).toContain(`${file}: EISDIR`)
    rmSync(file, { recursive: true })
    const started = await startProgram(home, settings)
    expect([started.file, await statusOf(started.address, started.token)]).toEqual([file, 200])
    await end(started)
  } finally {
    await database.stop()
  }
})

test('a server on all addresses shows one that opens in a browser, and so do links that are made later', async () => {
  const settings = { DATABASE_URL: `sqlite:${home}/everywhere.db`, HOST: '0.0.0.0' }
  const started = await startProgram(home, settings)
  expect(new URL(started.address).hostname).toBe('127.0.0.1')
  expect(started.link).toStartWith(`${started.address}/console/link#`)
  const { port } = new URL(started.address)
  const made = await runProgram(home, { ...settings, PORT: port }, 'person', 'invite', 'ada@example.com')
  expect(made.out).toContain(`${started.address}/console/link#`)
  const six = await runProgram(
    home,
    { ...settings, HOST: '::1', PORT: port },
    'person',
    'invite',
    'b@example.com',
  )
  expect(six.out).toContain(`http://[::1]:${port}/console/link#`)
  await end(started)
})

test('a command makes no ledger: it names where it looked', async () => {
  const elsewhere = join(home, 'elsewhere')
  mkdirSync(elsewhere)
  const empty = await untouchedPostgres()
  try {
    for (const url of [undefined, `sqlite:${join(elsewhere, 'mistyped.db')}`, empty.url])
      for (const command of [['key', 'list'], ['audit'], ['wallet', 'create', '--name', 'x']]) {
        const { code, errors } = await runProgram(
          elsewhere,
          url === undefined ? {} : { DATABASE_URL: url },
          ...command,
        )
        expect([command, url, code, errors.includes('there is no ledger')]).toEqual([command, url, 1, true])
      }
    expect(existsSync(join(elsewhere, 'data'))).toBe(false)
    expect(existsSync(join(elsewhere, 'mistyped.db'))).toBe(false)
  } finally {
    await empty.stop()
  }
})

test('the check of the settings says what a start warns of; the example that is copied needs no warning', async () => {
  const example = resolve(import.meta.dir, '../../turnpike.example.yaml')
  const path = join(home, 'dear.yaml')
  writeFileSync(
    path,
    readFileSync(example, 'utf8').replace('input_usd_per_1m: "0.05"', 'input_usd_per_1m: "9"'),
  )
  const check = async (file: string) => {
    const keys = { OPENAI_KEY_A: 'a', OPENAI_KEY_B: 'b' }
    const { code, out } = await runProgram(home, { ...keys, TURNPIKE_CONFIG: file }, 'config', 'check')
    expect(code).toBe(0)
    return out
  }
  expect(await check(path)).toMatch(
    /^Note: dearer equals are not used; .*: openai\/gpt-4o-mini → my-vllm\/llama\n/,
  )
  expect(await check(example)).not.toContain('Note:')
})

test('the check of the settings finds what a start refuses', async () => {
  const path = join(home, 'wrong.yaml')
  for (const [text, complaint] of [
    ['failover:\n  local/echo-1: [openai/nothing]\n', 'failover'],
    ['prices:\n  openai/nothing: { input: "1", output: "1" }\n', 'nothing'],
  ] as const) {
    writeFileSync(path, text)
    const settings = { TURNPIKE_CONFIG: path, DATABASE_URL: `sqlite:${join(home, 'unused.db')}` }
    const checked = await runProgram(home, settings, 'config', 'check')
    const served = await runProgram(home, settings, 'serve')
    expect([text, checked.code, served.code]).toEqual([text, 2, 2])
    expect(checked.errors).toContain(complaint)
    expect(checked.errors).toBe(`turnpike: ${JSON.parse(served.errors).error}\n`)
  }
})
