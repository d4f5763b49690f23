/** Rows past their time are deleted in batches, however many there are, on every engine. */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { openTestStore } from '../memory-ledger.ts'
import { engines } from './engines.ts'
import { createOneKey } from './world.ts'

const ROWS = 12_000

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`more rows than a round takes are gone after some rounds, ${engine.name}`, async () => {
    const database = await engine.fresh()
    let now = Date.UTC(2026, 10, 21, 20)
    const store = await openTestStore({ url: database.url, now: () => now })
    const series = (from: string) => `insert into idempotency
        (key_id, endpoint, idem_key, fingerprint, state, call_id, instance, locked_until, expires_at)
      select 'k', '/v1/run', 'i' || n, 'f', 'released', 'c' || n, 'gone', 0, ${now} + n % 2 * 1000000 from ${from}`
    const windows = (from: string) => `insert into rate_window (key_id, window_start, used, taken)
      select 'r' || n, ${now} - 3 * 86400000 * (n % 2), 1, 1 from ${from}`
    const count =
      'select (select count(*) from idempotency) as answers, (select count(*) from rate_window) as windows'
    const raw = database.url.startsWith('sqlite:')
      ? (() => {
          const file = new Database(database.url.slice('sqlite:'.length))
          const numbers = `(with recursive r(n) as (select 1 union all select n + 1 from r where n < ${ROWS}) select n from r)`
          return {
            fill: async () => {
              file.run(series(numbers))
              file.run(windows(numbers))
            },
            rows: async () => file.query(count).get(),
            close: async () => file.close(),
          }
        })()
      : (() => {
          const sql = new SQL(database.url, { max: 1 })
          return {
            fill: async () => {
              await sql.unsafe(series(`generate_series(1, ${ROWS}) n`))
              await sql.unsafe(windows(`generate_series(1, ${ROWS}) n`))
            },
            rows: async () => {
              const [{ answers, windows }] = await sql.unsafe(count)
              return { answers: Number(answers), windows: Number(windows) }
            },
            close: () => sql.close(),
          }
        })()
    try {
      await createOneKey(store)
      await raw.fill()
      now += 1_000
      const reap = () => store.ledger.reap({ graceMs: 1_000, longestCallMs: 30_000 })
      await reap()
      // One round takes a part, so that it never runs out of its time.
      expect(await raw.rows()).toEqual({ answers: ROWS - 5_000, windows: ROWS - 5_000 })
      await reap()
      await reap()
      // Rows that still count stay.
      expect(await raw.rows()).toEqual({ answers: ROWS / 2, windows: ROWS / 2 })
    } finally {
      await raw.close()
      await store.close()
      await database.stop()
    }
  })
