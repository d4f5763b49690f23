/** How much a lease may grow, and which limit binds. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { growth, type Limit, type Shortage, shortLimits, verdictOf, WALLET_MINIMUM } from './lend.ts'

const USD = 1_000_000_000n
const wallet = (room: bigint): Limit => ({ name: 'wallet', room })
const cap = (
  room: bigint,
  name: 'spend_cap_usd' | 'monthly_cap_usd' = 'spend_cap_usd',
  owner = 'k',
): Limit => ({
  name,
  room,
  owner,
  scope: `${owner} ${name}`,
  cap: USD,
})
const short = (limit: Limit, rest: Partial<Shortage> = {}): Shortage => ({
  limit,
  idle: 0n,
  held: 0n,
  spent: 0n,
  ...rest,
})
const ask = (need: bigint, want = need, ownUnused = 0n, minimum = WALLET_MINIMUM) => ({
  need,
  amount: need + ownUnused,
  want,
  ownUnused,
  minimum,
})

describe('a loan', () => {
  test('gives what is wanted, but at most half of what is left', () => {
    expect(growth([wallet(10n * USD)], ask(USD / 100n, USD))).toEqual({ grown: USD, tight: false })
    expect(growth([wallet(10n * USD)], ask(USD / 100n, 9n * USD))).toEqual({ grown: 5n * USD, tight: false })
    expect(growth([wallet(10n * USD), cap(2n * USD)], ask(USD / 100n, 9n * USD))).toEqual({
      grown: USD,
      tight: false,
    })
  })

  test('gives exactly the need and says so when less than 20 calls or 0.05 USD are left', () => {
    expect(growth([wallet(USD)], ask(USD / 19n, USD))).toEqual({ grown: USD / 19n, tight: true })
    expect(growth([wallet(USD / 20n - 1n)], ask(1n, USD))).toEqual({ grown: 1n, tight: true })
    expect(growth([wallet(USD / 20n)], ask(1n, USD))).toEqual({ grown: USD / 40n, tight: false })
  })

  test('never takes more than any limit has, for every ask that fits', () => {
    const amount = fc.bigInt({ min: 0n, max: 100n * USD })
    const property = fc.property(
      fc.array(amount, { minLength: 1, maxLength: 5 }),
      amount,
      amount,
      (rooms, need, want) => {
        const given = rooms.map((room, place) => (place === 0 ? wallet(room) : cap(room)))
        fc.pre(shortLimits(given, ask(need, want)).length === 0)
        const { grown } = growth(given, ask(need, want))
        expect(grown).toBeGreaterThanOrEqual(need)
        if (need > 0n) for (const room of rooms) expect(grown).toBeLessThanOrEqual(room)
      },
    )
    fc.assert(property, { seed: 7 })
  })

  test('renews a lease without a need, even when a lowered cap has left less than nothing', () => {
    const given = [wallet(USD), cap(-USD)]
    const renewal = { need: undefined, amount: 0n, want: USD, ownUnused: 0n, minimum: WALLET_MINIMUM }
    expect(shortLimits(given, renewal)).toEqual([])
    expect(growth(given, renewal).grown).toBe(0n)
  })

  test('needs 0.01 USD in the wallet for any call, counting the own unused room', () => {
    expect(shortLimits([wallet(WALLET_MINIMUM - 1n)], ask(1n))).toHaveLength(1)
    expect(shortLimits([wallet(WALLET_MINIMUM - 1n)], ask(1n, 1n, 1n))).toEqual([])
    expect(shortLimits([wallet(WALLET_MINIMUM)], ask(1n))).toEqual([])
    // A call that is already open may grow into it.
    expect(shortLimits([wallet(1n)], ask(1n, 1n, 0n, 0n))).toEqual([])
  })
})

describe('a refused loan', () => {
  test('asks for idle money back only if that can help', () => {
    expect(verdictOf([short(wallet(0n), { idle: USD })], ask(USD), 1n).outcome).toBe('recall')
    expect(verdictOf([short(wallet(0n), { idle: USD - 1n })], ask(USD), 1n).outcome).toBe('spent')
    expect(verdictOf([short(wallet(0n), { idle: USD }), short(cap(0n))], ask(USD), 1n).outcome).toBe('spent')
  })

  test('is only held while what open calls hold would do, and spent when it would not', () => {
    const outcome = (idle: bigint, held: bigint) =>
      verdictOf([short(wallet(0n), { idle, held })], ask(USD), 1n).outcome
    expect(outcome(0n, USD)).toBe('held')
    expect(outcome(USD / 2n, USD / 2n)).toBe('held')
    expect(outcome(USD / 2n, USD / 2n - 1n)).toBe('spent')
    expect(outcome(USD, USD)).toBe('recall')
  })

  test('never stands for a call whose bound fits in what its limits have left', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n * USD })
    const limit = fc.record({ room: fc.bigInt({ min: -USD, max: 10n * USD }), idle: amount, held: amount })
    const property = fc.property(
      fc.array(limit, { minLength: 1 }),
      amount,
      amount,
      (limits, ownUnused, call) => {
        const demand = ask(call - ownUnused, call, ownUnused)
        const given = limits.map(({ room }, place) => (place === 0 ? wallet(room) : cap(room)))
        fc.pre(call > 0n)
        const least = (place: number) => (place === 0 && call < WALLET_MINIMUM ? WALLET_MINIMUM : call)
        const fits = (there: (one: (typeof limits)[number]) => bigint) =>
          limits.every((one, place) => there(one) + ownUnused >= least(place))
        const shortages = shortLimits(given, demand).map((limit) => {
          const { idle, held } = limits[given.indexOf(limit)]!
          return short(limit, { idle, held })
        })
        expect(shortages.length === 0).toBe(fits(({ room }) => room))
        const [first, ...rest] = shortages
        if (first === undefined) return
        const { outcome, binding } = verdictOf([first, ...rest], demand, 0n)
        expect(outcome === 'recall').toBe(fits(({ room, idle }) => room + idle))
        expect(outcome !== 'spent').toBe(fits(({ room, idle, held }) => room + idle + held))
        const needed = binding.limit.name === 'wallet' && call < WALLET_MINIMUM ? WALLET_MINIMUM : call
        if (outcome === 'spent') expect(binding.limit.room + binding.idle + ownUnused).toBeLessThan(needed)
      },
    )
    fc.assert(property, { seed: 8, numRuns: 1_000 })
  })

  test('names the limit with the least room, and of equal ones the cap before the wallet', () => {
    const binding = (...list: [Shortage, ...Shortage[]]) => verdictOf(list, ask(USD), 1n).binding.limit.name
    expect(binding(short(wallet(5n)), short(cap(4n)))).toBe('spend_cap_usd')
    expect(binding(short(wallet(3n)), short(cap(4n)))).toBe('wallet')
    expect(binding(short(wallet(4n)), short(cap(4n, 'monthly_cap_usd')))).toBe('monthly_cap_usd')
    expect(binding(short({ name: 'stop_at_remaining_usd', room: -1n }), short(wallet(0n)))).toBe(
      'stop_at_remaining_usd',
    )
  })

  test('exhausts a cap only when the smallest useful charge does not fit what is not yet spent', () => {
    const exhausted = (spent: bigint, useful: bigint) =>
      verdictOf([short(cap(0n), { spent, held: USD - 1n })], ask(USD), useful).exhausted
    expect(exhausted(USD - 5n, 5n)).toEqual([])
    expect(exhausted(USD - 4n, 5n)).toEqual([{ owner: 'k', limit: 'spend_cap_usd' }])
  })

  test('exhausts nothing while a recall is under way', () => {
    expect(verdictOf([short(cap(0n), { idle: USD, spent: USD })], ask(USD), 5n).exhausted).toEqual([])
  })
})
