/**
 * Leases that stay with their process: a key that calls now and then does not ask the ledger each time, and the money is
 * there for whoever needs it. In virtual time.
 */
import { afterEach, expect, test } from 'bun:test'
import { byTest } from '../../test/by-test.ts'
import { openTestStore } from '../../test/memory-ledger.ts'
import { emptyDetail } from '../../test/simulation/law.ts'
import type { Link } from '../../test/simulation/network.ts'
import { startProcess } from '../../test/simulation/process.ts'
import { createWorld, EPOCH } from '../../test/simulation/world.ts'
import { Refusal } from '../core/refusal.ts'
import type { Store } from '../store/port.ts'
import type { Key } from '../tenancy/key.ts'
import type { Limits } from '../tenancy/limits.ts'
import type { Book } from './contract.ts'

const CENT = 10_000_000n
/** The day of the histories ends after eight seconds; most of these tests begin after it. */
const NEXT_DAY_MS = 20_000

let open: Store | undefined
afterEach(async () => {
  expect((await open?.ledger.audit())?.filter(({ ok }) => !ok) ?? []).toEqual([])
  await open?.close()
  open = undefined
})

const scene = async (
  it: {
    fund?: bigint
    keys?: number
    startMs?: number
    wrap?: (store: Store) => Store
    keptMost?: number
    limits?: Limits
  } = {},
) => {
  const {
    fund = 100_000n * CENT,
    keys: count = 1,
    startMs = NEXT_DAY_MS,
    wrap = (one) => one,
    keptMost,
    limits = {},
  } = it
  const world = createWorld(1)
  const store = await openTestStore({
    url: 'sqlite::memory:',
    now: () => EPOCH + startMs + Math.floor(world.now()),
  })
  open = store
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: fund })
  const keys: Key[] = []
  for (let at = 0; at < count; at++) {
    const made = {
      id: `k${at}`,
      hash: `h${at}`,
      orgId: 'o',
      walletId: 'w',
      label: '',
      prefix: '',
      limits,
    }
    keys.push(await store.keys.createKey(made, byTest))
  }
  const asked = { lend: 0, giveBack: 0, release: 0 }
  const { ledger } = store
  const counting =
    <Args extends unknown[], Answer>(name: keyof typeof asked, ask: (...args: Args) => Answer) =>
    (...args: Args): Answer => {
      asked[name]++
      return ask(...args)
    }
  const counted: Store = {
    ...store,
    ledger: {
      ...ledger,
      lend: counting('lend', ledger.lend),
      giveBack: counting('giveBack', ledger.giveBack),
      release: counting('release', ledger.release),
    },
  }
  /** Plays until the promise is kept, or the time is over. */
  const play = async <T>(promise: Promise<T>, atMostMs = 10_000): Promise<T> => {
    let over = false
    const ended = promise.finally(() => {
      over = true
    })
    for (const until = world.now() + atMostMs; !over && world.now() < until; ) {
      world.runUntil(world.now() + 5)
      await Promise.resolve()
    }
    if (!over) throw new Error('still waits')
    return ended
  }
  const pass = (ms: number) => world.runUntil(world.now() + ms)
  let calls = 0
  return {
    store,
    keys,
    asked,
    play,
    pass,
    now: () => world.now(),
    begin: (name: string) => {
      const link: Link = { partitioned: false, slow: false, reliable: true, alive: () => true }
      const refused = (law: string): never => {
        throw new Error(law)
      }
      const { book } = startProcess(world, wrap(counted), {
        name,
        link,
        refused,
        longestCallMs: 5_000,
        ...(keptMost === undefined ? {} : { keptMost }),
      })
      pass(100)
      return { book, link }
    },
    /** One call, which must be admitted, opened and charged a tenth of its hold. Returns what its key has left. */
    call: async (book: Book, key: Key, amount = CENT): Promise<bigint | undefined> => {
      const callId = `c${++calls}`
      const hold = await play(Promise.resolve(book.hold({ callId, key, amount, useful: 1n, waits: true })))
      if (hold instanceof Refusal || 'outcome' in hold)
        throw new Error(`not admitted: ${JSON.stringify(hold)}`)
      expect(await play(hold.opened)).toBe(true)
      pass(100)
      return (await play(hold.settle(amount / 10n, { ...emptyDetail, keyId: key.id }))).remaining
    },
    /** Whether somebody who comes new gets all of it at once. */
    isFree: async (amount: bigint): Promise<boolean> => {
      const ask = {
        instance: 'other',
        keyId: 'k0',
        leaseId: 'other',
        need: amount,
        want: amount,
        useful: 1n,
        ttlMs: 1,
      }
      const free = (await ledger.lend(ask)).outcome === 'lent'
      await ledger.release('other', ['other'])
      return free
    },
  }
}

const first = ([key]: readonly Key[]): Key => {
  if (key === undefined) throw new Error('there is no key')
  return key
}

test('a key that calls now and then asks the ledger for many calls at once, and gives nothing back between them', async () => {
  const { begin, call, keys, asked, pass } = await scene()
  const { book } = begin('p')
  for (let at = 0; at < 12; at++) {
    await call(book, first(keys))
    pass(5_000)
  }
  expect(asked).toEqual({ lend: 1, giveBack: 0, release: 0 })
})

test('a call that fits in money which twenty processes keep is admitted after few questions', async () => {
  const { begin, call, keys, asked, pass, isFree, now } = await scene({ fund: 1_000n * CENT })
  const processes = Array.from({ length: 20 }, (_, at) => begin(`p${at}`))
  for (const { book } of processes) await call(book, first(keys), 3n * CENT)
  pass(3_000)
  const kept = processes.map(({ book }) => book.leased()).filter(({ room }) => room > 0n)
  expect(kept.length).toBeGreaterThan(10)
  expect(await isFree(900n * CENT)).toBe(false)
  const [before, startedMs] = [asked.lend, now()]
  const asks = processes[0]
  if (asks === undefined) throw new Error('there is no process')
  await call(asks.book, first(keys), 900n * CENT)
  expect(asked.lend - before).toBeLessThanOrEqual(6)
  expect(now() - startedMs).toBeLessThan(1_000)
})

test('what a process keeps goes back with its day', async () => {
  const { begin, call, keys, pass, isFree } = await scene({ fund: 1_000n * CENT, startMs: 0 })
  const { book } = begin('p')
  await call(book, first(keys))
  pass(4_000)
  expect(book.leased().count).toBe(1)
  pass(16_000)
  expect(book.leased().count).toBe(0)
  expect(await isFree(990n * CENT)).toBe(true)
})

test('what was lent to a call that began the day before goes back when it ends', async () => {
  const { begin, call, keys, pass, play, isFree } = await scene({ fund: 1_000n * CENT, startMs: 0 })
  const { book } = begin('p')
  const ask = { callId: 'long', key: first(keys), amount: CENT, useful: 1n }
  const hold = await play(Promise.resolve(book.hold(ask)))
  if (hold instanceof Refusal || 'outcome' in hold) throw new Error('not admitted')
  expect(await play(hold.opened)).toBe(true)
  pass(9_000)
  await call(book, first(keys))
  await play(hold.settle(CENT, { ...emptyDetail, keyId: 'k0' }))
  await play(book.changeKey('k0', { spendCap: 2_000n * CENT, byCreator: true }, byTest))
  pass(3_000)
  expect(book.leased().count).toBe(0)
  expect(await isFree(990n * CENT)).toBe(true)
})

test('a process that others took for dead asks again for what it kept, and refuses no call for it', async () => {
  const { begin, call, keys, pass } = await scene()
  const [silent] = [begin('silent'), begin('reaper')]
  await call(silent.book, first(keys))
  pass(3_000)
  silent.link.partitioned = true
  pass(8_000)
  silent.link.partitioned = false
  pass(2_500)
  await call(silent.book, first(keys))
})

test('a process that cannot reach the ledger admits nothing from what it keeps', async () => {
  const { begin, call, keys, pass, play } = await scene()
  const { book, link } = begin('p')
  await call(book, first(keys))
  link.partitioned = true
  pass(3_000)
  const hold = await play(
    Promise.resolve(book.hold({ callId: 'late', key: first(keys), amount: CENT, useful: 1n })),
  )
  expect(hold).toBeInstanceOf(Refusal)
})

test('nothing is kept beside a process of a former version', async () => {
  const { begin, call, keys, pass, isFree } = await scene({
    fund: 1_000n * CENT,
    wrap: (store) => ({
      ...store,
      instances: {
        ...store.instances,
        beat: async (...about) => ({ ...(await store.instances.beat(...about)), allKeep: false }),
      },
    }),
  })
  const { book } = begin('p')
  await call(book, first(keys))
  pass(3_000)
  expect(book.leased().count).toBe(0)
  expect(await isFree(990n * CENT)).toBe(true)
})

test('of more leases than it may keep, a process ends those that have rested longest', async () => {
  const { begin, call, keys, asked, pass } = await scene({ keys: 6, keptMost: 4 })
  const { book } = begin('p')
  for (const key of keys) {
    await call(book, key)
    pass(3_000)
  }
  expect(book.leased().count).toBe(4)
  const before = asked.lend
  for (const key of keys.slice(2)) await call(book, key)
  expect(asked.lend).toBe(before)
})

test('money that was lent in an answer which was lost comes back when others need it', async () => {
  let lose = false
  const { begin, call, keys, pass, isFree } = await scene({
    fund: 1_000n * CENT,
    keys: 2,
    wrap: (store) => ({
      ...store,
      ledger: {
        ...store.ledger,
        lend: async (ask) => {
          const answer = await store.ledger.lend(ask)
          if (lose) throw new Error('the answer was lost')
          return answer
        },
      },
    }),
  })
  const [unlucky, other] = [begin('unlucky'), begin('other one')]
  lose = true
  await expect(call(unlucky.book, first(keys))).rejects.toThrow('not admitted')
  lose = false
  pass(3_000)
  expect(await isFree(990n * CENT)).toBe(false)
  await call(other.book, first(keys.slice(1)), 990n * CENT)
})

/** Beside a process of a former version, and with a ledger that is late with releases, or loses them. */
const releasing = (release: (send: () => Promise<void>) => Promise<void>) => ({
  fund: 1_000n * CENT,
  wrap: (store: Store): Store => ({
    ...store,
    instances: {
      ...store.instances,
      beat: async (...about) => ({ ...(await store.instances.beat(...about)), allKeep: false }),
    },
    ledger: { ...store.ledger, release: (...about) => release(() => store.ledger.release(...about)) },
  }),
})

test('a release that was lost is sent again', async () => {
  let sent = 0
  const lost = releasing(async (send) => (++sent === 1 ? Promise.reject(new Error('lost')) : send()))
  const { begin, call, keys, pass, isFree } = await scene(lost)
  const { book } = begin('p')
  await call(book, first(keys))
  pass(4_000)
  expect(await isFree(990n * CENT)).toBe(true)
})

test('a lease that is being released serves no call any more', async () => {
  const late = Promise.withResolvers<void>()
  const { begin, call, keys, pass } = await scene(releasing(async (send) => late.promise.then(send)))
  const { book } = begin('p')
  await call(book, first(keys))
  pass(3_000)
  await call(book, first(keys))
  late.resolve()
  pass(100)
  await call(book, first(keys))
})

test('room that is on its way back counts for the process that gave it', async () => {
  const late = Promise.withResolvers<void>()
  const { store, begin, keys, pass, play } = await scene({
    fund: 1_000n * CENT,
    wrap: (one) => ({
      ...one,
      ledger: {
        ...one.ledger,
        giveBack: (...about) => late.promise.then(() => one.ledger.giveBack(...about)),
      },
    }),
  })
  const { book } = begin('p')
  const ask = { key: first(keys), useful: 1n, waits: true }
  const held = async (callId: string, amount: bigint) => {
    const hold = await play(Promise.resolve(book.hold({ ...ask, callId, amount })))
    if (hold instanceof Refusal || 'outcome' in hold)
      throw new Error(`not admitted: ${JSON.stringify(hold, (_, one) => String(one))}`)
    return hold
  }
  const open = await held('open', CENT)
  expect(await play(open.opened)).toBe(true)
  const all = {
    instance: 'other',
    keyId: 'k0',
    leaseId: 'other',
    need: 995n * CENT,
    want: 0n,
    useful: 1n,
    ttlMs: 1,
  }
  expect((await store.ledger.lend(all)).outcome).toBe('recall')
  // With its next heartbeat the process gives back what its open call does not hold.
  pass(300)
  expect(book.leased().room).toBe(CENT)
  const asked = held('all', 990n * CENT)
  late.resolve()
  await play((await asked).void())
  await play(open.void())
})

test('what a process could not return as it left is free when it counts as silent', async () => {
  const { begin, call, keys, pass, play, isFree } = await scene(
    releasing(() => Promise.reject(new Error('lost'))),
  )
  const [leaves] = [begin('leaves'), begin('stays')]
  await call(leaves.book, first(keys))
  await play(leaves.book.drain(1_000))
  pass(9_000)
  expect(await isFree(990n * CENT)).toBe(true)
})

test('what a killed process kept is free though nobody looked for a day', async () => {
  const { store, begin, call, keys, pass, isFree } = await scene({ fund: 1_000n * CENT })
  const { link, book } = begin('killed')
  await call(book, first(keys))
  link.partitioned = true
  pass(2 * 3_600_000)
  await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
  await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
  expect(await isFree(990n * CENT)).toBe(true)
})

test('what a call leaves over of an old limit serves no call that the new one does not allow', async () => {
  const { begin, keys, play } = await scene()
  const { book } = begin('p')
  const ask = (callId: string, key: Key, amount: bigint) =>
    play(Promise.resolve(book.hold({ callId, key, amount, useful: 1n })))
  const key = first(keys)
  const open = await ask('open', key, 100n * CENT)
  if (open instanceof Refusal || 'outcome' in open) throw new Error('not admitted')
  expect(await play(open.opened)).toBe(true)
  const limits = { spendCap: 50n * CENT }
  const changed = await play(book.changeKey('k0', { ...limits, byCreator: true }, byTest))
  await play(open.settle(CENT, { ...emptyDetail, keyId: 'k0' }))
  expect(await ask('next', { ...key, limits, version: changed?.key.version ?? 0 }, 60n * CENT)).toMatchObject(
    {
      outcome: 'refused',
      limit: 'spend_cap_usd',
    },
  )
})

test('what other processes charge under a cap shows after a minute', async () => {
  const { begin, call, keys, pass, play } = await scene()
  const [one, other] = [begin('one'), begin('other one')]
  await play(one.book.changeKey('k0', { spendCap: 100n * CENT, byCreator: true }, byTest))
  const key = { ...first(keys), limits: { spendCap: 100n * CENT } }
  await call(one.book, key)
  for (let calls = 0; calls < 20; calls++) await call(other.book, key)
  pass(60_000)
  expect(await call(one.book, key)).toBe(100n * CENT - (22n * CENT) / 10n)
})

test('what is kept for a trial goes back when it ends', async () => {
  const { begin, call, keys, pass, isFree } = await scene({ fund: 1_000n * CENT })
  const { book } = begin('p')
  const key = first(keys)
  await call(book, { ...key, version: key.version + 1, trialUntil: EPOCH + 10_000 })
  pass(4_000)
  expect(book.leased().count).toBe(1)
  pass(20_000)
  expect(book.leased().count).toBe(0)
  expect(await isFree(990n * CENT)).toBe(true)
})

test('what is kept for a key that may not call any more goes back', async () => {
  const { begin, call, keys, pass, play, isFree } = await scene({ fund: 1_000n * CENT, keys: 2 })
  const { book } = begin('p')
  const ended = keys.slice(1)
  await call(book, first(ended))
  pass(3_000)
  await play(book.changeKey('k1', { disabledReason: 'operator', byCreator: true }, byTest))
  pass(500)
  expect(book.leased().count).toBe(0)
  expect(await isFree(990n * CENT)).toBe(true)
})

test('where money is short nothing is kept', async () => {
  const { begin, call, keys, pass, isFree } = await scene({ fund: 20n * CENT })
  const { book } = begin('p')
  await call(book, first(keys), 2n * CENT)
  pass(3_000)
  expect(book.leased().count).toBe(0)
  expect(await isFree(19n * CENT)).toBe(true)
})

test('a loan that its process no longer waits for when it leaves is free again within seconds', async () => {
  const sends: (() => Promise<{ outcome: string }>)[] = []
  const { begin, keys, play, pass, isFree } = await scene({
    fund: 1_000n * CENT,
    wrap: (store) => ({
      ...store,
      ledger: {
        ...store.ledger,
        lend: (ask) =>
          ask.instance.startsWith('leaves')
            ? new Promise((resolve) => {
                sends.push(() => store.ledger.lend(ask).finally(() => resolve(store.ledger.lend(ask))))
              })
            : store.ledger.lend(ask),
      },
    }),
  })
  const { book } = begin('leaves')
  begin('stays')
  const ask = { callId: 'late', key: first(keys), amount: CENT, useful: 1n, waits: true }
  Promise.resolve(book.hold(ask)).catch(() => undefined)
  pass(50)
  await play(book.drain(1_000))
  expect((await sends[0]?.())?.outcome).toBe('lent')
  expect(await isFree(995n * CENT)).toBe(false)
  for (let second = 0; second < 60; second++) {
    pass(1_000)
    await Promise.resolve()
  }
  expect(await isFree(995n * CENT)).toBe(true)
})

test('a capped key that calls less than once a minute asks what is left, and gives nothing back between', async () => {
  const { begin, call, keys, asked, pass } = await scene({ limits: { spendCap: 50_000n * CENT } })
  const { book } = begin('p')
  for (let at = 0; at < 10; at++) {
    await call(book, first(keys))
    pass(70_000)
  }
  expect([asked.giveBack, asked.release]).toEqual([0, 0])
})

test('a free call that is open keeps its lease when the money is recalled', async () => {
  const waiting: (() => void)[] = []
  let holds = false
  const { begin, call, keys, play, pass, isFree } = await scene({
    fund: 1_000n * CENT,
    wrap: (store) => ({
      ...store,
      ledger: {
        ...store.ledger,
        commit: (batch) =>
          holds
            ? new Promise((resolve, reject) => {
                waiting.push(() => void store.ledger.commit(batch).then(resolve, reject))
              })
            : store.ledger.commit(batch),
      },
    }),
  })
  const { book } = begin('p')
  await call(book, first(keys), 10n * CENT)
  holds = true
  const free = await play(
    Promise.resolve(book.hold({ callId: 'free', key: first(keys), amount: 0n, useful: 0n, waits: true })),
  )
  if (free instanceof Refusal || 'outcome' in free) throw new Error('a free call was not admitted')
  expect(await isFree(990n * CENT)).toBe(false)
  pass(300)
  await Promise.resolve()
  holds = false
  for (const send of waiting) send()
  expect(await play(free.opened)).toBe(true)
})
