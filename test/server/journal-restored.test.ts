/** A ledger that was restored as of an earlier time takes from the journals what was charged after it, and balances. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { openStore } from '../../src/store/open-store.ts'
import { startProxy } from '../chaos/proxy.ts'
import { postgresForTests } from '../postgres.ts'
import { endPrograms, startProgram } from '../program.ts'
import { until } from '../until.ts'
import { chat, streamEvents } from './harness.ts'

/** A stream that stops after its first piece until it may go on. */
const gated = () => {
  const gate = Promise.withResolvers<void>()
  const stream = async function* () {
    const [first = '', ...rest] = streamEvents(['one', ' two'])
    yield first
    await gate.promise
    yield* rest
  }
  const headers = { 'content-type': 'text/event-stream' }
  return { response: () => new Response(stream() as never, { headers }), goOn: gate.resolve }
}

test('a charge of after the restored time, which waits in a journal, is posted once', async () => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-restored-'))
  const [database, earlier] = [await postgresForTests(), await postgresForTests()]
  const url = new URL(database.url)
  const proxy = await startProxy(Number(url.port || '5432'))
  const proxied = `postgres://${url.username}:${url.password}@127.0.0.1:${proxy.port}${url.pathname}`
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
  const serve = (at: string) => startProgram(home, { DATABASE_URL: at, LOG: 'error' })
  try {
    const first = await serve(database.url)
    first.child.kill('SIGTERM')
    await first.child.exited
    // As of now: PostgreSQL copies a database that nobody is connected to.
    const names = [earlier.url, database.url].map((one) => new URL(one).pathname.slice(1))
    const admin = new URL(database.url)
    admin.pathname = '/postgres'
    const sql = new SQL({ url: admin.href, max: 1 })
    await sql.unsafe(`drop database "${names[0]}" with (force)`)
    await until(() =>
      sql.unsafe(`create database "${names[0]}" template "${names[1]}"`).then(
        () => true,
        () => false,
      ),
    )
    await sql.close()
    const second = await serve(proxied)
    const answer = await fetch(`${second.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(chat({ model: 'mock/m', stream: true })),
    })
    const reader = answer.body?.getReader()
    await reader?.read()
    proxy.set('stall')
    vendor.goOn()
    while ((await reader?.read())?.done === false) {}
    const journal = join(home, 'data', 'journal')
    const waiting = () =>
      readdirSync(journal).filter((name) => name !== 'reserve' && name !== 'first-start.txt')
    expect(waiting()).toHaveLength(1)
    second.child.kill('SIGKILL')
    await second.child.exited
    // The database is lost; the gateway starts on what was restored, with its own disk.
    const third = await serve(earlier.url)
    await until(() => waiting().length === 0)
    third.child.kill('SIGTERM')
    await third.child.exited
    const store = await openStore({ url: earlier.url })
    // Its lease is of after that time too, so nobody knows which limits it would fit under: the house pays.
    const posted = await store.ledger.transfersOf(answer.headers.get('x-request-id') ?? '')
    expect(posted.map(({ kind, amount }) => [kind, amount])).toEqual([['writeoff', 60_000n]])
    expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
    await store.close()
  } finally {
    await endPrograms()
    proxy.stop()
    await upstream.stop(true)
    await database.stop()
    await earlier.stop()
    rmSync(home, { recursive: true })
  }
})
