/** Rates with a store that counts: never above the limit, exact up to it, and nothing withheld from others for long. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { byTest } from '../../test/by-test.ts'
import { openTestStore } from '../../test/memory-ledger.ts'
import type { Store } from '../store/port.ts'
import { createRates } from './rates.ts'

const START = Date.UTC(2026, 10, 21, 12, 0, 0)

let time = 0
let store: Store
beforeAll(async () => {
  store = await openTestStore({ url: 'sqlite::memory:', now: () => START + time })
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
})
afterAll(() => store.close())

/** A heartbeat that brings nothing; shares are not known to all, so none is given. */
const quiet = { recalledShares: [], allShare: false, doubtFromMs: Number.POSITIVE_INFINITY }

const newKey = async (): Promise<string> => {
  const id = crypto.randomUUID()
  await store.keys.createKey(
    {
      id,
      hash: id,
      orgId: 'o',
      walletId: 'w',
      label: 'k',
      prefix: 'k',
      limits: {},
    },
    byTest,
  )
  return id
}

/**
 * Processes that know nothing yet, and a key that nobody has used. With `slow`, a return reaches the store after the
 * next request.
 */
const scene = async (instances: number, slow = false) => {
  time = 0
  const names = Array.from({ length: instances }, () => crypto.randomUUID())
  let live = instances
  const never = () => new Promise<void>(() => undefined)
  const clock = {
    now: () => START + time,
    monotonicMs: () => time,
    sleep: never,
    turn: () => Promise.resolve(),
  }
  const { takeRates, returnRate } = store.rates
  const late: typeof returnRate = async (...back) => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    await returnRate(...back)
  }
  const ported = { takeRates, returnRate: slow ? late : returnRate }
  // As a heartbeat tells it: not within a second of a window's ends.
  const windowAt = (lengthMs: number, nowMs: number) => {
    const startsAt = Math.floor((START + nowMs - 1_000) / lengthMs) * lengthMs
    const lastsMs = startsAt + lengthMs - (START + nowMs + 1_000)
    return lastsMs > 0 ? { startsAt, lastsMs } : undefined
  }
  const heartbeat = { liveInstances: () => live, windowAt, agrees: () => true }
  const rates = names.map((instance) =>
    createRates({ store: ported, clock, heartbeat, instance, draining: () => false }),
  )
  return {
    /** A heartbeat of each process, with what the store recalls. */
    beat: async () => {
      for (const [at, instance] of names.entries()) {
        const { recalledShares } = await store.instances.beat(instance, undefined)
        rates[at]?.beaten({ recalledShares, allShare: true, doubtFromMs: Number.POSITIVE_INFINITY })
      }
    },
    rates,
    key: await newKey(),
    /** So many processes serve from now on. */
    serve: (count: number) => {
      live = count
    },
    pass: (ms: number) => {
      time += ms
    },
  }
}

test('three processes together admit just the limit, whoever is asked', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(1, 5, 60, 600),
      fc.array(fc.nat(2), { minLength: 700, maxLength: 700 }),
      async (limit, order) => {
        const { rates, key } = await scene(3)
        const verdicts = await Promise.all(
          order.map((who) => rates[who]!.take(key, { rpm: limit }, undefined)),
        )
        expect(verdicts.filter(({ admitted }) => admitted).length).toBe(limit)
        expect(verdicts.every(({ remaining }) => remaining >= 0 && remaining <= limit)).toBe(true)
      },
    ),
    { numRuns: 12 },
  )
})

test('a large limit is taken in chunks, never above it, and chunks that lie unused come back', async () => {
  const { rates, pass, key } = await scene(2)
  const [busy, idle] = [rates[0]!, rates[1]!]
  await idle.take(key, { rpm: 1_000 }, undefined)
  let admitted = 1
  for (let tries = 0; tries < 1_500; tries++)
    if ((await busy.take(key, { rpm: 1_000 }, undefined)).admitted) admitted++
  expect(admitted).toBeLessThan(1_000)
  expect(admitted).toBeGreaterThan(800)
  // The first heartbeat sees that the chunk was used, the second returns it.
  idle.beaten(quiet)
  idle.beaten(quiet)
  pass(300)
  for (let tries = 0; tries < 1_500; tries++)
    if ((await busy.take(key, { rpm: 1_000 }, undefined)).admitted) admitted++
  expect(admitted).toBe(1_000)
})

test('a token of one minute is not spent in the next', async () => {
  const { rates, pass, key } = await scene(1)
  await rates[0]!.take(key, { rpm: 1_000 }, undefined)
  pass(59_990)
  let admitted = 0
  for (let tries = 0; tries < 1_200; tries++)
    if ((await rates[0]!.take(key, { rpm: 1_000 }, undefined)).admitted) admitted++
  // What was left of the first minute's chunk is gone when that minute ends.
  expect(admitted).toBeLessThanOrEqual(1_000)
  pass(60_000)
  expect((await rates[0]!.take(key, { rpm: 1_000 }, undefined)).admitted).toBe(true)
})

/** What was admitted: when, and how many tokens it reserved and finally used. */
type Admitted = { readonly at: number; tokens: number }

const lengths = { rpm: 60_000, rph: 3_600_000, rpd: 86_400_000, tpm: 60_000 }

/** The largest use of any window, by the store's time. */
const fullest = (admitted: readonly Admitted[], rate: keyof typeof lengths): number => {
  const windows = new Map<number, number>()
  for (const { at, tokens } of admitted) {
    const window = Math.floor(at / lengths[rate])
    windows.set(window, (windows.get(window) ?? 0) + (rate === 'tpm' ? tokens : 1))
  }
  return Math.max(0, ...windows.values())
}

test('no window of any length exceeds its limit, on three processes, with tokens reserved and corrected', async () => {
  const step = fc.record({
    who: fc.nat(2),
    calls: fc.integer({ min: 1, max: 12 }),
    most: fc.integer({ min: 1, max: 3_000 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    wait: fc.constantFrom(0, 50, 400, 9_000, 61_000, 3_700_000),
    beat: fc.boolean(),
  })
  const maybe = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined })
  let refusedByTokens = 0
  await fc.assert(
    fc.asyncProperty(
      fc.record({ rpm: fc.constantFrom(3, 20, 2_000), rph: maybe(60), rpd: maybe(200), tpm: maybe(9_000) }),
      fc.array(step, { minLength: 5, maxLength: 60 }),
      async (drawn, steps) => {
        const { rates, pass, key } = await scene(3)
        const limits = Object.fromEntries(
          Object.entries(drawn).filter(([, limit]) => limit !== undefined),
        ) as Partial<typeof drawn> as { rpm: number; rph?: number; rpd?: number; tpm?: number }
        const admitted: Admitted[] = []
        let time = START
        for (const { who, calls, most, share, wait, beat } of steps) {
          const least = Math.max(1, Math.floor(most / 4))
          const verdicts = await Promise.all(
            Array.from({ length: calls }, () => rates[who]!.take(key, limits, undefined, { least, most })),
          )
          for (const it of verdicts) {
            expect(it.remaining).toBeGreaterThanOrEqual(0)
            if (!it.admitted) {
              refusedByTokens += it.rate === 'tpm' ? 1 : 0
              expect(it.retryAfterMs).toBeGreaterThan(0)
              expect(it.retryAfterMs).toBeLessThanOrEqual(lengths[it.rate])
              continue
            }
            const reserved = it.tokens?.reserved ?? 0
            expect(reserved === 0 || (reserved >= least && reserved <= most)).toBe(true)
            const one = { at: time, tokens: reserved }
            admitted.push(one)
            for (const rate of ['rpm', 'rph', 'rpd', 'tpm'] as const)
              expect(fullest(admitted, rate)).toBeLessThanOrEqual(limits[rate] ?? Number.POSITIVE_INFINITY)
          }
          for (const [at, it] of verdicts.filter(({ tokens }) => tokens !== undefined).entries()) {
            const used = Math.floor((it.tokens?.reserved ?? 0) * share)
            it.tokens?.correct(used)
            it.tokens?.correct(0)
            const one = admitted.at(at - verdicts.filter(({ tokens }) => tokens !== undefined).length)
            if (one !== undefined) one.tokens = used
          }
          if (beat) for (const one of rates) one.beaten(quiet)
          pass(wait)
          time += wait
        }
      },
    ),
    { numRuns: 150 },
  )
  expect(refusedByTokens).toBeGreaterThan(0)
})

test('a request that one window refuses counts in none', async () => {
  const { rates, pass, key } = await scene(2)
  const limits = { rpm: 5, rph: 2, rpd: 100, tpm: 10_000 }
  const ask = { least: 100, most: 100 }
  const take = (who: number) => rates[who]!.take(key, limits, undefined, ask)
  for (const who of [0, 1]) expect((await take(who)).admitted).toBe(true)
  for (let tries = 0; tries < 20; tries++)
    expect(await take(tries % 2)).toMatchObject({ admitted: false, rate: 'rph' })
  pass(3_600_000 - 1_000)
  expect((await take(0)).rate).toBe('rph')
  pass(1_000)
  const next = [await take(0), await take(1), await take(0)]
  expect(next.map(({ admitted }) => admitted)).toEqual([true, true, false])
  // Of the day's limit four were admitted, however many were refused in between.
  const [day] = await store.rates.takeRates(key, [{ rate: 'rpd', count: 0, limit: 100 }])
  expect(day?.used).toBe(4)
})

test('tokens that were reserved and not used are for the next call, also on another process', async () => {
  const { rates, pass, key } = await scene(2)
  const limits = { rpm: 100, tpm: 1_000 }
  const take = (who: number, least: number, most = least) =>
    rates[who]!.take(key, limits, undefined, { least, most })
  const first = await take(0, 800)
  expect(first.tokens).toMatchObject({ limit: 1_000, reserved: 800, remaining: 200 })
  expect(await take(1, 300)).toMatchObject({ admitted: false, rate: 'tpm' })
  expect((await take(1, 100, 5_000)).tokens?.reserved).toBe(200)
  first.tokens?.correct(100)
  for (const one of [...rates, ...rates]) one.beaten(quiet)
  pass(300)
  expect((await take(1, 700)).tokens?.reserved).toBe(700)
  pass(300)
  expect(await take(0, 1)).toMatchObject({ admitted: false, rate: 'tpm' })
  pass(60_000)
  expect((await take(0, 1_000)).admitted).toBe(true)
})

test('one process alone refuses a call only where its tokens do not fit, whatever beats between and however slow the store is', async () => {
  const step = fc.record({
    tokens: fc.integer({ min: 1, max: 900 }),
    share: fc.constantFrom(0, 0.02, 0.5, 1),
    open: fc.nat(2),
    beats: fc.nat(3),
  })
  let refused = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(500, 1_000, 9_000),
      fc.constantFrom({ rpm: 500 }, {}),
      fc.boolean(),
      fc.array(step, { minLength: 4, maxLength: 30 }),
      async (tpm, others, slow, steps) => {
        const { rates, key } = await scene(1, slow)
        const open: { tokens: number; correct: (used: number) => void; share: number }[] = []
        let used = 0
        for (const { tokens, share, open: stay, beats } of steps) {
          const limits = { ...others, tpm }
          const it = await rates[0]!.take(key, limits, undefined, { least: tokens, most: tokens })
          expect([tokens, used, it.admitted]).toEqual([tokens, used, used + tokens <= tpm])
          if (it.admitted && it.tokens) {
            used += tokens
            open.push({ tokens, correct: it.tokens.correct, share })
          } else refused++
          for (let beat = 0; beat < beats; beat++) rates[0]!.beaten(quiet)
          for (const one of open.splice(0, Math.max(0, open.length - stay))) {
            const spent = Math.floor(one.tokens * one.share)
            used -= one.tokens - spent
            one.correct(spent)
          }
        }
      },
    ),
    { numRuns: 150 },
  )
  expect(refused).toBeGreaterThan(0)
})

test('a process that serves alone keeps what it took for a rate, until another serves beside it', async () => {
  const { rates, key, serve, pass } = await scene(2)
  const [one, other] = rates
  const limits = { rpm: 1_000 }
  serve(1)
  await one?.take(key, limits, undefined)
  for (let beats = 0; beats < 3; beats++) one?.beaten(quiet)
  pass(1_000)
  // It is known at once.
  expect(await one?.take(key, limits, undefined)).toMatchObject({ admitted: true, remaining: 998 })
  expect(one?.take(key, limits, undefined)).not.toBeInstanceOf(Promise)
  serve(2)
  for (let beats = 0; beats < 2; beats++) one?.beaten(quiet)
  let admitted = 0
  for (let calls = 0; calls < 1_000; calls++)
    if ((await other?.take(key, limits, undefined))?.admitted === true) admitted++
  expect(admitted).toBe(997)
})

const shared = fc.record({
  rpm: fc.integer({ min: 1, max: 40 }),
  rph: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
})

test('a process alone admits all that fits a window, and asks the store for few of the keys that call now and then', async () => {
  let [known, asked] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      shared,
      fc.array(fc.record({ calls: fc.nat(50), wait: fc.nat(90_000) }), { minLength: 1, maxLength: 20 }),
      async ({ rpm, rph }, steps) => {
        const { rates, pass, beat, key } = await scene(1)
        const admitted: Admitted[] = []
        const left = () =>
          Math.min(
            ...(
              [
                ['rpm', rpm],
                ['rph', rph ?? Number.POSITIVE_INFINITY],
              ] as const
            ).map(
              ([rate, limit]) =>
                limit -
                admitted.filter(({ at }) => at >= START + time - ((START + time) % lengths[rate])).length,
            ),
          )
        await beat()
        for (const { calls, wait } of steps) {
          for (let call = 0; call < calls; call++) {
            const fits = left() > 0
            const taken = rates[0]!.take(key, { rpm, ...(rph === undefined ? {} : { rph }) }, undefined)
            const verdict = await taken
            if (verdict.admitted) {
              if (taken instanceof Promise) asked++
              else known++
            }
            expect(verdict.admitted).toBe(fits)
            if (verdict.admitted) admitted.push({ at: START + time, tokens: 0 })
          }
          pass(wait)
          await beat()
        }
      },
    ),
    { numRuns: 100 },
  )
  expect(known).toBeGreaterThan(asked / 5)
})

test('a key that calls now and then is counted without asking, in each new window', async () => {
  const { rates, pass, beat, key } = await scene(2)
  await beat()
  const take = (who: number) => rates[who]!.take(key, { rpm: 60 }, undefined)
  for (const who of [0, 1]) expect((await take(who)).admitted).toBe(true)
  for (let minutes = 0; minutes < 30; minutes++) {
    pass(61_000)
    await beat()
    if (time % 60_000 < 1_000) continue
    for (const who of [0, 1]) expect(take(who)).toMatchObject({ admitted: true, limit: 60 })
  }
  // The other process's share comes back when it is missed.
  let admitted = 0
  pass(61_000)
  for (let calls = 0; calls < 60; calls++) if ((await take(0)).admitted) admitted++
  expect(admitted).toBe(57)
  await beat()
  pass(300)
  for (let calls = 0; calls < 60; calls++) if ((await take(0)).admitted) admitted++
  expect(admitted).toBe(60)
})

test('with shares no window exceeds its limit on three processes', async () => {
  const step = fc.record({
    who: fc.nat(2),
    calls: fc.integer({ min: 1, max: 12 }),
    wait: fc.constantFrom(0, 50, 400, 9_000, 61_000, 180_000),
    beat: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(shared, fc.array(step, { minLength: 5, maxLength: 60 }), async ({ rpm, rph }, steps) => {
      const { rates, pass, beat, key } = await scene(3)
      await beat()
      const limits = { rpm, ...(rph === undefined ? {} : { rph }) }
      const admitted: Admitted[] = []
      for (const { who, calls, wait, beat: beats } of steps) {
        for (let call = 0; call < calls; call++)
          if ((await rates[who]!.take(key, limits, undefined)).admitted)
            admitted.push({ at: START + time, tokens: 0 })
        for (const rate of ['rpm', 'rph'] as const)
          expect(fullest(admitted, rate)).toBeLessThanOrEqual(limits[rate] ?? Number.POSITIVE_INFINITY)
        if (beats) await beat()
        pass(wait)
      }
    }),
    { numRuns: 100 },
  )
})

test('a share is used once in a window, also at its end', async () => {
  const { rates, pass, beat, key } = await scene(1)
  await beat()
  let admitted = 0
  const ask = async (calls: number) => {
    for (let call = 0; call < calls; call++)
      if ((await rates[0]!.take(key, { rph: 40 }, undefined)).admitted) admitted++
  }
  await ask(35)
  pass(3_600_000 - 20_000)
  await beat()
  await ask(20)
  expect(admitted).toBe(40)
})
