/**
 * Histories of batches on the store: two processes take lines, end them, send them again and take them from each other, while
 * caps are lowered, keys are disabled, days and months turn and batches are cancelled or expire.
 *
 * The laws: after each step the books hold, and no more is held than a batch may; at the end each line has exactly one end, is
 * charged once and only for an answer, the sum is the ledger's, and nothing is held.
 */
import { describe, expect, test } from 'bun:test'
import { least } from '../../src/core/money.ts'
import type { Batch, LineEnd, SentLine, TakenLines } from '../../src/store/batches/batch-port.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { numbersFrom } from '../schema-inputs.ts'
import { seed } from '../seed.ts'
import { brokenLaws, engines } from './engines.ts'
import { CENT, createOneKey, detailFor } from './world.ts'

const HOUR = 3_600_000
const STEPS = 60
const OWNER_MS = 15_000
const ROUTES = ['', 'v/m /path']
/** A second before a month ends. */
const START = Date.UTC(2027, 0, 31, 23, 59, 59)

type Sent = SentLine & { readonly part: string | undefined }

/** One history; throws with what it did where a law is broken. */
const play = async (store: Store, random: () => number, passes: (ms: number) => void): Promise<void> => {
  const pick = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1))
  const owners = ['one', 'two']
  const id = crypto.randomUUID()
  const total = pick(1, 25)
  const onCap = pick(0, 1) === 0 ? 'refuse' : 'run_what_fits'
  const owner = () => owners[pick(0, 1)] ?? ''
  const before = await store.ledger.balance('revenue')
  const opened = (by: string) =>
    store.batches.open(
      {
        ...{ id, form: 'openai', keyId: 'k', walletId: 'w', payer: 'w', onCap, input: 'input' },
        asked: { endpoint: '/v1/chat/completions', mode: 'wallet' },
        ...{ owner: by, ownerMs: OWNER_MS, lifeMs: 24 * HOUR },
      },
      1e9,
    )
  await opened('one')
  const bounds = Array.from({ length: total }, () => BigInt(pick(1, 40)) * (CENT / 10n))
  const lines = bounds.map((bound, at) => ({
    ...{ n: at + 1, customId: `l${at}`, at, bytes: pick(1, 9), bound },
    route: ROUTES[pick(0, 1)] ?? '',
  }))
  const cut = pick(0, total)
  if (cut > 0) expect(await store.batches.addLines(id, 'one', lines.slice(0, cut))).toBe(true)
  // Another process gives it up while its lines are read, and may have begun it anew: it is not the first one's any more.
  if (pick(0, 9) === 0) {
    await store.batches.drop(id, 'one')
    const isAnew = pick(0, 1) === 0
    if (isAnew) expect(await opened('two')).toBe('opened')
    expect(await store.batches.addLines(id, 'one', lines.slice(cut))).toBe(false)
    await store.batches.begin(id, 'one')
    await store.batches.drop(id, 'one')
    if (isAnew) expect(await store.batches.addLines(id, 'two', lines)).toBe(true)
    await store.batches.drop(id, 'two')
    expect((await store.wallets.wallet('w'))?.held).toBe(0n)
    return
  }
  if (cut < total) expect(await store.batches.addLines(id, 'one', lines.slice(cut))).toBe(true)
  if (onCap === 'run_what_fits')
    await store.keys.changeKey('k', { spendCap: BigInt(pick(4, 20)) * CENT, byCreator: true }, byTest)
  const begun = await store.batches.begin(id, 'one')
  if (begun.outcome !== 'begun') {
    await store.batches.drop(id, 'one')
    expect((await store.wallets.wallet('w'))?.held).toBe(0n)
    return
  }
  if (onCap === 'refuse')
    expect((await store.wallets.wallet('w'))?.held).toBe(bounds.reduce((sum, bound) => sum + bound, 0n))
  /** All tries that any process knows of, also those that ended or were taken over. */
  const tries: Sent[] = []
  const ended = new Map<number, number>()
  /** The lines that are sent, with what each may cost. */
  const live = new Map<number, bigint>()
  let charged = 0n
  /** Its leases end with the calls that are open on them, and what those do not use is free no sooner. */
  let fenced = false
  const jumps = [18 * HOUR, 6 * HOUR]
  const endOf = ({ n, callId, bound }: Sent): LineEnd => {
    const kind = pick(0, 5)
    if (kind === 0) return { n, callId, state: 'errored', result: '{}' }
    if (kind === 1) return { n, callId, state: 'waiting', pauseMs: 0 }
    // More than it holds is never charged.
    const charge = (bound * BigInt(pick(0, 130))) / 100n
    const settle = { charge, excess: 0n, detail: detailFor('k') }
    return { n, callId, state: 'succeeded', settle, result: '{}', receipt: undefined }
  }
  const finish = async (ends: readonly LineEnd[]): Promise<void> =>
    noteEnded(ends, await store.batches.end(id, ends))
  const noteEnded = (ends: readonly LineEnd[], done: ReadonlySet<string>): void => {
    for (const end of ends) {
      if (!done.has(end.callId)) continue
      live.delete(end.n)
      if (end.state !== 'waiting') ended.set(end.n, (ended.get(end.n) ?? 0) + 1)
      if (end.state === 'succeeded') charged += least(end.settle.charge, bounds[end.n - 1] ?? 0n)
    }
  }
  const take = async (): Promise<void> => {
    const route = ROUTES[pick(0, 1)] ?? ''
    const part = route === '' ? undefined : crypto.randomUUID()
    const before = await store.batches.batchFor(id, 'k')
    const taken = await store.batches.take(id, {
      ...{ owner: owner(), route, callIds: Array.from({ length: pick(1, 6) }, () => crypto.randomUUID()) },
      ...(part === undefined ? {} : { part: { id: part, deployment: 'v#0', bytesMost: pick(1, 20) } }),
    })
    noteTaken(before, taken, part)
  }
  const noteTaken = (
    before: Batch | undefined,
    taken: TakenLines | undefined,
    part: string | undefined,
  ): void => {
    if (before?.stop !== undefined) expect(taken?.lines ?? []).toEqual([])
    for (const { n, bound } of taken?.lines ?? []) live.set(n, bound)
    tries.push(...(taken?.lines ?? []).map((line) => ({ ...line, part })))
  }
  /** Lines end and others begin in one transaction; none that would have to borrow. */
  const replace = async (): Promise<void> => {
    const ends = tries.filter(() => pick(0, 2) === 0).map(endOf)
    const before = await store.batches.batchFor(id, 'k')
    const callIds = Array.from({ length: pick(0, 6) }, () => crypto.randomUUID())
    const { ended: done, taken } = await store.batches.endAndTake(id, ends, {
      owner: owner(),
      route: '',
      callIds,
    })
    noteEnded(ends, done)
    noteTaken(before, taken, undefined)
  }
  const steps = [
    ...[take, take, take, replace, replace],
    // Some of them twice, and some that are over.
    () => finish(tries.filter(() => pick(0, 3) === 0).map(endOf)),
    () => finish(tries.slice(-pick(1, 3)).map(endOf)),
    async () => void (await store.batches.tend(owner(), OWNER_MS)),
    () => passes(pick(1, 20) * 1_000),
    // Lines that are run here are sent again by whoever takes the batch over; parts are not.
    async () => {
      const left = await store.batches.sentLines(id)
      const here = new Set(tries.filter(({ part }) => part === undefined).map(({ callId }) => callId))
      expect(left.filter(({ callId }) => !here.has(callId))).toEqual([])
      await finish(left.map(({ n, callId }) => ({ n, callId, state: 'waiting', pauseMs: 0 })))
    },
    async () => {
      for (const part of await store.batches.parts(id))
        if (pick(0, 2) === 0) await store.batches.endPart(part.id)
    },
    async () => {
      if (pick(0, 3) > 0) return
      fenced = true
      await store.keys.changeKey('k', { spendCap: BigInt(pick(1, 60)) * CENT, byCreator: true }, byTest)
    },
    async () => {
      if (pick(0, 5) > 0) return
      fenced = true
      await store.keys.changeKey('k', { disabledReason: 'operator', byCreator: true }, byTest)
      await store.batches.stop(id, 'key_disabled')
    },
    async () => {
      if (pick(0, 7) === 0) await store.batches.cancel(id, { actor: byTest, subject: id })
    },
    // Once a day turns, and once the batch expires; its lease outlives both.
    () => {
      if (pick(0, 4) === 0) passes(jumps.pop() ?? 0)
    },
    async () => void (await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })),
  ]
  for (let step = 0; step < STEPS; step++) {
    await steps[pick(0, steps.length - 1)]?.()
    // What lines did not use goes back at once.
    const open = bounds.filter((_, at) => !ended.has(at + 1)).reduce((sum, bound) => sum + bound, 0n)
    const held = (await store.wallets.wallet('w'))?.held ?? 0n
    const sent = [...live.values()].reduce((sum, bound) => sum + bound, 0n)
    if (sent > held) throw new Error(`lines of ${sent} are sent, and ${held} is held`)
    if (onCap === 'refuse' && held > open) throw new Error(`${held} is held for lines of ${open}`)
    if (onCap === 'refuse' && !fenced && pick(0, 2) === 0) {
      // What no line needs is free for other keys, not only no longer held.
      const rest = ((await store.wallets.wallet('w'))?.balance ?? 0n) - open
      const leaseId = crypto.randomUUID()
      const ask = { instance: 'other', keyId: 'other', leaseId, need: rest, want: rest, useful: rest }
      const lent = await store.ledger.lend({ ...ask, ttlMs: 1_000 })
      if (lent.outcome !== 'lent') throw new Error(`${rest} is free, and lent is ${Bun.inspect(lent)}`)
      await store.ledger.release('other', [lent.leaseId])
    }
    const broken = step % 4 === 0 ? await brokenLaws(store) : []
    if (broken.length > 0) throw new Error(JSON.stringify(broken))
  }
  // The end: nothing more is sent, and what was sent ends. Nothing is released before that.
  await store.batches.stop(id, 'cancelled')
  const stillOpen = async () => {
    const rows = await Promise.all(
      (await store.batches.parts(id)).map((part) => store.batches.partLines(part.id)),
    )
    return [...(await store.batches.sentLines(id)), ...rows.flat()]
  }
  passes(OWNER_MS + 1_000)
  await store.batches.tend('last', OWNER_MS)
  const left = await stillOpen()
  expect(await store.batches.release(id, 'last')).toBe(left.length === 0)
  for (const { n, callId } of left) await finish([{ n, callId, state: 'errored', result: '{}' }])
  expect(await store.batches.release(id, 'last')).toBe(true)
  await store.batches.finish(id, { keptMs: HOUR })
  expect((await store.wallets.wallet('w'))?.held).toBe(0n)
  expect((await store.ledger.balance('revenue')) - before).toBe(charged)
  expect([...ended.values()].filter((count) => count !== 1)).toEqual([])
  const [batch] = [await store.batches.batchFor(id, 'k')]
  expect(batch).toMatchObject({ state: 'ended', waiting: 0, sent: 0, charged })
  expect((batch?.succeeded ?? 0) + (batch?.errored ?? 0) + (batch?.stopped ?? 0)).toBe(total)
  expect((batch?.succeeded ?? 0) + (batch?.errored ?? 0)).toBe(ended.size)
  expect(await brokenLaws(store)).toEqual([])
}

describe.each(engines)('on $name', ({ fresh, runs }) => {
  test(`${runs} histories of batches keep the books`, async () => {
    for (let n = 0; n < runs; n++) {
      const database = await fresh()
      let nowMs = START
      const store = await openTestStore({ url: database.url, now: () => nowMs })
      await createOneKey(store)
      const other = { orgId: 'o', walletId: 'w', label: 'other', prefix: 'o', limits: {} }
      await store.keys.createKey({ id: 'other', hash: 'other', ...other }, byTest)
      try {
        await play(store, numbersFrom(seed + n), (ms) => {
          nowMs += ms
        })
      } catch (error) {
        throw new Error(`history ${n} of SEED=${seed}`, { cause: error })
      } finally {
        await store.close()
        await database.stop()
      }
    }
  })
})
