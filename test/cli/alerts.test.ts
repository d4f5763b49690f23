/**
 * Three servers on one PostgreSQL, which are killed while they send: each step is told in one message, whose id stays the
 * same if it has to be sent again.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { SMTPServer } from 'smtp-server'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { freePort } from '../free-port.ts'
import { postgresForTests } from '../postgres.ts'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

const USD = 1_000_000_000n

type Mail = { readonly id: string; readonly text: string }
const mails: Mail[] = []
/** Called while a mail is being taken, before its sender hears that it was. */
let whileTaken: () => Promise<void> = async () => undefined
let smtp: SMTPServer
let port: number

beforeAll(async () => {
  port = await freePort()
  smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, _session, done) => {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        const text = Buffer.concat(pieces).toString('utf8')
        mails.push({ id: /^Message-ID: (.+)\r$/im.exec(text)?.[1] ?? '', text })
        void whileTaken().then(() => done())
      })
    },
  })
  await new Promise<void>((resolve) => smtp.listen(port, '127.0.0.1', resolve))
})
afterAll(async () => {
  await endPrograms()
  await new Promise<void>((resolve) => smtp.close(resolve))
})

test('each step is told by one message, however many servers look and die', async () => {
  const database = await postgresForTests()
  const home = await tempFolder('turnpike-alerts-')
  const settings = {
    DATABASE_URL: database.url,
    SMTP_URL: `smtp://127.0.0.1:${port}`,
    CONSOLE_ORIGIN: 'http://turnpike.test',
  }
  const store = await openStore({ url: database.url })
  await store.wallets.createWallet({ id: 'wal_a', orgId: 'org_a', name: 'a' }, byTest)
  const move = (amount: bigint) =>
    store.ledger.post({
      kind: amount > 0n ? 'topup' : 'adjust',
      ref: crypto.randomUUID(),
      debit: amount > 0n ? 'cash' : 'wal_a',
      credit: amount > 0n ? 'wal_a' : 'cash',
      amount: amount > 0n ? amount : -amount,
    })
  await move(10n * USD)
  const made = await runProgram(
    home,
    settings,
    ...['alert', 'channel', '--org', 'org_a', '--name', 'ops', '--kind', 'mail'],
    ...['--target', 'ops@example.com', '--json'],
  )
  const channel = JSON.parse(made.out).id
  const servers = await Promise.all([1, 2, 3].map(() => startProgram(home, settings)))
  const rule = {
    ...{ id: 'alert_a', orgId: 'org_a', name: 'Low', kind: 'balance' as const, amount: 10n * USD },
    ...{ steps: [20, 50, 80], channels: [channel] },
  } as const
  const sql = new SQL(database.url, { max: 1 })
  /** The rule and what failed are due at once; nobody sends when this is called. */
  const hurry = async () => {
    await sql.unsafe('update alert_rule set next_at = 0')
    await sql.unsafe(`update alert_delivery set next_at = 0 where state = 'due'`)
  }
  const states = async () =>
    (await store.alerts.deliveries({ orgId: 'org_a', most: 10 })).map(({ state }) => state)
  await store.alerts.putRule(rule, byTest)
  for (const [step, victim] of [
    [1, undefined],
    [2, 0],
    [3, 1],
  ] as const) {
    const taking = Promise.withResolvers<void>()
    whileTaken = async () => {
      const server = victim === undefined ? undefined : servers[victim]
      server?.child.kill('SIGKILL')
      await server?.child.exited
      taking.resolve()
    }
    await move(-3n * USD)
    await hurry()
    await taking.promise
    whileTaken = async () => undefined
    await until(async () => {
      if ((await states()).filter((state) => state === 'sent').length === step) return true
      if (victim !== undefined) await hurry()
      return false
    })
  }
  await hurry()
  await until(async () => Number((await sql.unsafe('select min(next_at) as at from alert_rule'))[0].at) > 0)
  expect(await states()).toEqual(['sent', 'sent', 'sent'])
  // A server that dies after its mail was taken, and before it noted that, has it sent again: under the same id.
  expect(new Set(mails.map(({ id }) => id)).size).toBe(3)
  expect(mails.length).toBeLessThanOrEqual(5)
  expect(mails.filter(({ text }) => text.includes('below 80'))).toHaveLength(1)
  const log = await runProgram(home, settings, 'alert', 'log', '--org', 'org_a', '--json')
  expect(JSON.parse(log.out)).toHaveLength(3)
  const less = [
    '--org',
    'org_a',
    '--name',
    'Lower',
    '--kind',
    'balance',
    '--usd',
    '5',
    '--steps',
    '50',
    '--json',
  ]
  const changed = await runProgram(home, settings, 'alert', 'change', 'alert_a', ...less)
  expect(JSON.parse(changed.out)).toMatchObject({ id: 'alert_a', name: 'Lower', amount_usd: 5, steps: [50] })
  expect((await runProgram(home, settings, 'alert', 'change', 'alert_b', ...less)).code).toBe(1)
  await sql.close()
  await store.close()
  await endPrograms()
  await database.stop()
})
