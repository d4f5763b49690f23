/**
 * The least by which the memory of this process grew at once while the work ran, of up to three times, in bytes. What the work
 * holds it holds each time; what only waits to be collected, on a busy machine, it does not. Stops when it is below the limit.
 */
export const leastGrowth = async (limit: number, work: () => Promise<void>): Promise<number> => {
  let least = Number.POSITIVE_INFINITY
  for (let time = 0; time < 3 && least >= limit; time++) {
    Bun.gc(true)
    const start = process.memoryUsage.rss()
    let most = start
    const look = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss())
    }, 5)
    try {
      await work()
    } finally {
      clearInterval(look)
    }
    least = Math.min(least, most - start)
  }
  return least
}
