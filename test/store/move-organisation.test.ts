/** An organisation with rows of every kind moves between two ledgers, on any two engines, forward and back. */
import { expect, test } from 'bun:test'
import { statement } from '../../src/store/engine/engine.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { type MoveOrganisation, moveOrganisation, stayHere } from '../../src/store/move/move-organisation.ts'
import { moved, stays } from '../../src/store/move/whose-rows.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { bookScene, callsOf } from './audit-scene.ts'
import { brokenLaws, engines, type TestEngine } from './engines.ts'
import { CENT } from './world.ts'

const lasting = engines.filter((engine) => engine.lasting)

/** After the scene, whose calls are over by then. */
let later = Date.UTC(2026, 11, 1, 6)
const now = () => later++

const endCalls = async (url: string): Promise<void> => {
  const address = { url, now }
  const engine = openEngine(address)
  const [rows = []] = await engine.batch('control', [
    { text: `select id from lease where state <> 'closed'`, params: [] },
  ])
  await engine.close()
  const store = await openStore(address)
  await store.ledger.release(
    'i',
    rows.map(({ id }) => String(id)),
  )
  for (const _ of [1, 2]) await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
  await store.close()
}

/** What the organisation has: its money, its counters, its history, by the store's own readers. */
const factsOf = async (url: string) => {
  const store = await openStore({ url })
  const facts = {
    wallet: await store.wallets.wallet('w'),
    keys: (await store.keys.list({ deleted: true }))
      .filter(({ orgId }) => orgId === 'o')
      .map(({ version: _, ...key }) => key),
    spent: [await store.keys.spend('maker'), await store.keys.spend('k')],
    rules: { ...(await store.wallets.walletRules('w')), version: 0 },
    subs: (await store.subWallets.list({ walletId: 'w' })).filter(({ id }) => id === 's'),
    credit: await store.credit.creditLine('w'),
    invoices: await store.credit.invoices('w'),
    call: await store.ledger.transfersOf('c1'),
  }
  const broken = await brokenLaws(store)
  await store.close()
  expect(broken).toEqual([])
  return facts
}

/** What the scene's calls on credit cost. */
const COST_ON_CREDIT = 10_100n

/** The sum of what is on both ledgers' accounts between cells. */
const between = async (...urls: string[]): Promise<bigint> => {
  let sum = 0n
  for (const url of urls) {
    const store = await openStore({ url })
    for (const cell of ['a', 'b']) sum += await store.ledger.balance(`cell:${cell}`)
    await store.close()
  }
  return sum
}

const pairs: readonly (readonly [TestEngine, TestEngine])[] = lasting.flatMap((one) =>
  lasting.map((other) => [one, other] as const),
)

for (const [one, other] of pairs)
  test(`it moves there and back, from ${one.name} to ${other.name}`, async () => {
    const [first, second] = [await one.fresh(), await other.fresh()]
    const { store } = await bookScene(first)
    await store.close()
    await endCalls(first.url)
    await (await openStore({ url: second.url })).close()
    const ends = [
      { url: first.url, cell: 'a' },
      { url: second.url, cell: 'b' },
    ] as const
    let before = await factsOf(first.url)
    for (let move = 0; move < 4; move++) {
      const [from, to] = move % 2 === 0 ? ends : [ends[1], ends[0]]
      const done = await moveOrganisation({
        orgId: 'o',
        from,
        to,
        by: byTest,
        waitMs: 10_000,
        tell: () => undefined,
      })
      expect(done.rows.api_key).toBe(2)
      expect(await factsOf(to.url)).toEqual(before)
      const left = await factsOf(from.url)
      expect(left.wallet?.balance).toBe(0n)
      expect(left.keys.map(({ cell }) => cell)).toEqual([to.cell, to.cell])
      expect(await between(first.url, second.url)).toBe(0n)
      // It works there: a call, a payment, a refund of a call from before.
      const there = await openStore({ url: to.url, now })
      await callsOf(there).call({ keyId: 'k', leaseId: `j:${move}`, sub: 's' }, `there ${move}`, 'w')
      await there.ledger.post({
        kind: 'topup',
        ref: `paid ${move}`,
        debit: 'cash',
        credit: 'w',
        amount: CENT,
      })
      await there.ledger.post({
        kind: 'refund',
        ref: `c1:${move}`,
        debit: 'revenue',
        credit: 'w',
        amount: 10n,
      })
      const broken = await brokenLaws(there)
      expect(broken).toEqual([])
      await there.close()
      await endCalls(to.url)
      before = await factsOf(to.url)
    }
    await first.stop()
    await second.stop()
  })

/** Two ledgers in files, the first with the scene. */
const twoCells = async () => {
  const [first, second] = [await (lasting[0] as TestEngine).fresh(), await (lasting[0] as TestEngine).fresh()]
  await (await bookScene(first)).store.close()
  await endCalls(first.url)
  await (await openStore({ url: second.url })).close()
  const [from, to] = [
    { url: first.url, cell: 'a' },
    { url: second.url, cell: 'b' },
  ]
  const move = (more: Partial<MoveOrganisation> = {}) =>
    moveOrganisation({ orgId: 'o', from, to, by: byTest, waitMs: 10_000, tell: () => undefined, ...more })
  const stop = async () => {
    await first.stop()
    await second.stop()
  }
  return { from, to, move, stop }
}

/** Why it was not moved. */
const refusal = (moving: Promise<unknown>): Promise<string> =>
  moving.then(
    () => 'it was moved',
    (error: Error) => error.message,
  )

test('whoever is killed before a step leaves books that hold, and the next command finishes', async () => {
  const { from, to, move, stop } = await twoCells()
  const before = await factsOf(from.url)
  const killedAt = (at: string) =>
    refusal(
      move({
        before: (step) => {
          if (step === at) throw new Error(`killed before ${at}`)
        },
      }),
    )
  const balances = async () => {
    const facts = [await factsOf(from.url), await factsOf(to.url)]
    return facts.map(({ wallet }) => wallet?.balance)
  }
  const whole = before.wallet?.balance
  expect(await killedAt('leave')).toBe('killed before leave')
  expect(await balances()).toEqual([whole, undefined])
  expect(await killedAt('arrive')).toBe('killed before arrive')
  // What is under way is in the account between the cells, and its move says how much.
  expect([await balances(), await between(from.url, to.url)]).toEqual([
    [0n, undefined],
    (whole ?? 0n) - COST_ON_CREDIT,
  ])
  expect(await refusal(stayHere(from, 'o', 'b'))).toStartWith('its balance has left already')
  expect(await killedAt('finish')).toBe('killed before finish')
  expect([await balances(), await between(from.url, to.url)]).toEqual([[0n, whole], 0n])
  await move()
  expect([await balances(), await between(from.url, to.url)]).toEqual([[0n, whole], 0n])
  expect(await refusal(move())).toBe('it is in the cell b')
  await stop()
})

test('a move is taken back until its balance has left: its keys work again', async () => {
  const { from, move, stop } = await twoCells()
  const before = await factsOf(from.url)
  await refusal(
    move({
      before: () => {
        throw new Error('killed')
      },
    }),
  )
  const store = await openStore({ url: from.url })
  expect((await store.keys.key('k'))?.cell).toBe('leaving b')
  const post = (ref: string) =>
    store.ledger.post({ kind: 'topup', ref, debit: 'cash', credit: 'w', amount: CENT })
  expect(await refusal(post('x'))).toBe('w is not here: leaving b')
  const change = () => store.keys.changeKey('k', { label: 'l', byCreator: true }, byTest)
  expect(await refusal(change())).toBe('k is not here: leaving b')
  await stayHere(from, 'o', 'b')
  expect(await factsOf(from.url)).toEqual(before)
  expect([await post('x'), (await change())?.key.cell]).toEqual(['posted', undefined])
  await store.close()
  expect(await refusal(stayHere(from, 'o', 'b'))).toBe('it is not being moved')
  await stop()
})

test('of two commands that move it at once one does, and the other is refused by name', async () => {
  const { move, stop } = await twoCells()
  let second = ''
  const first = move({
    before: async (step) => {
      if (step === 'leave') second = await refusal(move())
    },
  })
  expect(await refusal(first)).toBe('it was moved')
  expect(second).toBe('another command is moving this organisation')
  await stop()
})

test('a command whose move another took over, as it was silent, goes no further', async () => {
  const { from, move, stop } = await twoCells()
  const before = await factsOf(from.url)
  const engine = openEngine({ url: from.url })
  const late = move({
    before: async (step) => {
      if (step === 'leave')
        await engine.batch('control', [statement(`update cell_move set runner = 'another'`)])
    },
  })
  expect(await refusal(late)).toBe('another command is moving this organisation')
  await engine.close()
  expect((await factsOf(from.url)).wallet).toEqual(before.wallet)
  await stop()
})

test('it is refused by name where its keys would be unknown, or its id is taken', async () => {
  const { from, to, move, stop } = await twoCells()
  expect(await refusal(move({ orgId: 'nobody' }))).toBe('there is no organisation nobody here')
  const [here, there] = [await openStore({ url: from.url }), await openStore({ url: to.url })]
  await here.writeSetting('secret of the servers', 'one')
  expect(await refusal(move())).toStartWith('no server has run in the cell b yet')
  await there.writeSetting('secret of the servers', 'other')
  expect(await refusal(move())).toStartWith('the servers of the two cells have different TURNPIKE_SECRETs')
  await there.writeSetting('secret of the servers', 'one')
  await there.wallets.createWallet({ id: 'another', orgId: 'o', name: 'another' }, byTest)
  expect(await refusal(move())).toBe('there is an organisation o in the cell b too, with the account another')
  for (const store of [here, there]) await store.close()
  await stop()
})

test('what the other ledger refuses comes back: its balance, and its keys', async () => {
  const { from, to, move, stop } = await twoCells()
  const before = await factsOf(from.url)
  const there = await openStore({ url: to.url })
  await there.wallets.createWallet({ id: 'x', orgId: 'other', name: 'x' }, byTest)
  const key = { id: 'same', orgId: 'other', walletId: 'x', label: 'l', prefix: 'p', limits: {} }
  await there.keys.createKey({ ...key, hash: 'h2' }, byTest)
  expect(await refusal(move())).toBe('the database refused the change: api_key.hash')
  expect([await factsOf(from.url), await between(from.url, to.url)]).toEqual([before, 0n])
  expect([await there.wallets.wallet('w'), await brokenLaws(there)]).toEqual([undefined, []])
  await there.close()
  await stop()
})

test('who waits is told for which call and which job, and for how long at most', async () => {
  const { from, move, stop } = await twoCells()
  const store = await openStore({ url: from.url })
  const job = { id: 'film', keyId: 'k', walletId: 'w', model: 'mock/film', amount: CENT, useful: 1n }
  await store.runs.begin({ ...job, owner: 'i', ownerMs: 1e9, deadlineMs: 3_600_000 })
  await callsOf(store).open({ keyId: 'k', leaseId: 'j:1' }, 'long')
  const told: string[] = []
  expect(await refusal(move({ waitMs: 0, tell: (text) => void told.push(text) }))).toStartWith(
    'its open calls did not end within 0 s',
  )
  expect(told.at(-1)).toMatch(
    /^waits for 1 open calls, the oldest since \d+ s, and 1 jobs: film of mock\/film, since \d+ s and for at most 3(600|59\d) s more$/,
  )
  await store.close()
  await stop()
})

test('a batch in progress keeps it here', async () => {
  const { from, move, stop } = await twoCells()
  const engine = openEngine({ url: from.url })
  const batch = `insert into batch (id, form, key_id, wallet_id, payer, on_cap, asked, input, state, owner, owner_until, created_at, expires_at)
    values ('bat', 'messages', 'k', 'w', 'w', 'refuse', '{}', 'i', 'validating', 'i', 0, 0, 0)`
  await engine.batch('control', [{ text: batch, params: [] }])
  expect(await refusal(move())).toStartWith('its batch bat is in progress')
  const [keys = []] = await engine.batch('control', [
    { text: 'select id from api_key where cell is not null', params: [] },
  ])
  expect(keys).toEqual([])
  await engine.close()
  await stop()
})

test('each table of the ledger says whose its rows are', async () => {
  const engine = openEngine({ url: 'sqlite::memory:' })
  await migrate(engine)
  const [rows = []] = await engine.batch('control', [
    { text: `select name from sqlite_master where type = 'table' and name not like 'sqlite%'`, params: [] },
  ])
  await engine.close()
  const named = [...Object.keys(moved), ...Object.keys(stays)].toSorted()
  // That of exports is made when they are first on.
  expect(named).toEqual([...rows.map(({ name }) => String(name)), 'export_due'].toSorted())
})
