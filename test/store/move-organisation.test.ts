/** An organisation with rows of every kind moves between two ledgers, on any two engines, forward and back. */
import { expect, test } from 'bun:test'
import { DAY_MS, HOUR_MS } from '../../src/core/time.ts'
import { signLogHead } from '../../src/receipts/log-head.ts'
import { statement } from '../../src/store/engine/engine.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { type MoveOrganisation, moveOrganisation, stayHere } from '../../src/store/move/move-organisation.ts'
import { moved, stays } from '../../src/store/move/whose-rows.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { bookScene, COST, callsOf, detail, logSigner } from './audit-scene.ts'
import { brokenLaws, engines, type TestEngine } from './engines.ts'
import { oldCalls } from './old-calls.ts'
import { CENT, createOneKey } from './world.ts'

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

/** What reports say that an organisation was charged in the last days, each as one sum. */
const sumsOf = async (store: Store): Promise<readonly bigint[]> => {
  const span = { from: Date.now() - 2 * DAY_MS, to: Date.now() + DAY_MS }
  const whole = { from: span.from - (span.from % DAY_MS), to: span.to - (span.to % DAY_MS) }
  const reports = (
    [['key'], ['hour', 'model'], ['day', 'key'], ['month', 'key'], ['key', 'model']] as const
  ).map(async (groupBy) => {
    const query = { ...whole, orgs: ['o'], groupBy, only: {}, most: 100 }
    return (await store.reports.usage(query)).reduce((sum, { amount }) => sum + amount, 0n)
  })
  const { data } = await store.reports.movements({ walletId: 'w', most: 100 })
  const used = data.filter(({ kind }) => kind === 'usage')
  return [...(await Promise.all(reports)), -used.reduce((sum, { amount }) => sum + amount, 0n)]
}

for (const engine of lasting)
  test(`each call is once in reports there, whichever ledger was summed further, ${engine.name}`, async () => {
    const [first, second] = [await engine.fresh(), await engine.fresh()]
    const ends = [
      { url: first.url, cell: 'a' },
      { url: second.url, cell: 'b' },
    ] as const
    const before = (hours: number) => Date.now() - hours * HOUR_MS
    const clock = { at: before(9) }
    const at = async ({ url }: { readonly url: string }, work: (store: Store) => Promise<unknown>) => {
      const store = await openStore({ url, now: () => clock.at })
      await work(store)
      const broken = await brokenLaws(store)
      await store.close()
      expect(broken).toEqual([])
    }
    const summed = (hours: number) => async (store: Store) => {
      clock.at = before(hours)
      await store.reports.rollUp()
    }
    const move = (from: (typeof ends)[number], to: (typeof ends)[number]) =>
      moveOrganisation({ orgId: 'o', from, to, by: byTest, waitMs: 10_000, tell: () => undefined })
    const each = (calls: bigint) => Array.from({ length: 6 }, () => calls * 10_100n)
    // The ledger that it comes to was summed beyond its second call, which its own was not.
    await at(ends[0], async (store) => {
      await createOneKey(store)
      const { call } = oldCalls(store, clock)
      await call(before(8), 'one')
      await summed(7)(store)
      await call(before(6), 'two')
    })
    await at(ends[1], summed(5))
    await move(ends[0], ends[1])
    await at(ends[1], async (store) => {
      clock.at = before(4.5)
      expect(await sumsOf(store)).toEqual(each(2n))
      await oldCalls(store, clock).call(before(4), 'three')
      await summed(3)(store)
      expect(await sumsOf(store)).toEqual(each(3n))
    })
    // And back, to the ledger that was summed less far.
    await move(ends[1], ends[0])
    await at(ends[0], async (store) => {
      clock.at = before(2)
      expect(await sumsOf(store)).toEqual(each(3n))
      await store.reports.rollUp()
      expect(await sumsOf(store)).toEqual(each(3n))
      await oldCalls(store, clock).call(before(1.5), 'four')
    })
    // It comes back from a ledger that was summed no further meanwhile.
    await move(ends[0], ends[1])
    await at(ends[0], summed(1))
    await move(ends[1], ends[0])
    await at(ends[0], async (store) => expect(await sumsOf(store)).toEqual(each(4n)))
    for (const database of [first, second]) await database.stop()
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

test('its movements are the same there, with the balance after each', async () => {
  const { from, to, move, stop } = await twoCells()
  const movements = async ({ url }: { readonly url: string }) => {
    const store = await openStore({ url })
    const { data } = await store.reports.movements({ walletId: 'w', most: 500 })
    await store.close()
    return data.map(({ kind, ref, amount, balance }) => [kind, ref, amount, balance])
  }
  const before = await movements(from)
  await move()
  expect(await movements(to)).toEqual(before)
  await move({ from: to, to: from })
  expect(await movements(from)).toEqual(before)
  await stop()
})

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

test('one that cannot leave stays, and its keys work again; payments without a key do not leave', async () => {
  const { from, move, stop } = await twoCells()
  const engine = openEngine({ url: from.url })
  const held = (change: string) =>
    engine.batch('control', [statement(`update account set held = held ${change} where id = 'w'`)])
  const before = await factsOf(from.url)
  const late = move({
    before: async (step) => {
      if (step === 'leave') await held('+ 1')
    },
  })
  expect(await refusal(late)).toBe('a call began while its organisation left')
  await held('- 1')
  expect(await factsOf(from.url)).toEqual(before)
  expect(before.keys.map(({ cell }) => cell)).toEqual([undefined, undefined])
  expect(await refusal(move({ orgId: 'x402' }))).toStartWith('payments without a key stay')
  await engine.close()
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

test('who made a key is who made it there, where the person is known by another id', async () => {
  const { from, to, move, stop } = await twoCells()
  const person = (id: string) =>
    statement(
      `insert into person (id, name, email, email_verified, created_at, updated_at) values ($1, 'n', 'n@x.test', 1, '', '')`,
      id,
    )
  const [here, there] = [openEngine({ url: from.url }), openEngine({ url: to.url })]
  await here.batch('control', [
    person('per_here'),
    statement(
      `insert into member (org_id, person_id, role, created_at) values ('o', 'per_here', 'developer', 1)`,
    ),
    statement(
      `insert into key_note (key_id, made_by) values ('k', 'per_here') on conflict (key_id) do update set made_by = 'per_here'`,
    ),
  ])
  await there.batch('control', [person('per_there')])
  await move()
  const made = async (url: string, madeBy: string) => {
    const store = await openStore({ url })
    const lines = await store.reports.keys({ orgs: ['o'], which: 'all', madeBy, most: 9 })
    await store.close()
    return lines.map(({ key }) => key.id)
  }
  expect([await made(to.url, 'per_here'), await made(to.url, 'per_there')]).toEqual([[], ['k']])
  await move({ from: to, to: from })
  expect(await made(from.url, 'per_here')).toEqual(['k'])
  for (const engine of [here, there]) await engine.close()
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

/** What each line of the batch may cost, and what one that ends costs. */
const [BOUND, LINE] = [CENT, COST]
const ROUTE = 'v/m /path'

/** A batch of the scene in progress, with lines that are run here and lines for a vendor's own batch. */
const beginBatch = async (store: Store, lines: number): Promise<void> => {
  const asked = { endpoint: '/v1/chat/completions', mode: 'wallet' } as const
  const whose = { keyId: 'k', walletId: 'w', payer: 'w', sub: 's', onCap: 'refuse' } as const
  const times = { owner: 'p', ownerMs: 1e9, lifeMs: 1e9 }
  await store.batches.open({ id: 'bat', form: 'openai', ...whose, asked, input: 'i', ...times }, 9)
  const all = Array.from({ length: lines }, (_, at) => ({
    ...{ n: at + 1, customId: `line ${at}`, at, bytes: 1, bound: BOUND, route: at % 2 === 0 ? '' : ROUTE },
  }))
  await store.batches.addLines('bat', 'p', all)
  expect(await store.batches.begin('bat', 'p')).toEqual({ outcome: 'begun' })
}

/** Sends the next lines that go this way; in a part where a vendor runs them. */
const sendLines = (store: Store, owner: string, count: number, part?: string) =>
  store.batches.take('bat', {
    ...{ owner, route: part === undefined ? '' : ROUTE },
    callIds: Array.from({ length: count }, () => crypto.randomUUID()),
    ...(part === undefined ? {} : { part: { id: part, deployment: 'v#0', bytesMost: 99 } }),
  })

/** Ends lines with an answer; returns how many had not ended. */
const endLines = async (store: Store, lines: readonly { n: number; callId: string }[] = []) => {
  const ends = lines.map(({ n, callId }) => ({
    ...({ n, callId, state: 'succeeded', result: '{}', receipt: undefined } as const),
    settle: { charge: LINE, excess: 0n, detail: detail('k') },
  }))
  const ended = await store.batches.end('bat', ends)
  while (await store.log.grow((end) => signLogHead(logSigner, end)));
  return ended.size
}

const heldBy = async (store: Store): Promise<unknown> => [
  (await store.wallets.wallet('w'))?.held,
  (await store.keys.spend('k')).held,
]

for (const [one, other] of pairs)
  test(`a batch goes along, with what it holds and what vendors have, from ${one.name} to ${other.name}`, async () => {
    const [first, second] = [await one.fresh(), await other.fresh()]
    await (await bookScene(first)).store.close()
    await endCalls(first.url)
    const ends = await Promise.all(
      [first, second].map(async ({ url }, at) => ({
        ...{
          url,
          cell: at === 0 ? 'a' : 'b',
          owner: at === 0 ? 'p' : 'q',
          store: await openStore({ url, now }),
        },
      })),
    )
    const [a, b] = ends
    if (a === undefined || b === undefined) throw new Error('there are two')
    const revenue = async () =>
      (await a.store.ledger.balance('revenue')) + (await b.store.ledger.balance('revenue'))
    const [earned, { spent }] = [await revenue(), await a.store.keys.spend('k')]
    await beginBatch(a.store, 14)
    let ended = 0
    for (let move = 0; move < 4; move++) {
      const [from, to] = move % 2 === 0 ? [a, b] : [b, a]
      const told = (await from.store.batches.tend(from.owner, 1e9)).map(({ id, leaves }) => [id, leaves])
      expect(told).toEqual([['bat', false]])
      const handedOn = (await sendLines(from.store, from.owner, 1, `part ${move}`))?.lines
      expect(await from.store.batches.namePart(`part ${move}`, 'ref')).toBe(true)
      const here = (await sendLines(from.store, from.owner, 1))?.lines ?? []
      expect([handedOn?.length, here.length]).toEqual([1, 1])
      const looks: Record<string, unknown> = {}
      let held: unknown
      const whileItLeaves = async () => {
        // Nothing of it begins, what is open ends, and then it is let go.
        looks.taken = await sendLines(from.store, from.owner, 1)
        looks.tended = (await from.store.batches.tend(from.owner, 1e9)).map(({ leaves }) => leaves)
        looks.ended = await endLines(from.store, here)
        await from.store.batches.letGo('bat', from.owner)
        const others = await from.store.batches.tend('other', 1e9)
        looks.others = others.map(({ id }) => id)
        for (const { id } of others) await from.store.batches.letGo(id, 'other')
        held = await heldBy(from.store)
      }
      let leaving: Promise<void> | undefined
      await moveOrganisation({
        ...{ orgId: 'o', from, to, by: byTest, waitMs: 600_000 },
        tell: (text) => {
          if (text.startsWith('its calls wait')) leaving ??= whileItLeaves()
        },
        before: async (step) => {
          if (step === 'leave') return leaving
          // Whoever was silent comes too late.
          looks[step] = [
            await endLines(from.store, handedOn),
            await from.store.batches.namePart(`part ${move}`, 'another'),
            await from.store.batches.cancel('bat', { actor: byTest, subject: 'bat' }),
            await brokenLaws(from.store),
            await brokenLaws(to.store),
          ]
        },
      })
      ended += 1
      const late = [0, false, false, [], []]
      expect(looks).toEqual({
        ...{ taken: undefined, tended: [true], ended: 1, others: [], arrive: late, finish: late },
      })
      expect(await heldBy(to.store)).toEqual(held)
      expect([await heldBy(from.store), await from.store.batches.parts('bat')]).toEqual([[0n, 0n], []])
      // It goes on there: the line that its vendor has is charged there, once.
      expect((await to.store.batches.tend(to.owner, 1e9)).map(({ id }) => id)).toEqual(['bat'])
      expect(await to.store.batches.parts('bat')).toEqual([
        { id: `part ${move}`, route: ROUTE, deployment: 'v#0', ref: 'ref' },
      ])
      const known = await to.store.batches.partLines(`part ${move}`)
      expect(known.map(({ callId }) => callId)).toEqual((handedOn ?? []).map(({ callId }) => callId))
      expect([await endLines(to.store, known), await endLines(to.store, known)]).toEqual([1, 0])
      await to.store.batches.endPart(`part ${move}`)
      ended += 1
      expect((await to.store.keys.spend('k')).spent).toBe(spent + BigInt(ended) * LINE)
      expect(await heldBy(to.store)).toEqual([BigInt(14 - ended) * BOUND, BigInt(14 - ended) * BOUND])
      expect([await brokenLaws(from.store), await brokenLaws(to.store)]).toEqual([[], []])
    }
    const rest = await Promise.all([sendLines(a.store, 'p', 9), sendLines(a.store, 'p', 9, 'last')])
    for (const taken of rest) ended += await endLines(a.store, taken?.lines)
    expect([ended, await a.store.batches.release('bat', 'p'), await heldBy(a.store)]).toEqual([
      14,
      true,
      [0n, 0n],
    ])
    expect(await a.store.batches.batchFor('bat', 'k')).toMatchObject({ succeeded: 14, charged: 14n * LINE })
    expect((await revenue()) - earned).toBe(14n * LINE)
    expect([await brokenLaws(a.store), await brokenLaws(b.store)]).toEqual([[], []])
    for (const { store } of ends) await store.close()
    for (const database of [first, second]) await database.stop()
  })

test('a batch that a process works on is waited for; one whose process died goes along as it was left', async () => {
  const { from, to, move, stop } = await twoCells()
  const store = await openStore({ url: from.url, now })
  await beginBatch(store, 4)
  const sent = (await sendLines(store, 'p', 1))?.lines
  const told: string[] = []
  expect(await refusal(move({ waitMs: 0, tell: (text) => void told.push(text) }))).toStartWith(
    'its open calls did not end within 0 s',
  )
  expect(told.at(-1)).toBe(
    'waits for 0 open calls, and 0 jobs, and for lines of 1 batches that are being run',
  )
  expect((await sendLines(store, 'p', 1))?.lines).toHaveLength(1)
  // It dies.
  await store.batches.leave('p')
  await move()
  const there = await openStore({ url: to.url, now })
  expect((await there.batches.tend('q', 1e9)).map(({ id }) => id)).toEqual(['bat'])
  const left = await there.batches.sentLines('bat')
  expect([left.length, left[0]?.callId]).toEqual([2, sent?.[0]?.callId])
  await there.batches.end(
    'bat',
    left.map(({ n, callId }) => ({ n, callId, state: 'waiting', pauseMs: 0 })),
  )
  expect((await sendLines(there, 'q', 9))?.lines).toHaveLength(2)
  expect([await brokenLaws(store), await brokenLaws(there)]).toEqual([[], []])
  for (const one of [store, there]) await one.close()
  await stop()
})

test('where a cap was lowered meanwhile, a batch keeps what it holds when it moves', async () => {
  const { from, to, move, stop } = await twoCells()
  const store = await openStore({ url: from.url, now })
  await beginBatch(store, 4)
  await store.batches.letGo('bat', 'p')
  await store.keys.changeKey('k', { spendCap: 1n, byCreator: true }, byTest)
  const before = await heldBy(store)
  await move()
  const there = await openStore({ url: to.url, now })
  expect([await heldBy(there), before]).toEqual([before, [4n * BOUND, 4n * BOUND]])
  expect(await brokenLaws(there)).toEqual([])
  for (const one of [store, there]) await one.close()
  await stop()
})

test('a batch whose organisation cannot arrive is here again, with all that it holds', async () => {
  const { from, to, move, stop } = await twoCells()
  const [store, there] = [await openStore({ url: from.url, now }), await openStore({ url: to.url, now })]
  await beginBatch(store, 4)
  await store.batches.letGo('bat', 'p')
  await there.wallets.createWallet({ id: 'x', orgId: 'other', name: 'x' }, byTest)
  const key = { id: 'same', orgId: 'other', walletId: 'x', label: 'l', prefix: 'p', limits: {} }
  await there.keys.createKey({ ...key, hash: 'h2' }, byTest)
  const before = await heldBy(store)
  expect(await refusal(move())).toBe('the database refused the change: api_key.hash')
  expect(await heldBy(store)).toEqual(before)
  expect((await store.batches.tend('q', 1e9)).map(({ id }) => id)).toEqual(['bat'])
  expect(await endLines(store, (await sendLines(store, 'q', 1))?.lines)).toBe(1)
  expect([await brokenLaws(store), await brokenLaws(there)]).toEqual([[], []])
  for (const one of [store, there]) await one.close()
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
