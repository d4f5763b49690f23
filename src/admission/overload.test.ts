/** Overload against a small model of a process in virtual time: one loop, whose turns run whatever is ready. */
import { describe, expect, test } from 'bun:test'
import { newOverload } from './overload.ts'

/**
 * The costs of a call: when it arrives, when its vendor has answered, and for each piece of its stream; and the cost of
 * a refusal.
 */
type Costs = { readonly door: number; readonly end: number; readonly piece: number; readonly refusal: number }

type Caller = { readonly name: string; readonly rate: number }

type World = {
  readonly costs: Costs
  readonly callers: readonly Caller[]
  /** How long a vendor takes for an answer, or for the first piece and each later one. */
  readonly vendorMs: number
  readonly pieces: number
  /** How late a turn may be; absent for a process that turns nobody away. */
  readonly turnMsMax?: number
  /** Other work that holds up the process, and when. */
  readonly pauses?: readonly { readonly atMs: number; readonly ms: number }[]
  readonly seconds?: number
}

type Ready = {
  readonly at: number
  readonly caller: string
  readonly piecesLeft: number
  readonly cameMs: number
}

type Outcome = {
  readonly goodBy: Map<string, number>
  readonly good: number
  readonly away: number
  /** The time from a call's arrival to its first byte, for calls that ended in the second half. */
  readonly p99: number
}

/** Random numbers come from a seed; arrivals come in clumps, as they really do. */
const newChance = (seed: number) => () => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}

const arrivalsOf = (callers: readonly Caller[], untilMs: number): { at: number; caller: string }[] => {
  const chance = newChance(7)
  const all: { at: number; caller: string }[] = []
  for (const { name, rate } of callers)
    for (let at = 0; at < untilMs; at += (-Math.log(1 - chance()) * 1_000) / rate)
      all.push({ at, caller: name })
  return all.sort((a, b) => a.at - b.at)
}

/** A queue by time; equal times keep their order. */
const insert = (queue: Ready[], one: Ready): void => {
  let at = queue.length
  while (at > 0 && (queue[at - 1]?.at ?? 0) > one.at) at--
  queue.splice(at, 0, one)
}

/** In one turn the runtime accepts no more than this from the system. */
const EVENTS_A_TURN = 1_024

const run = (world: World): Outcome => {
  const { costs, turnMsMax, vendorMs, pieces } = world
  const untilMs = (world.seconds ?? 12) * 1_000
  const arrivals = arrivalsOf(world.callers, untilMs)
  const pauses = [...(world.pauses ?? [])]
  const overload = newOverload()
  const waiting: Ready[] = []
  const times: number[] = []
  const goodBy = new Map<string, number>()
  let away = 0
  let came = 0
  let notedMs = 0
  let now = 0
  while (now < untilMs) {
    const began = now
    if ((pauses[0]?.atMs ?? Number.POSITIVE_INFINITY) <= now) now += pauses.shift()?.ms ?? 0
    for (
      let took = 0;
      took < EVENTS_A_TURN && (arrivals[came]?.at ?? Number.POSITIVE_INFINITY) <= began;
      came++
    ) {
      took++
      const { at, caller } = arrivals[came] ?? { at: 0, caller: '' }
      if (overload.turnsAway(caller)) {
        now += costs.refusal
        away++
        continue
      }
      overload.enter(caller)
      now += costs.door
      insert(waiting, { at: now + vendorMs, caller, piecesLeft: pieces, cameMs: at })
    }
    while ((waiting[0]?.at ?? Number.POSITIVE_INFINITY) <= began) {
      const one = waiting.shift()
      if (one === undefined) break
      if (one.piecesLeft === pieces && now > untilMs / 2) times.push(now - one.cameMs)
      if (one.piecesLeft > 0) {
        now += costs.piece
        insert(waiting, { ...one, at: Math.max(now, one.at + vendorMs), piecesLeft: one.piecesLeft - 1 })
        continue
      }
      now += costs.end
      overload.leave(one.caller)
      if (now > untilMs / 2) goodBy.set(one.caller, (goodBy.get(one.caller) ?? 0) + 1)
    }
    if (turnMsMax !== undefined && came > 0 && now - notedMs >= 10) {
      overload.note(now - notedMs, (now - began) / turnMsMax)
      notedMs = now
    }
    // Nothing was ready, so it sleeps until something is.
    if (now === began) now = Math.min(arrivals[came]?.at ?? untilMs, waiting[0]?.at ?? untilMs, untilMs)
  }
  times.sort((a, b) => a - b)
  const good = [...goodBy.values()].reduce((sum, one) => sum + one, 0)
  return { goodBy, good, away, p99: times[Math.floor(times.length * 0.99)] ?? 0 }
}

const CALL: Costs = { door: 0.12, end: 0.08, piece: 0, refusal: 0.008 }
const CALLS_A_SECOND = 1_000 / (CALL.door + CALL.end)
const STREAM: Costs = { door: 0.2, end: 0.2, piece: 0.032, refusal: 0.01 }
const STREAMS_A_SECOND = 1_000 / (STREAM.door + STREAM.end + 50 * STREAM.piece)

const calls = (times: number): World => ({
  costs: CALL,
  callers: [{ name: 'one', rate: CALLS_A_SECOND * times }],
  vendorMs: 2,
  pieces: 0,
  turnMsMax: 25,
})
const streams = (times: number): World => ({
  costs: STREAM,
  callers: [{ name: 'one', rate: STREAMS_A_SECOND * times }],
  vendorMs: 20,
  pieces: 50,
  turnMsMax: 25,
})
/** The share of capacity left for calls when `times` as many arrive and each refusal costs `refusal` of a call. */
const leftAt = (times: number, refusal: number): number => (1 - times * refusal) / (1 - refusal)

describe('overload', () => {
  test('what a process can do is let in whole', () => {
    expect(run(calls(0.8)).away).toBe(0)
    expect(run(streams(0.8)).away).toBe(0)
  })

  test.each([1.3, 2, 3, 5])(
    'at %f times what it can do, calls keep all that refusing leaves, in time',
    (times) => {
      const { good, p99 } = run(calls(times))
      expect(good / 6 / CALLS_A_SECOND).toBeGreaterThan(0.97 * leftAt(times, 0.04))
      expect(p99).toBeLessThan(100)
    },
  )

  test.each([1.3, 2, 3, 5])(
    'at %f times what it can do, streams keep nine tenths and begin in time',
    (times) => {
      const { good, p99 } = run(streams(times))
      expect(good / 6 / STREAMS_A_SECOND).toBeGreaterThan(0.9)
      expect(p99).toBeLessThan(250)
    },
  )

  test('without it whoever comes waits for seconds', () => {
    const { turnMsMax: _, ...unbounded } = calls(3)
    expect(run(unbounded).p99).toBeGreaterThan(3_000)
  })

  test('calls that wait for their vendors are no work, however many', () => {
    expect(run({ ...calls(0.5), vendorMs: 5_000 }).away).toBe(0)
  })

  test('a key that sends ten times its share is turned away, the nine others are not', () => {
    const share = CALLS_A_SECOND * 0.08
    const others = Array.from({ length: 9 }, (_, at) => ({ name: `other ${at}`, rate: share }))
    const alone = run({ ...calls(0), callers: others })
    const flooded = run({ ...calls(0), callers: [...others, { name: 'flood', rate: share * 10 }] })
    const flood = flooded.goodBy.get('flood') ?? 0
    expect((flooded.good - flood) / alone.good).toBeGreaterThan(0.95)
    expect(flooded.away).toBeGreaterThan(0)
  })

  test('where all want more than there is, a key that sends ten times as much has hardly more than the others', () => {
    const share = CALLS_A_SECOND * 0.12
    const others = Array.from({ length: 9 }, (_, at) => ({ name: `other ${at}`, rate: share }))
    const { good, goodBy } = run({
      ...calls(0),
      callers: [...others, { name: 'flood', rate: share * 10 }],
    })
    const flood = goodBy.get('flood') ?? 0
    expect(flood / ((good - flood) / 9)).toBeLessThan(1.5)
  })
})

describe('what is no overload turns nobody away', () => {
  test('collecting garbage for 200 ms every second', () => {
    const pauses = Array.from({ length: 11 }, (_, second) => ({ atMs: (second + 1) * 1_000, ms: 200 }))
    expect(run({ ...calls(0.6), pauses }).away).toBe(0)
  })

  test('a pause of five seconds, and what has come meanwhile', () => {
    expect(run({ ...calls(0.15), pauses: [{ atMs: 2_000, ms: 5_000 }] }).away).toBe(0)
  })

  test('thousands of calls at one instant', () => {
    const callers = [{ name: 'one', rate: 100 }]
    const burst = Array.from({ length: 4_000 }, (_, at) => ({ name: `burst ${at}`, rate: 0.000_001 }))
    expect(run({ ...calls(0), callers: [...callers, ...burst] }).away).toBe(0)
  })

  test('one moment of a minute, after a pause of the machine', () => {
    const overload = newOverload()
    for (let call = 0; call < 1_000; call++) overload.enter('one')
    overload.note(60_000, 2_400)
    for (let note = 0; note < 4; note++) overload.note(10, 0.1)
    expect(overload.limits()).toBe(false)
  })

  test('an overload that is over', () => {
    const overload = newOverload()
    for (let call = 0; call < 100; call++) overload.enter('one')
    for (let note = 0; note < 200; note++) overload.note(10, 4)
    expect(overload.turnsAway('one')).toBe(true)
    expect(overload.turnsAway('another')).toBe(false)
    for (let call = 0; call < 100; call++) overload.leave('one')
    expect(overload.turnsAway('one')).toBe(false)
    for (let note = 0; note < 200; note++) overload.note(10, 0.1)
    for (let call = 0; call < 3_000; call++) overload.enter('one')
    expect(overload.turnsAway('one')).toBe(false)
  })
})

test('callers that nobody has seen get in up to twice the limit, however many there are', () => {
  const overload = newOverload()
  for (let call = 0; call < 100; call++) overload.enter('one')
  // For two seconds it is twice as late as allowed, so the limit falls to its minimum, which is 64.
  for (let ms = 0; ms < 2_000; ms += 10) overload.note(10, 2)
  for (let caller = 0; caller < 1_000; caller++)
    if (!overload.turnsAllAway() && !overload.turnsAway(`new ${caller}`)) overload.enter(`new ${caller}`)
  expect(overload.inHand()).toBe(128)
  expect(overload.turnsAllAway()).toBe(true)
})
