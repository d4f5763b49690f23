/** The program as its operator sees it: first start, a curl that works, commands beside a running server, drain. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from '../../package.json'
import { fetchAgain } from '../late-ledger.ts'
import { postgresForTests } from '../postgres.ts'
import { runProgram, startProgram } from '../program.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-cli-'))
const database = await postgresForTests()

afterAll(async () => {
  await database.stop()
  rmSync(folder, { recursive: true })
})

const settings = (url: string) => ({ DATABASE_URL: url })
const run = (url: string, ...args: string[]) => runProgram(folder, settings(url), ...args)
const serve = (url: string, more: object = {}) => startProgram(folder, { ...settings(url), ...more })

const json = async (url: string, ...args: string[]) => {
  const { code, out, errors } = await run(url, ...args, '--json')
  expect([args.join(' '), code, errors]).toEqual([args.join(' '), 0, ''])
  return JSON.parse(out)
}

for (const [engine, url] of [
  ['SQLite', `sqlite:${folder}/ledger.db`],
  ['PostgreSQL', database.url],
] as const)
  test(`${engine}: first start, the printed curl, commands beside the server, drain`, async () => {
    const { child, greeting, address, token } = await serve(url)
    expect(greeting).toContain('2 USD a day at most; TRIAL_USD=0 turns them off')
    const curl = /curl [\s\S]*?\}'/.exec(greeting)?.[0] ?? ''
    const answer = Bun.spawnSync([
      'sh',
      '-c',
      curl.replace('curl', 'curl -s').replace('sk-…', token),
    ]).stdout.toString()
    expect(JSON.parse(answer).choices[0].message.content).toBe('You said: Hello')

    const made = await json(
      url,
      'key',
      'create',
      '--label',
      'agent',
      '--spend-cap',
      '1.5',
      '--rpm',
      '10',
      '--rph',
      '200',
      '--tpm',
      '9000',
    )
    expect(made).toMatchObject({ label: 'agent', spend_cap_usd: 1.5, rpm_limit: 10, disabled: false })
    expect(made).toMatchObject({ rph_limit: 200, rpd_limit: null, tpm_limit: 9_000 })
    const limited = await json(url, 'key', 'limits', made.id, '--rph', 'none', '--rpd', '1000')
    expect(limited).toMatchObject({ rpm_limit: 10, rph_limit: null, rpd_limit: 1_000, tpm_limit: 9_000 })
    const ofIts = (...texts: string[]) => [
      'key',
      'limits',
      made.id,
      ...texts.flatMap((text) => ['--alias', text]),
    ]
    const aliased = await json(url, ...ofIts('fast=local/echo-1', 'numbers=local/hash-embed-1'))
    expect([limited.aliases, aliased.aliases]).toEqual([
      null,
      { fast: 'local/echo-1', numbers: 'local/hash-embed-1' },
    ])
    for (const [text, reason] of [
      [
        'fast=local/eco-1',
        "'fast' stands for no model. There is no model 'local/eco-1'; did you mean 'local/echo-1'?",
      ],
      ['fast', "--alias must be <name>=<model> such as fast=openai/gpt-4o-mini, or none, not 'fast'"],
    ] as const) {
      const refused = await run(url, ...ofIts(text))
      expect([refused.code, refused.errors.includes(reason)]).toEqual([1, true])
    }
    expect((await json(url, ...ofIts('none'))).aliases).toBeNull()
    const models = () =>
      fetchAgain(`${address}/v1/models`, { headers: { authorization: `Bearer ${made.key}` } }).then(
        (response) => response.status,
      )
    expect(await models()).toBe(200)
    await json(url, 'key', 'disable', made.id)
    expect(await models()).toBe(403)
    await json(url, 'key', 'enable', made.key)
    expect(await models()).toBe(200)
    const child2 = await json(
      url,
      'key',
      'child',
      '--parent',
      made.id,
      '--label',
      'tenant',
      '--alias',
      'fast=local/echo-1',
    )
    expect([child2.parent, child2.aliases]).toEqual([made.id, { fast: 'local/echo-1' }])
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
    const { id: shop } = await json(url, 'wallet', 'create', '--name', 'the shop')
    await json(url, 'wallet', 'fund', '--usd', '0.0000001', '--wallet', 'the shop')
    expect(await json(url, 'wallet', 'show', 'the shop')).toMatchObject({ id: shop, balance_usd: 1e-7 })
    expect((await run(url, 'wallet', 'list')).out).toContain('  0.0000001  ')
    await json(url, 'wallet', 'create', '--name', 'the bank')
    await json(url, 'wallet', 'fund', '--usd', '9007199.254740993', '--wallet', 'the bank')
    for (const form of [[], ['--json']])
      expect((await run(url, 'wallet', 'show', 'the bank', ...form)).out).toMatch(/\b9007199\.254740993\b/)
    expect(await json(url, 'key', 'create', '--label', 'till', '--wallet', 'the shop')).toMatchObject({
      wallet: shop,
    })
    await json(url, 'wallet', 'create', '--name', 'the shop')
    const either = await run(url, 'wallet', 'show', 'the shop')
    expect([either.code, either.errors]).toEqual([
      1,
      "turnpike: 2 wallets are named 'the shop'; use an id from 'turnpike wallet list'\n",
    ])
    const onCredit = await json(url, 'credit', 'grant', '--usd', '5', '--net-days', '30')
    expect(onCredit).toMatchObject({ wallet: 'wal_operator', status: 'active', limit_usd: 5, net_days: 30 })
    const later = await json(url, 'key', 'create', '--label', 'later')
    const postPaid = await fetchAgain(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${later.key}`,
        'content-type': 'application/json',
        'x-payment-protocol': 'mpp',
      },
      body: JSON.stringify({ model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    const cost = Number(postPaid.headers.get('x-cost-usd'))
    expect([postPaid.status, cost > 0]).toEqual([200, true])
    expect(await json(url, 'credit', 'show')).toMatchObject([{ wallet: 'wal_operator', owed_usd: cost }])
    expect(await json(url, 'credit', 'show', 'wal_operator')).toMatchObject({ owed_usd: cost, invoices: [] })
    expect(await json(url, 'credit', 'statement')).toMatchObject({
      opening_usd: 0,
      used_usd: cost,
      closing_usd: cost,
      lines: [{ label: 'later', model: 'local/echo-1', requests: 1 }],
      invoice: null,
    })
    const usage = await json(url, 'usage', '--by', 'model')
    expect(usage).toMatchObject([{ model: 'local/echo-1', requests: 2 }])
    expect((await json(url, 'audit')).every(({ ok }: { ok: boolean }) => ok)).toBe(true)

    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
    const second = await serve(url, { TRIAL_USD: '0' })
    expect(second.greeting).toContain('The first key was only shown when it was made')
    expect(second.greeting).toContain('Anonymous trials: off')
    second.child.kill('SIGTERM')
    expect(await second.child.exited).toBe(0)
  })

test('a refused command says why and ends with 1, wrong use with 2', async () => {
  const url = `sqlite:${folder}/ledger.db`
  const unknown = await run(url, 'key', 'disable', 'key_nobody')
  expect([unknown.code, unknown.errors.split('\n').length]).toEqual([1, 2])
  for (const amount of ['-1', '0', '0.0000000001', '2000000000']) {
    const { code, errors } = await run(url, 'wallet', 'fund', '--usd', amount)
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining('at most a billion and with at most nine decimals'),
    ])
  }
  const turned = await run(url, 'usage', '--from', '2026-11-02', '--to', '2026-11-01')
  expect([turned.code, turned.errors]).toEqual([1, expect.stringContaining('--from must not be after --to')])
  expect((await run(url, 'key', 'create')).code).toBe(2)
  for (const wrong of [
    ['grant', '--usd', '-1'],
    ['grant', '--usd', '1', '--net-days', '400'],
    ['grant', '--usd', '1', '--wallet', 'wal_nobody'],
    ['show', 'wal_nobody'],
    ['statement', '--month', '2020-01'],
    ['pay', 'INV-nobody-000001'],
    ['pay', 'INV-nobody-000001', '--from', 'stripe'],
    ['pay', 'INV-nobody-000001', '--from', 'air'],
  ]) {
    const { code, errors } = await run(url, 'credit', ...wrong)
    expect([wrong, code, errors.split('\n').length]).toEqual([wrong, 1, 2])
  }
  expect((await run(url, 'nonsense')).code).toBe(2)
  expect(await run(url, '--version')).toMatchObject({ code: 0, out: `${version}\n` })
})

test('several processes on SQLite are refused in one line', async () => {
  const { code, errors } = await run(`sqlite:${folder}/x.db`, 'serve', '--workers', '2')
  expect([code, JSON.parse(errors).error]).toEqual([
    2,
    'WORKERS above 1 needs PostgreSQL: set DATABASE_URL=postgres://… or leave one process on SQLite',
  ])
})

test('several processes whose port is taken end with one line each and a code, and are not started for ever', async () => {
  const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const port = String(taken.port)
  const set = { ...settings(database.url), PORT: port }
  const { code, errors } = await runProgram(folder, set, 'serve', '--workers', '2')
  await taken.stop()
  expect(code).toBe(1)
  expect(errors).toContain(`:${port} (HOST, PORT): another program listens there`)
  expect(errors).not.toContain('another is started')
})
