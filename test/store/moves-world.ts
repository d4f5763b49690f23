/**
 * Organisations that move between three ledgers, beside a plain model of where each is and what it has. All ledgers are
 * looked at before each step of a move.
 */
import { expect } from 'bun:test'
import type { Nano } from '../../src/core/money.ts'
import type { LeaseId } from '../../src/ledger/types.ts'
import type { SentLine } from '../../src/store/batches/batch-port.ts'
import { moveOrganisation, stayHere } from '../../src/store/move/move-organisation.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { COST, callsOf, detail } from './audit-scene.ts'
import { brokenLaws } from './engines.ts'
import { CENT, pick } from './world.ts'

export type Cell = { readonly name: string; readonly url: string; readonly store: Store }

/** `arrived` works in the other ledger already, and the one that it left does not know yet. */
type Place =
  | { readonly at: 'here'; readonly cell: Cell }
  | { readonly at: 'leaving' | 'left' | 'arrived'; readonly from: Cell; readonly to: Cell }

type ModelKey = { readonly id: string; readonly line: readonly string[]; revoked: boolean; spent: Nano }
type OpenCall = { readonly id: string; readonly keyId: string; readonly leaseId: LeaseId | 'job' }

type Organisation = {
  readonly id: string
  readonly wallet: string
  place: Place
  balance: Nano
  paid: Nano
  charged: Nano
  readonly keys: ModelKey[]
  open: OpenCall[]
  /** Calls that may be refunded. */
  done: OpenCall[]
  /** Jobs that ended: their rows are work, and of one ledger only. */
  readonly jobs: string[]
  /** Its batch, with the line that a vendor has, and where that was handed on. */
  batch: { readonly id: string; sent?: SentLine | undefined; at: Cell } | undefined
  /** Cells that refuse it, because something there has the value of one of its keys. */
  readonly barred: Set<Cell>
}

export type MovesWorld = {
  readonly cells: readonly Cell[]
  readonly organisations: readonly Organisation[]
  n: number
  readonly seen: Map<string, number>
}

export type Numbers = { readonly a: number; readonly b: number; readonly c: number }

const saw = ({ seen }: MovesWorld, what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1)

/** The cell whose gateways answer its calls; undefined where none does. */
const serving = ({ place }: Organisation): Cell | undefined =>
  place.at === 'here' ? place.cell : place.at === 'arrived' ? place.to : undefined

/** What a promise rejects with, or that it did not. */
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: Error) => error.message,
  )

const makeKey = async (
  organisation: Organisation,
  { store }: Cell,
  id: string,
  parent?: ModelKey,
): Promise<void> => {
  const { id: orgId, wallet: walletId, keys } = organisation
  await store.keys.createKey(
    {
      ...{ id, hash: `hash of ${id}`, orgId, walletId, label: id, prefix: 'sk-' },
      limits: { spendCap: 1_000n * CENT },
      ...(parent === undefined ? {} : { parentId: parent.id }),
    },
    byTest,
  )
  keys.push({ id, line: [id, ...(parent?.line ?? [])], revoked: false, spent: 0n })
}

/** Money comes in; whoever has not got the organisation takes none. */
const topUp = async (world: MovesWorld, organisation: Organisation): Promise<void> => {
  const ref = `paid ${world.n}`
  for (const cell of world.cells) {
    const credit = organisation.wallet
    if ((await cell.store.wallets.wallet(credit)) === undefined) continue
    const post = refusal(
      cell.store.ledger
        .post({ kind: 'topup', ref, debit: 'cash', credit, amount: CENT })
        .then(() => undefined),
    )
    if (cell === serving(organisation)) {
      expect(await post).toBe('done')
      organisation.balance += CENT
      organisation.paid += CENT
    } else expect(await post).toContain(`${credit} is not here: `)
  }
}

/** A charge, or a refund as a negative one. */
const count = (organisation: Organisation, keyId: string, amount: Nano): void => {
  organisation.balance -= amount
  organisation.charged += amount
  const line = organisation.keys.find(({ id }) => id === keyId)?.line ?? []
  for (const key of organisation.keys) if (line.includes(key.id)) key.spent += amount
}

/** A key that is revoked alone leaves those below it as they are. */
const usable = ({ keys }: Organisation): readonly ModelKey[] => keys.filter(({ revoked }) => !revoked)

const open = async (world: MovesWorld, organisation: Organisation, { b, c }: Numbers): Promise<void> => {
  const cell = serving(organisation)
  const key = pick(usable(organisation), b)
  if (cell === undefined || key === undefined) return
  const id = `call ${world.n}`
  if (c % 3 === 0) {
    const job = { id, keyId: key.id, walletId: organisation.wallet, model: 'm', amount: CENT, useful: 1n }
    const begun = await cell.store.runs.begin({ ...job, owner: 'i', ownerMs: 1e9, deadlineMs: 1e9 })
    expect(begun.outcome).toBe('begun')
    organisation.open.push({ id, keyId: key.id, leaseId: 'job' })
  } else {
    const leaseId = await callsOf(cell.store).open({ keyId: key.id, leaseId: `i:${world.n}` }, id)
    organisation.open.push({ id, keyId: key.id, leaseId })
  }
}

/** All open calls end: what was fenced meanwhile is charged as well. */
const endCalls = async (organisation: Organisation, { store }: Cell): Promise<void> => {
  const ending = organisation.open
  organisation.open = []
  for (const call of ending) {
    const { id, keyId, leaseId } = call
    if (leaseId === 'job') {
      const ended = await store.runs.end(id, {
        state: 'done',
        result: {
          ...{ body: {}, outputs: [], usage: {}, bill: {} as never, charged: String(COST), headers: {} },
        },
        settle: { charge: COST, excess: 0n, detail: detail(keyId) },
        keptMs: 1e9,
      })
      expect(ended?.state).toBe('done')
      organisation.jobs.push(id)
    } else {
      await callsOf(store).settle({ keyId, leaseId }, id, organisation.wallet)
      await store.ledger.release('i', [leaseId])
    }
    count(organisation, keyId, COST)
    organisation.done.push(call)
  }
}

const BATCH_LINES = 3
const endLine = async ({ store }: Cell, id: string, { n, callId }: SentLine, keyId: string) => {
  const settle = { charge: COST, excess: 0n, detail: detail(keyId) }
  const end = { n, callId, state: 'succeeded', settle, result: '{}', receipt: undefined } as const
  return (await store.batches.end(id, [end])).size
}

/** A line that its vendor had ends, and the next one is handed on, wherever the batch is by now; then anybody may go on with it. */
const batch = async (world: MovesWorld, organisation: Organisation): Promise<void> => {
  const cell = serving(organisation)
  const [key] = organisation.keys
  if (cell === undefined || key === undefined) return
  const { batches } = cell.store
  if (organisation.batch === undefined) {
    const id = `batch ${world.n}`
    const whose = { keyId: key.id, walletId: organisation.wallet, payer: organisation.wallet }
    const asked = { endpoint: '/v1/chat/completions', mode: 'wallet' } as const
    const times = { owner: cell.name, ownerMs: 1e9, lifeMs: 1e9 }
    await batches.open({ id, form: 'openai', ...whose, onCap: 'refuse', asked, input: 'i', ...times }, 99)
    const lines = Array.from({ length: BATCH_LINES }, (_, at) => ({
      ...{ n: at + 1, customId: `${at}`, at, bytes: 1, bound: CENT, route: 'v/m /path' },
    }))
    await batches.addLines(id, cell.name, lines)
    expect(await batches.begin(id, cell.name)).toEqual({ outcome: 'begun' })
    organisation.batch = { id, at: cell }
  }
  const it = organisation.batch
  const tended = await batches.tend(cell.name, 1e9)
  expect(tended.map(({ id }) => id)).toContain(it.id)
  if (it.sent !== undefined) {
    expect(await endLine(cell, it.id, it.sent, key.id)).toBe(1)
    count(organisation, key.id, COST)
    if (it.at !== cell) saw(world, 'a line ended in another cell')
  }
  const part = { id: `part ${world.n}`, deployment: 'v#0', bytesMost: 9 }
  const callIds = [crypto.randomUUID()]
  const taken = await batches.take(it.id, { owner: cell.name, callIds, route: 'v/m /path', part })
  const [sent] = taken?.lines ?? []
  Object.assign(it, { sent, at: cell })
  if (sent === undefined) {
    expect(await batches.release(it.id, cell.name)).toBe(true)
    await batches.finish(it.id, { keptMs: 1e9 })
    organisation.batch = undefined
  }
  for (const { id } of tended) await batches.letGo(id, cell.name)
}

const refund = async (organisation: Organisation): Promise<void> => {
  const cell = serving(organisation)
  const call = organisation.done.shift()
  if (cell === undefined || call === undefined) return
  const back = { debit: 'revenue', credit: organisation.wallet, amount: 100n }
  expect(await cell.store.ledger.post({ kind: 'refund', ref: call.id, ...back })).toBe('posted')
  count(organisation, call.keyId, -100n)
}

const revoke = async (world: MovesWorld, organisation: Organisation, { b }: Numbers): Promise<void> => {
  // The first one stays, so that calls can be made.
  const key = pick(organisation.keys.slice(1), b)
  if (key === undefined) return
  for (const { store } of world.cells) {
    if ((await store.keys.key(key.id)) === undefined) continue
    const change = store.keys.changeKey(key.id, { disabledReason: 'operator', byCreator: true }, byTest)
    const said = await refusal(change)
    if (store === serving(organisation)?.store) {
      expect(said).toBe('done')
      key.revoked = true
    } else expect(said).toContain(`${key.id} is not here: `)
  }
}

/** Where a move that nobody ends early comes to, and why not. */
class Killed extends Error {}

/** The one command, to its end or until it is killed before a step. The model follows it step by step. */
const command = async (
  world: MovesWorld,
  organisation: Organisation,
  { from, to, killed, waits = true }: { from: Cell; to: Cell; killed?: string | undefined; waits?: boolean },
): Promise<string> => {
  let ending: Promise<void> | undefined
  const told = new Set<string>()
  const said = await refusal(
    moveOrganisation({
      ...{ orgId: organisation.id, from: { url: from.url, cell: from.name }, by: byTest },
      to: { url: to.url, cell: to.name },
      waitMs: waits ? 600_000 : 0,
      tell: (text) => {
        if (text.startsWith('its calls wait') && waits) ending ??= endCalls(organisation, from)
      },
      before: async (step) => {
        // Once the rows are there its transaction is open, and it is asked again.
        if (told.has(step)) return
        told.add(step)
        const { at } = organisation.place
        if (step === 'leave') organisation.place = { at: 'leaving', from, to }
        if (step === 'arrive' && at !== 'arrived') organisation.place = { at: 'left', from, to }
        if (step === 'finish') organisation.place = { at: 'arrived', from, to }
        await look(world)
        if (step === killed) {
          saw(world, `killed before ${step}`)
          throw new Killed(step)
        }
      },
    }),
  )
  await ending
  return said
}

/** It goes to another cell, or on with a move that was killed; and what comes of that is what the model says. */
const move = async (world: MovesWorld, organisation: Organisation, { b, c }: Numbers): Promise<void> => {
  const { place } = organisation
  const from = place.at === 'here' ? place.cell : place.from
  const others = world.cells.filter((cell) => cell !== from)
  const to = place.at === 'here' ? (pick(others, b) as Cell) : place.to
  const killed = [undefined, 'leave', 'arrive', 'finish', undefined, undefined][c % 6]
  const waits = place.at !== 'here' || organisation.open.length === 0 || b % 2 === 0
  const said = await command(world, organisation, { from, to, killed, waits })
  if (!waits) {
    expect(said).toBe('its open calls did not end within 0 s: it stays, and its keys work again')
    saw(world, 'stayed for a call')
  } else if (organisation.place.at !== 'here' && said === killed) return
  else if (organisation.barred.has(to) && organisation.place.at !== 'arrived') {
    expect(said).toMatch(/^the database refused the change: api_key[._]hash/)
    organisation.place = { at: 'here', cell: from }
    saw(world, 'came back')
  } else {
    expect(said).toBe('done')
    organisation.place = { at: 'here', cell: to }
    saw(world, place.at === 'here' ? 'moved' : `finished after ${place.at}`)
  }
}

/** Two commands at once, to the same cell or to two. */
const race = async (world: MovesWorld, organisation: Organisation, { b, c }: Numbers): Promise<void> => {
  const { place } = organisation
  if (place.at !== 'here' || organisation.barred.size > 0) return
  await endCalls(organisation, place.cell)
  const others = world.cells.filter((cell) => cell !== place.cell)
  const targets = [pick(others, b) as Cell, pick(others, c) as Cell]
  const going = (to: Cell) =>
    refusal(
      moveOrganisation({
        ...{ orgId: organisation.id, from: { url: place.cell.url, cell: place.cell.name }, by: byTest },
        ...{ to: { url: to.url, cell: to.name }, waitMs: 600_000, tell: () => undefined },
      }),
    )
  const said = await Promise.all(targets.map(going))
  const done = targets.filter((_, at) => said[at] === 'done')
  expect([said, done.length]).toEqual([said, 1])
  organisation.place = { at: 'here', cell: done[0] as Cell }
  saw(world, 'one of two')
}

const stay = async (world: MovesWorld, organisation: Organisation): Promise<void> => {
  const { place } = organisation
  const from = place.at === 'here' ? place.cell : place.from
  const to = place.at === 'here' ? 'elsewhere' : place.to.name
  const said = await refusal(stayHere({ url: from.url, cell: from.name }, organisation.id, to))
  if (place.at === 'here') expect(said).toBe('it is not being moved')
  else if (place.at === 'leaving') {
    expect(said).toBe('done')
    organisation.place = { at: 'here', cell: from }
    saw(world, 'stayed')
  } else {
    expect(said).toStartWith('its balance has left already')
    saw(world, 'not stayed')
  }
}

/** A command that has the wrong ledger moves nothing. */
const wrongCell = async (world: MovesWorld, organisation: Organisation, { b }: Numbers): Promise<void> => {
  const { place } = organisation
  if (place.at !== 'here') return
  const from = pick(
    world.cells.filter((cell) => cell !== place.cell),
    b,
  ) as Cell
  const said = await command(world, organisation, { from, to: place.cell })
  expect(said).toMatch(
    new RegExp(`^(it is in the cell [abc]|there is no organisation ${organisation.id} here)$`),
  )
}

/** Another organisation has a key of the same value, in a cell that it may come to later. */
const bar = async (world: MovesWorld, organisation: Organisation, { b }: Numbers): Promise<void> => {
  const cell = serving(organisation)
  const at = pick(
    world.cells.filter((one) => one !== cell && one !== world.cells[0]),
    b,
  )
  if (
    organisation.place.at !== 'here' ||
    cell === undefined ||
    at === undefined ||
    organisation.barred.size > 0
  )
    return
  const id = `same ${world.n}`
  await makeKey(organisation, cell, id, organisation.keys[0])
  await at.store.wallets.createWallet({ id: `x ${id}`, orgId: `other ${id}`, name: 'x' }, byTest)
  const key = { id: `other ${id}`, orgId: `other ${id}`, walletId: `x ${id}`, label: 'l', prefix: 'p' }
  await at.store.keys.createKey({ ...key, hash: `hash of ${id}`, limits: {} }, byTest)
  organisation.barred.add(at)
}

const of =
  (does: (world: MovesWorld, organisation: Organisation, numbers: Numbers) => Promise<void>) =>
  (world: MovesWorld, numbers: Numbers): Promise<void> =>
    does(world, pick(world.organisations, numbers.a) as Organisation, numbers)

/** Commands after which all ledgers are looked at, and how often each is drawn. */
export const moving = {
  move: { does: of(move), weight: 12 },
  race: { does: of(race), weight: 1 },
  stay: { does: of(stay), weight: 1 },
  wrongCell: { does: of(wrongCell), weight: 1 },
} as const

/** All that may happen. */
export const commands = {
  ...moving,
  bar: { does: of(bar), weight: 1 },
  topUp: { does: of(topUp), weight: 2 },
  batch: { does: of(batch), weight: 5 },
  open: { does: of(open), weight: 5 },
  end: {
    does: of(async (_, organisation) => {
      const cell = serving(organisation)
      if (cell !== undefined) await endCalls(organisation, cell)
    }),
    weight: 3,
  },
  refund: { does: of((_, organisation) => refund(organisation)), weight: 2 },
  revoke: { does: of(revoke), weight: 1 },
  newKey: {
    does: of(async (world, organisation, { b }) => {
      const cell = serving(organisation)
      const parent = pick(usable(organisation), b)
      if (cell !== undefined) await makeKey(organisation, cell, `key ${world.n}`, parent)
    }),
    weight: 1,
  },
} as const

/** An organisation in a cell, with a reseller's key, one of a tenant, and money. */
export const begin = async (world: Pick<MovesWorld, 'cells'>, id: string): Promise<Organisation> => {
  const [cell] = world.cells
  if (cell === undefined) throw new Error('there is a cell')
  const wallet = `wallet of ${id}`
  const organisation: Organisation = {
    ...{ id, wallet, place: { at: 'here', cell }, balance: 100n * CENT, paid: 100n * CENT, charged: 0n },
    ...{ keys: [], open: [], done: [], jobs: [], batch: undefined, barred: new Set() },
  }
  await cell.store.wallets.createWallet({ id: wallet, orgId: id, name: id }, byTest)
  const ref = `first of ${id}`
  await cell.store.ledger.post({ kind: 'topup', ref, debit: 'cash', credit: wallet, amount: 100n * CENT })
  await makeKey(organisation, cell, `maker of ${id}`)
  await makeKey(organisation, cell, `tenant of ${id}`, organisation.keys[0])
  return organisation
}

/** Whether a call of the key would be admitted there. */
const admits = async ({ store }: Cell, keyId: string): Promise<boolean> => {
  const leaseId = `look:${Bun.randomUUIDv7()}`
  const ask = { instance: 'look', keyId, leaseId, need: 1n, want: 1n, useful: 1n, ttlMs: 1e9 }
  const { outcome } = await store.ledger.lend(ask)
  if (outcome === 'lent') await store.ledger.release('look', [leaseId])
  return outcome === 'lent'
}

/** Each law of each ledger holds; and over all of them, the money and the keys are what the model says, once. */
export const look = async ({ cells, organisations }: MovesWorld): Promise<void> => {
  const facts = await Promise.all(
    cells.map(async ({ store }) => ({
      broken: await brokenLaws(store),
      revenue: await store.ledger.balance('revenue'),
      cash: await store.ledger.balance('cash'),
      sums: await store.cells.sums(),
    })),
  )
  const sum = (amounts: readonly Nano[]) => amounts.reduce((all, one) => all + one, 0n)
  expect(facts.flatMap(({ broken }) => broken)).toEqual([])
  const onTheWay = sum(organisations.map(({ place, balance }) => (place.at === 'left' ? balance : 0n)))
  const arrived = new Set(facts.flatMap(({ sums }) => [...sums.arrived]))
  expect({
    revenue: sum(facts.map(({ revenue }) => revenue)),
    cash: sum(facts.map(({ cash }) => cash)),
    between: sum(facts.map(({ sums }) => sums.between)),
    balance: sum(facts.map(({ sums }) => sums.balance)),
    left: sum(
      facts.flatMap(({ sums }) => [...sums.left].flatMap(([id, usd]) => (arrived.has(id) ? [] : [usd]))),
    ),
  }).toEqual({
    revenue: sum(organisations.map(({ charged }) => charged)),
    cash: -sum(organisations.map(({ paid }) => paid)),
    between: onTheWay,
    balance: sum(organisations.map(({ balance }) => balance)) - onTheWay,
    left: onTheWay,
  })
  for (const organisation of organisations) await lookAt(cells, organisation)
}

const lookAt = async (cells: readonly Cell[], organisation: Organisation): Promise<void> => {
  const { id, wallet, keys, jobs, place } = organisation
  const here = serving(organisation)
  for (const cell of cells) {
    const { store } = cell
    const at = `${id} in ${cell.name}, ${place.at}`
    const has = cell === here || (place.at === 'leaving' && cell === place.from)
    const balance = (await store.wallets.wallet(wallet))?.balance ?? 0n
    expect([at, balance]).toEqual([at, has ? organisation.balance : 0n])
    const free = new Set(usable(organisation).map((key) => key.id))
    for (const key of keys) {
      const may = cell === here && free.has(key.id)
      expect([at, key.id, await admits(cell, key.id)]).toEqual([at, key.id, may])
      if (has) expect([at, key.id, (await store.keys.spend(key.id)).spent]).toEqual([at, key.id, key.spent])
    }
    const line = organisation.batch?.sent
    // Who comes too late charges nothing where it has left.
    if (organisation.batch !== undefined && line !== undefined && !has)
      expect([at, await endLine(cell, organisation.batch.id, line, keys[0]?.id ?? '')]).toEqual([at, 0])
    const job = jobs.at(-1)
    // Work is done in one ledger: from where it left it goes when it is known to be there.
    if (job !== undefined && (has || place.at === 'here'))
      expect([at, job, (await store.runs.run(job)) !== undefined]).toEqual([at, job, has])
  }
}
