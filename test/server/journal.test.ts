/**
 * The database is lost in mid-answer, or cannot be written: answers end well, and each is charged once when it is back, or
 * at the next start.
 */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../../src/core/log.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { type FaultProxy, startProxy } from '../chaos/proxy.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { startProgram } from '../program.ts'
import { BUSY_MS, until } from '../until.ts'
import { chat, completion, jsonOf, startTestServer, streamEvents } from './harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-journal-'))
let database: TestDatabase
let proxy: FaultProxy
let proxied: string
/** Goes round the proxy. */
let store: Store

beforeAll(async () => {
  database = await postgresForTests()
  const url = new URL(database.url)
  proxy = await startProxy(Number(url.port || '5432'))
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  // The product's own time-outs.
  url.search = ''
  proxied = url.href
  store = await openStore({ url: database.url })
})

afterAll(async () => {
  await store.close()
  proxy.stop()
  await database.stop()
  rmSync(folder, { recursive: true })
})

type Losable = {
  readonly url: string
  /** Goes round what the server meets. */
  readonly store: Store
  readonly lose: () => void
  readonly bringBack: () => void
  readonly close: () => Promise<void>
}

/** A ledger that can be lost: PostgreSQL falls silent, and the file of SQLite is held by another process. */
const losable: Readonly<Record<'postgres' | 'sqlite', (home: string) => Promise<Losable>>> = {
  postgres: async () => ({
    url: proxied,
    store,
    lose: () => proxy.set('stall'),
    bringBack: () => proxy.set('none'),
    close: async () => undefined,
  }),
  sqlite: async (home) => {
    const path = join(home, 'ledger.db')
    const own = await openStore({ url: `sqlite:${path}` })
    const other = new Database(path)
    let lost = false
    const bringBack = () => {
      if (lost) other.run('ROLLBACK')
      lost = false
    }
    return {
      url: `sqlite:${path}`,
      store: own,
      lose: () => {
        lost = true
        other.run('BEGIN IMMEDIATE')
      },
      bringBack,
      close: async () => {
        bringBack()
        other.close()
        await own.close()
      },
    }
  },
}
const engines = ['postgres', 'sqlite'] as const

const homeOf = (name: string): string => {
  const home = join(folder, name)
  mkdirSync(home)
  return home
}

/** What is in a journal apart from its reserve. */
const keptIn = (journal: string) =>
  readdirSync(journal).filter((name) => name !== 'reserve' && name !== 'first-start.txt')

/** A vendor's stream that stops before its last pieces until it may go on. */
const gated = () => {
  const gate = Promise.withResolvers<void>()
  const pieces = streamEvents(['one', ' two'])
  let next = 0
  const encoder = new TextEncoder()
  const response = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          if (next === 2) await gate.promise
          const piece = pieces[next++]
          if (piece === undefined) controller.close()
          else controller.enqueue(encoder.encode(piece))
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
  return { response, goOn: gate.resolve }
}

/** Reads the first piece of an answer; the rest comes on demand. */
const begun = async (answer: Response) => {
  const reader = answer.body?.getReader()
  if (reader === undefined) throw new Error('no body')
  const decoder = new TextDecoder()
  let text = decoder.decode((await reader.read()).value)
  return {
    callId: answer.headers.get('x-request-id') ?? '',
    rest: async () => {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read())
        text += decoder.decode(piece.value)
      return text
    },
  }
}

const bills = async (callId: string, of = store) =>
  (await of.ledger.transfersOf(callId)).map(({ kind, amount, note }) => ({ kind, amount, note }))

const billed = [{ kind: 'usage', amount: 60_000n, note: undefined }] as never

test.each(engines)('a stream ends while %s is away, and is charged once when it is back', async (engine) => {
  const home = homeOf(`back-${engine}`)
  const journal = join(home, 'journal')
  const ledger = await losable[engine](home)
  const server = await startTestServer({ url: ledger.url, journal, ledgerFails: true })
  try {
    const vendor = gated()
    server.answerWith(vendor.response)
    const answer = await begun(await server.post('/v1/chat/completions', chat({ stream: true })))
    ledger.lose()
    vendor.goOn()
    const text = await answer.rest()
    expect(text).toEndWith('data: [DONE]\n\n')
    expect(text).toContain(': x-cost-usd: 0.00006')
    // Nobody knows the balance now.
    expect(text).not.toContain('_remaining_credits')
    expect(keptIn(journal)).toHaveLength(1)
    expect(await bills(answer.callId, ledger.store)).toEqual([])
    ledger.bringBack()
    await until(() => keptIn(journal).length === 0)
    expect(await bills(answer.callId, ledger.store)).toEqual(billed)
  } finally {
    ledger.bringBack()
    await server.stop()
    await ledger.close()
  }
})

test.each(engines)(
  'a whole answer comes though %s is lost while its vendor works, and is charged once',
  async (engine) => {
    const home = homeOf(`whole-${engine}`)
    const ledger = await losable[engine](home)
    const server = await startTestServer({
      url: ledger.url,
      journal: join(home, 'journal'),
      ledgerFails: true,
    })
    try {
      const [asked, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      server.answerWith(async () => {
        asked.resolve()
        await goesOn.promise
        return completion('hello')
      })
      const answered = server.post('/v1/chat/completions', chat())
      await asked.promise
      // Its intent was sent as the call began.
      await until(() => server.gateway.book.health().queued === 0)
      ledger.lose()
      goesOn.resolve()
      const answer = await answered
      expect([answer.status, answer.headers.get('x-cost-usd')]).toEqual([200, '0.00006'])
      const callId = answer.headers.get('x-request-id') ?? ''
      expect(await bills(callId, ledger.store)).toEqual([])
      ledger.bringBack()
      await until(async () => (await bills(callId, ledger.store)).length > 0)
      expect(await bills(callId, ledger.store)).toEqual(billed)
    } finally {
      ledger.bringBack()
      await server.stop()
      await ledger.close()
    }
  },
)

test.each([
  ['after', 2_600],
  ['before', 50],
])(
  'a call is refused and not charged when its intent is not durable in time, and the answer is there %s that',
  async (_when, tookMs) => {
    const server = await startTestServer({
      url: proxied,
      ledgerFails: true,
      journal: join(folder, 'refused'),
      options: { timeouts: { firstByteMs: 5_000, idleMs: 5_000, totalMs: 10_000 } },
    })
    try {
      // Leases money, so that the next call is admitted without the database.
      await server.post('/v1/chat/completions', chat())
      server.answerWith(async () => {
        await Bun.sleep(tookMs)
        return completion('late')
      })
      proxy.set('stall')
      const started = performance.now()
      const refused = await server.post('/v1/chat/completions', chat())
      expect(performance.now() - started).toBeLessThan(BUSY_MS)
      expect(refused.status).toBe(503)
      expect((await jsonOf(refused)).error.code).toBe('service_unavailable')
      const callId = refused.headers.get('x-request-id') ?? ''
      proxy.set('none')
      server.answerWith(() => completion('well again'))
      await until(async () => (await server.post('/v1/chat/completions', chat())).status === 200)
      expect(await bills(callId)).toEqual([])
    } finally {
      proxy.set('none')
      await server.stop()
    }
  },
)

test('an outage is one error when it begins and one line when it is over, however many calls it refuses', async () => {
  const lines: Record<string, unknown>[] = []
  const log = createLog('warn', Date.now, (line) => lines.push(JSON.parse(line)))
  const server = await startTestServer({ url: proxied, ledgerFails: true, log })
  try {
    proxy.set('reset')
    await until(() => !server.gateway.book.health().fresh)
    for (let call = 0; call < 20; call++)
      expect((await server.post('/v1/chat/completions', chat())).status).toBe(503)
    await until(() => lines.some(({ level }) => level === 'error'))
    proxy.set('none')
    await until(() => lines.some(({ event }) => event === 'the ledger answers again'))
    const told = lines.filter(({ event }) => String(event).startsWith('the ledger'))
    expect(told.map(({ level, event }) => [level, event])).toEqual([
      ['error', 'the ledger does not answer; new calls are refused until it does'],
      ['warn', 'the ledger answers again'],
    ])
    expect(told[1]?.took_ms).toBeGreaterThan(1_000)
    // A busy machine may keep a heartbeat waiting.
    expect(lines.filter(({ event }) => !String(event).startsWith('a heartbeat')).length).toBeLessThan(5)
  } finally {
    proxy.set('none')
    await server.stop()
  }
})

test.each(engines)(
  'an answer that ended without %s outlives kill -9: the next start charges it, once',
  async (engine) => {
    const home = homeOf(`killed-${engine}`)
    // SQLite's is beside the ledger unless JOURNAL says where.
    const journal = engine === 'sqlite' ? join(home, 'journal') : join(home, 'data', 'journal')
    const ledger = await losable[engine](home)
    const serve = () => startProgram(home, { DATABASE_URL: ledger.url, LOG: 'error' })
    const vendor = gated()
    const upstream = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: vendor.response })
    writeFileSync(
      join(home, 'turnpike.yaml'),
      `vendors:
  mock:
    base_url: http://127.0.0.1:${upstream.port}/v1
    models:
      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }
`,
    )
    const first = await serve()
    const answer = await begun(
      await fetch(`${first.address}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(chat({ model: 'mock/m', stream: true })),
      }),
    )
    ledger.lose()
    vendor.goOn()
    expect(await answer.rest()).toEndWith('data: [DONE]\n\n')
    first.child.kill('SIGKILL')
    await first.child.exited
    const [left] = keptIn(journal)
    // As if it had been killed in the middle of a further write.
    appendFileSync(join(journal, left ?? 'none'), 'cafe0000 {"callId":"')
    ledger.bringBack()
    expect(await bills(answer.callId, ledger.store)).toEqual([])
    const second = await serve()
    try {
      expect(await bills(answer.callId, ledger.store)).toEqual(billed)
      expect(keptIn(journal)).toEqual([])
    } finally {
      second.child.kill('SIGTERM')
      await second.child.exited
      await upstream.stop(true)
    }
    const third = await serve()
    third.child.kill('SIGTERM')
    expect(await third.child.exited).toBe(0)
    expect(await bills(answer.callId, ledger.store)).toEqual(billed)
    expect((await ledger.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
    await ledger.close()
  },
)
