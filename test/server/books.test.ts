/** The status says when the books do not balance, and when they do again. */
import { describe, expect, test } from 'bun:test'
import { createLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { watchBooks } from '../../src/gateway/parts/watch-books.ts'
import { getStatus } from '../../src/http/operate/status.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { engines } from '../store/engines.ts'
import { chat, startTestServer } from './harness.ts'

for (const kind of engines.filter(({ lasting }) => lasting))
  describe(`the running check of the books, ${kind.name}`, () => {
    test('finds an edit while calls go on, and that it was mended', async () => {
      const database = await kind.fresh()
      const server = await startTestServer({ url: database.url })
      const engine = openEngine(database)
      const lines: string[] = []
      const log = createLog('error', Date.now, (line) => void lines.push(line))
      const clock = { ...systemClock, sleep: () => Bun.sleep(5) }
      const books = watchBooks({ store: server.store, clock, log })
      const booksStatus = async () => JSON.parse(new TextDecoder().decode(await bodyOf())).services.books
      const bodyOf = async () => {
        const { body } = await getStatus({ ...server.gateway, watch: { books } })
        return body instanceof Uint8Array ? body : new Uint8Array()
      }
      const until = async (status: string) => {
        while ((await booksStatus()).status !== status)
          expect((await server.post('/v1/chat/completions', chat())).status).toBe(200)
      }
      const edit = (by: number) =>
        engine.batch('control', [
          { text: `update account set balance = balance + ${by} where bounded = 1`, params: [] },
        ])
      await until('ok')
      await edit(1)
      await until('degraded')
      // Strangers read the status: it names neither the law nor the wallet.
      expect((await booksStatus()).error).toBe('the books do not balance; run `turnpike audit`')
      expect(JSON.parse(lines[0] ?? '{}').kind).toBe('a wallet is its postings')
      await edit(-1)
      await until('ok')
      books.stop()
      await engine.close()
      await server.stop()
      await database.stop()
    })
  })
