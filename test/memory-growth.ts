/**
 * The least by which the memory of this process grew at once while the work ran, in up to three tries, in bytes. Each
 * time includes what the work holds; garbage that waits to be collected on a busy machine is not in each. Stops when it
 * is below the limit.
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
