/** How the work of a function grows with its input, in processor time: a busy machine changes it little, a clock much. */

const FACTOR = 8
/** Above this, the work of an item grows with the number of items: quadratic work comes to eight. */
const GROWTH_MAX = 2.5
/** Each round can only add to what the work itself takes, so one good round is enough. */
const ROUNDS = 6

/** Microseconds of processor time that the work takes. */
const cpuOf = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/**
 * The factor by which the work of each item grows when there are eight times as many: about 1 where the whole is
 * linear. Throws when it is too large. Work of less than some milliseconds counts as linear, because the scale is too
 * coarse for it.
 */
export const mustBeLinear = async (work: (n: number) => unknown, n: number): Promise<number> => {
  await work(n)
  let least = Number.POSITIVE_INFINITY
  let growth = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const large = await cpuOf(() => work(FACTOR * n))
    if (large < 10_000) return 1
    least = Math.min(least, large)
    const small = Math.max(await cpuOf(() => work(n)), await cpuOf(() => work(n)), 1_000)
    growth = Math.min(growth, least / small / FACTOR)
    if (growth < GROWTH_MAX) return growth
  }
  throw new Error(`${FACTOR} times the items cost ${(FACTOR * growth).toFixed(0)} times the work`)
}
