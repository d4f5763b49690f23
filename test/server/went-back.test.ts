/**
 * A standby that lagged takes over: the last things that were acknowledged are missing in its database. The gateway goes
 * on without a restart, puts back the charges and the changes of keys, and tells it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { createLog } from '../../src/core/log.ts'
import { moveOrganisation } from '../../src/store/move/move-organisation.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { startProxy } from '../chaos/proxy.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { until } from '../until.ts'
import { chat, completion, startTestServer, type TestServer } from './harness.ts'

const lines: { event?: string; key?: string; recovered?: number; key_changes?: number; ops?: number }[] = []
const log = createLog('warn', Date.now, (line) => lines.push(JSON.parse(line)))
let database: TestDatabase
let standby: TestDatabase
let proxy: Awaited<ReturnType<typeof startProxy>>
let server: TestServer
let admin: SQL
const nameOf = ({ url }: TestDatabase) => `"${new URL(url).pathname.slice(1)}"`

beforeAll(async () => {
  ;[database, standby] = [await postgresForTests(), await postgresForTests()]
  const url = new URL(database.url)
  proxy = await startProxy(Number(url.port || '5432'))
  const postgres = new URL(database.url)
  postgres.pathname = '/postgres'
  admin = new SQL({ url: postgres.href, max: 1 })
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  server = await startTestServer({ url: url.href, log })
  server.answerWith(() => completion('hello'))
})
afterAll(async () => {
  await server.stop()
  proxy.stop()
  await admin.close()
  await database.stop()
  await standby.stop()
})

/** PostgreSQL copies and renames only a database that nobody is connected to. */
const whileCut = async (...statements: string[]) => {
  proxy.set('reset')
  for (const one of statements)
    await until(() =>
      admin.unsafe(one).then(
        () => true,
        () => false,
      ),
    )
  proxy.set('none')
  await nextBeat()
}

/** Until a heartbeat that begins now or later was answered. */
const nextBeat = async () => {
  const nowMs = performance.now()
  const health = () => server.gateway.book.health()
  await until(() => health().fresh && health().beatAgeMs < performance.now() - nowMs)
}

const call = async (token: string) => {
  const answer = await server.post('/v1/chat/completions', chat(), { authorization: `Bearer ${token}` })
  await answer.text()
  return { status: answer.status, id: answer.headers.get('x-request-id') ?? '' }
}
const toldBack = () => lines.filter(({ event }) => event?.startsWith('the ledger went back') === true)

test('what a lagging standby did not have is put back before the gateway serves again', async () => {
  const [revoked, cut, busy] = [await server.newKey(), await server.newKey(), await server.newKey()]
  const before = [await call(revoked.token), await call(cut.token), await call(busy.token)]
  const [from, to] = [nameOf(database), nameOf(standby)]
  await whileCut(`drop database ${to} with (force)`, `create database ${to} template ${from}`)
  // The same primary came back: nothing is missing, and nothing is told.
  expect(toldBack()).toEqual([])
  const lost = await Promise.all(Array.from({ length: 40 }, () => call(busy.token)))
  // Enabled between two revocations, on condition of its version.
  const { book } = server.gateway
  const off = { disabledReason: 'operator', byCreator: false } as const
  const version = (await book.changeKey(revoked.id, off, byTest))?.key.version ?? 0
  await book.changeKey(revoked.id, { ...off, disabledReason: null, ifVersion: version }, byTest)
  await book.changeKey(revoked.id, off, byTest)
  // A command changes keys by itself; the process hears of it.
  await server.store.keys.changeKey(cut.id, { spendCap: 1n, byCreator: true }, byTest)
  const late = await server.newKey()
  // Their lease is of after the standby's moment: nobody knows which limits they fit under, and the house pays.
  const unknown: Awaited<ReturnType<typeof call>>[] = []
  await until(async () => {
    const one = await call(cut.token)
    if (one.status === 200) unknown.push(one)
    return one.status !== 200
  })
  await nextBeat()
  await whileCut(
    `alter database ${from} rename to "${to.slice(1, -1)}_lost"`,
    `alter database ${to} rename to ${from}`,
  )
  expect((await call(revoked.token)).status).toBe(403)
  expect([402, 403]).toContain((await call(cut.token)).status)
  await until(() => toldBack().length > 0)
  expect(toldBack()).toMatchObject([{ recovered: lost.length + unknown.length, key_changes: 2 }])
  expect(lines.filter(({ event }) => event?.startsWith('a key that was made lately'))).toMatchObject([
    { key: late.id },
  ])
  const after = await Promise.all(Array.from({ length: 5 }, () => call(busy.token)))
  const store = await openStore({ url: database.url })
  try {
    expect([...before, ...lost, ...after].filter(({ status }) => status !== 200)).toEqual([])
    // On a busy machine the lease of those that were lost may also be of after the standby's moment.
    for (const { id } of [...unknown, ...lost]) expect((await store.ledger.transfersOf(id)).length).toBe(1)
    for (const { id } of [...before, ...after]) {
      const posted = await store.ledger.transfersOf(id)
      expect([id, ...posted.map(({ kind }) => kind)]).toEqual([id, 'usage'])
    }
    expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
    expect((await store.keys.key(revoked.id))?.disabledReason).toBe('operator')
    expect((await store.keys.key(cut.id))?.limits.spendCap).toBe(1n)
  } finally {
    await store.close()
    await admin.unsafe(`alter database "${to.slice(1, -1)}_lost" rename to ${to}`)
  }
})

test('what people made and paid is made again, once, but for a key that was revoked since', async () => {
  const { gateway } = server
  const { store, book } = gateway
  const toldBefore = toldBack().length
  const tokenOf = (id: string) => `sk-test${id.replace('-', '').padEnd(32, '0')}`
  const newKey = (id: string, more: object = {}) =>
    store.keys.createKey(
      {
        id,
        hash: server.hash(tokenOf(id)),
        orgId: 'o',
        walletId: 'made',
        label: id,
        prefix: 'p',
        limits: {},
        ...more,
      },
      byTest,
    )
  const pay = {
    kind: 'topup',
    ref: 'paid-late',
    debit: 'cash',
    credit: 'made',
    amount: 5_000_000_000n,
  } as const
  const before = { ...pay, ref: 'paid-before', credit: server.wallet }
  await store.ledger.post(before)
  const [from, to] = [nameOf(database), nameOf(standby)]
  await whileCut(`drop database ${to} with (force)`, `create database ${to} template ${from}`)
  await store.wallets.createWallet({ id: 'made', orgId: 'o', name: 'made' }, byTest)
  await store.ledger.post(pay)
  const sub = { id: 'sub', walletId: 'made', label: 's', budget: 1_000_000_000n }
  await store.subWallets.createSubWallet(sub, byTest)
  const team = { id: 'sub_team', walletId: 'made', label: 't', budget: 1_000_000_000n }
  await store.teams.createTeam({ ...team, orgId: 'o' }, byTest)
  const wider = { budget: 2_000_000_000n }
  await store.subWallets.changeSubWallet({ walletId: 'made' }, 'sub', wider, byTest)
  const rules = { dailyLimit: 7_000_000_000n, perCallMax: 3_000_000_000n }
  await store.wallets.changeWalletRules(server.wallet, rules, byTest)
  const caps = { monthlyCap: 9_000_000n }
  const budget = { walletId: 'made', tag: 'team', caps }
  await store.tagBudgets.putTagBudget(
    { ...budget, id: 'bud_1', value: 'red', caps: { spendCap: 1n } },
    byTest,
  )
  await store.tagBudgets.putTagBudget({ ...budget, id: 'bud_2', value: 'red' }, byTest)
  await store.tagBudgets.putTagBudget({ ...budget, id: 'bud_3', value: 'blue' }, byTest)
  await store.tagBudgets.removeTagBudget({ walletId: 'made', tag: 'team', value: 'blue' }, byTest)
  await newKey('made-key')
  await newKey('made-bound', { subWallet: 'sub' })
  await newKey('made-revoked')
  const off = { disabledReason: 'operator', byCreator: false } as const
  await book.changeKey('made-revoked', off, byTest)
  await book.changeKey('made-key', { label: 'renamed', byCreator: true }, byTest)
  const called = await call(tokenOf('made-key'))
  expect(called.status).toBe(200)
  await nextBeat()
  await whileCut(
    `alter database ${from} rename to "${to.slice(1, -1)}_lost"`,
    `alter database ${to} rename to ${from}`,
  )
  await until(() => toldBack().length > toldBefore)
  // The wallet, the payment, the sub-wallet, the team, two keys, and three acts on budgets and an end.
  expect(toldBack().at(-1)).toMatchObject({ ops: 10, recovered: 1, key_changes: 1, settings: 2 })
  expect((await call(tokenOf('made-key'))).status).toBe(200)
  expect((await call(tokenOf('made-revoked'))).status).toBe(401)
  const there = await openStore({ url: database.url })
  try {
    expect((await there.ledger.transfersOf('paid-late')).length).toBe(1)
    expect((await there.ledger.transfersOf('paid-before')).length).toBe(1)
    expect((await there.ledger.transfersOf(called.id)).length).toBe(1)
    expect((await there.keys.key('made-key'))?.label).toBe('renamed')
    expect(await there.subWallets.subWallet({ walletId: 'made' }, 'sub')).toMatchObject(wider)
    expect((await there.wallets.walletRules(server.wallet)).rules).toMatchObject(rules)
    expect(await there.teams.teams({ orgId: 'o' })).toMatchObject([team])
    const red = await there.tagBudgets.tagBudget({ walletId: 'made', tag: 'team', value: 'red' })
    expect(red).toMatchObject({ id: 'bud_1', caps })
    expect(await there.tagBudgets.setIn({ walletId: 'made', tag: 'team', value: 'blue' })).toBe(0)
    expect((await there.wallets.walletRules('made')).rules.budgeted).toEqual(['team'])
    expect((await there.keys.key('made-bound'))?.subWallet).toBe('sub')
    expect(await there.keys.key('made-revoked')).toBeUndefined()
    expect((await there.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
  } finally {
    await there.close()
    await admin.unsafe(`alter database "${to.slice(1, -1)}_lost" rename to ${to}`)
  }
})

test('an organisation that was moving holds up nothing of others, and its keys stay where the ledger has them', async () => {
  const credit = 'moving'
  await server.store.wallets.createWallet({ id: credit, orgId: 'moving', name: 'moving' }, byTest)
  const paid = { kind: 'topup', ref: 'paid-moving', debit: 'cash', credit, amount: 1_000_000_000n } as const
  await server.store.ledger.post(paid)
  const [key, other] = [await server.newKey({}, { orgId: 'moving', walletId: credit }), await server.newKey()]
  expect([(await call(other.token)).status, (await call(key.token)).status]).toEqual([200, 200])
  const cell = await postgresForTests()
  const store = await openStore({ url: cell.url })
  const [from, to] = [nameOf(database), nameOf(standby)]
  const move = (last?: string) =>
    moveOrganisation({
      ...{ orgId: 'moving', from: { url: database.url, cell: 'a' }, to: { url: cell.url, cell: 'b' } },
      ...{ by: byTest, waitMs: 600_000, tell: () => undefined },
      before: (step) => {
        if (step === last) throw new Error('killed')
      },
    })
  try {
    await expect(move('finish')).rejects.toThrow('killed')
    await nextBeat()
    const toldBefore = toldBack().length
    await whileCut(`drop database ${to} with (force)`, `create database ${to} template ${from}`)
    await move()
    const lost = await call(other.token)
    expect([lost.status, (await call(key.token)).status]).toEqual([200, 421])
    await nextBeat()
    await whileCut(
      `alter database ${from} rename to "${to.slice(1, -1)}_lost"`,
      `alter database ${to} rename to ${from}`,
    )
    await until(() => toldBack().length > toldBefore)
    expect(toldBack().at(-1)).toMatchObject({ recovered: 1, key_changes: 0 })
    const there = await openStore({ url: database.url })
    expect((await there.ledger.transfersOf(lost.id)).length).toBe(1)
    await there.close()
    await move()
    expect((await call(key.token)).status).toBe(421)
  } finally {
    await store.close()
    await cell.stop()
    await admin.unsafe(`alter database "${to.slice(1, -1)}_lost" rename to ${to}`)
  }
})
