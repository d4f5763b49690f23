/** How the work of a function grows with its input, in processor time: a busy machine changes it little, a clock much. */

const ROUNDS = 5

/** Microseconds of processor time that the work takes, the least of some rounds: whatever else runs only adds to it. */
const leastCpu = async (work: () => unknown): Promise<number> => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, user + system)
  }
  return least
}

/**
 * By what factor the work grows when n doubles: 2 where it is linear, 4 where it is quadratic. What takes under two
 * milliseconds at 2n counts as not growing: the scale is too coarse for it, and it hurts nobody.
 */
export const cpuGrowth = async (work: (n: number) => unknown, n: number): Promise<number> => {
  await work(n)
  const large = await leastCpu(() => work(2 * n))
  if (large < 2_000) return 1
  return large / Math.max(500, await leastCpu(() => work(n)))
}
