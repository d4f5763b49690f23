/** Choices from a seed: the same seed gives the same requests on every machine. */

export type Choose = {
  /** A whole number from 0 up to, and without, the bound. */
  readonly below: (bound: number) => number
  readonly one: <T>(list: readonly T[]) => T
  /** True once in so many times. */
  readonly rarely: (times: number) => boolean
}

/** Mulberry32, by Tommy Ettinger, in the public domain. */
export const chooseFrom = (seed: number): Choose => {
  let state = seed >>> 0
  const below = (bound: number): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
  return {
    below,
    one: <T>(list: readonly T[]): T => list[below(list.length)] as T,
    rarely: (times) => below(times) === 0,
  }
}
