/** How soon the status tells that books do not balance: within a minute, also of a ledger whose sums take seconds. */
import { expect, test } from 'bun:test'
import { virtualTime } from '../../../test/virtual-time.ts'
import { createLog, silentLog } from '../../core/log.ts'
import { watchBooks } from './watch-books.ts'

for (const engine of ['sqlite', 'postgres'] as const)
  test.each([10, 300, 1_500, 2_500])(
    `an edit is told of within a minute where a look takes %d ms, ${engine}`,
    async (tookMs) => {
      const { now, clock, pass } = virtualTime(Date.UTC(2026, 10, 23))
      let ok = true
      let looks = 0
      const audit = async () => {
        const seen = ok
        looks++
        await clock.sleep(tookMs)
        return [{ check: 'a wallet is its postings', ok: seen }]
      }
      const books = watchBooks({ store: { engine, ledger: { audit } } as never, clock, log: silentLog })
      while (looks < 3) await pass(10)
      // The third look has just begun, and does not see it.
      ok = false
      const edited = now()
      while (books.trouble() === undefined && now() - edited < 3_600_000) await pass(100)
      expect(now() - edited).toBeLessThanOrEqual(60_000)
      // A long look is no reason to look all the time.
      expect(looks * tookMs * 10).toBeLessThan(Math.max(now(), 30 * tookMs))
      books.stop()
    },
  )

test.each([
  [false, 1],
  [true, 0],
])('a look that fails says so, but not once it is stopped (%p)', async (stopped, lines) => {
  const { clock, pass, now } = virtualTime(Date.UTC(2026, 10, 23))
  const written: string[] = []
  const audit = async () => {
    await clock.sleep(100)
    throw new Error('the database was closed')
  }
  const log = createLog('warn', now, (line) => written.push(line))
  const books = watchBooks({ store: { engine: 'sqlite', ledger: { audit } } as never, clock, log })
  if (stopped) books.stop()
  await pass(200)
  books.stop()
  expect(written).toHaveLength(lines)
})
