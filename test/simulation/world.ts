/** Virtual time: one seed is one history. Events run in order of their time; between two events all microtasks run. */
import { drainMicrotasks } from 'bun:jsc'
import type { Clock } from '../../src/core/time.ts'

/** Random draws in a sequence of their own. */
export type Draws = {
  /** From 0, below 1. */
  readonly random: () => number
  /** A whole number from low to high. */
  readonly pick: (low: number, high: number) => number
}

export type World = {
  readonly now: () => number
  /**
   * The draws of one part of the history, by its name. What one part draws shifts no other's: where the product asks
   * the ledger once more, callers, deaths and outages stay as they were, and with them most of what a seed has shown.
   */
  readonly draws: (name: string) => Draws
  readonly after: (ms: number, run: () => void) => void
  /** A clock of one process: it runs at its own rate from its own offset, and stops for good when the process is killed. */
  readonly clock: (alive: () => boolean) => Clock
  /** Runs events until the given time. */
  readonly runUntil: (ms: number) => void
}

type Event = { readonly at: number; readonly order: number; readonly run: () => void }

/** 2026-11-30T23:59:52Z: the month turns eight seconds into the history. */
export const EPOCH = Date.UTC(2026, 10, 30, 23, 59, 52)

/** FNV-1a. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/** mulberry32 */
const drawsFrom = (start: number): Draws => {
  let state = start | 0
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return { random, pick: (low, high) => low + Math.floor(random() * (high - low + 1)) }
}

export const createWorld = (seed: number): World => {
  const draws = (name: string) => drawsFrom(hashOf(`${name} ${seed}`))
  const { random } = draws('clocks of processes')
  let time = 0
  let order = 0
  const heap: Event[] = []
  const before = (a: Event, b: Event) => a.at < b.at || (a.at === b.at && a.order < b.order)
  const push = (event: Event) => {
    let at = heap.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(heap[at]!, heap[parent]!)) return
      ;[heap[at], heap[parent]] = [heap[parent]!, heap[at]!]
      at = parent
    }
  }
  const pop = (): Event | undefined => {
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    heap[0] = last
    for (let at = 0; ; ) {
      let child = at * 2 + 1
      if (child >= heap.length) return first
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, heap[at]!)) return first
      ;[heap[at], heap[child]] = [heap[child]!, heap[at]!]
      at = child
    }
  }
  const after = (ms: number, run: () => void) => push({ at: time + Math.max(0, ms), order: order++, run })
  return {
    now: () => time,
    draws,
    after,
    clock: (alive) => {
      const rate = 1 + (random() - 0.5) * 0.02
      const offset = Math.floor(random() * 1e6)
      const skew = Math.floor((random() - 0.5) * 4_000)
      return {
        now: () => EPOCH + Math.floor(time * rate) + skew,
        monotonicMs: () => time * rate + offset,
        turn: () => new Promise((resolve) => after(0, () => alive() && resolve())),
        sleep: (ms) => new Promise((resolve) => after(ms / rate, () => alive() && resolve())),
      }
    },
    runUntil: (ms) => {
      drainMicrotasks()
      for (let next = heap[0]; next !== undefined && next.at <= ms; next = heap[0]) {
        pop()
        time = next.at
        next.run()
        drainMicrotasks()
      }
      time = Math.max(time, ms)
    },
  }
}
