/** Attacks by many and slow clients: pipelined requests, bodies and connections that stop, a silent database. */
import { Database } from 'bun:sqlite'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { asked, type Check, chat, echo, heard, must, statusOf, times } from './check.ts'
import { KEPT_BYTES, type Target } from './target.ts'

const ahead = 100
const bodied = (method: string, path: string, auth: string, length: number): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${auth}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

/** Endpoints beside the calls that read a body: without a key, and with one. */
const doors: readonly { name: string; head: (it: Target, length: number) => string }[] = [
  { name: 'the webhook', head: (_it, length) => bodied('POST', '/api/webhooks/stripe', '', length) },
  {
    name: 'the limits of a key',
    head: ({ auth, token }, length) => bodied('PUT', `/v1/key/wholesale/${token}/limits`, auth, length),
  },
]

/** Waits until the server has ended the connection. */
const ended = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.resume()
    if (socket.destroyed) resolve()
    else socket.once('close', () => resolve())
  })

/** Waits until the server takes all calls again: for a while after it was late it still turns some away. */
const serves = async (it: Target): Promise<void> => {
  for (let tries = 0, good = 0; good < 30; tries++) {
    const response = await it.ask(chat, echo('x'))
    await response.text()
    good = response.status === 200 ? good + 1 : 0
    must(tries < 300, `still a ${response.status}`)
    await Bun.sleep(50)
  }
}

/** A file with the calls of a year; only where the ledger is a file. */
const ROWS = 200_000
const growLedger = ({ home }: Target): void => {
  const ledger = new Database(join(home, 'ledger', 'books.db'))
  ledger.run('pragma busy_timeout = 30000')
  ledger.run(`insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${ROWS})
    select 'usage', 'old' || n, 'elsewhere', 'revenue', 1, (select id from api_key order by created_at limit 1),
      strftime('%Y-%m', 'now', '-' || n * 8 || ' seconds'), date('now', '-' || n * 8 || ' seconds'),
      unixepoch() * 1000 - n * 8000 from numbers`)
  ledger.run(`insert into usage_detail (call_id, model, input_tokens, output_tokens, detail)
    select ref, 'm', 1, 1, json_object('keyId', key_id, 'model', 'm', 'vendor', 'v', 'usage', json('{"input":1,"output":1}'),
      'estimated', json('false'), 'priceVersion', '', 'startedAt', 0, 'tookMs', 0, 'firstByteMs', 0, 'ended', 'ok')
    from transfer where kind = 'usage' and ref like 'old%'`)
  ledger.close()
}

const CALLS_BESIDE = 5
/** A refusal that takes longer than this is too slow; we promise about two seconds. */
const REFUSED_MS = 15_000

export const waits: readonly Check[] = [
  {
    name: `${ahead} calls sent ahead on one connection`,
    run: async (it) => {
      const body = JSON.stringify(echo('x'))
      const call = bodied('POST', chat, it.auth, body.length) + body
      const last = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
      const reply = await it.raw(call.repeat(ahead) + last)
      const statuses = [...reply.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status))
      must(
        statuses.length <= ahead + 1 && statuses.every((status) => status === 200 || status === 429),
        `answered ${statuses.slice(0, 20)}`,
      )
      await asked(it, '/v1/models', undefined, 200)
    },
    cpuMs: 6_000,
    memoryMb: 200,
  },
  ...doors.flatMap(({ name, head }): Check[] => [
    {
      name: `60 bodies of 3 MB at ${name}`,
      run: async (it) => {
        const large = head(it, 3_000_000) + ' '.repeat(2_999_999)
        const sockets = await Promise.all(times(60, () => it.hang(large)))
        await heard(sockets, 60)
        await asked(it, '/v1/models', undefined, 200)
      },
      cpuMs: 6_000,
      memoryMb: 250,
    },
    {
      name: `a body that stops at ${name}`,
      run: async (it) => {
        const reply = await it.raw(`${head(it, 1_000)}{"a"`)
        must(statusOf(reply) === 408, `answered ${reply.slice(0, 200)}`)
      },
      cpuMs: 3_000,
      memoryMb: 120,
    },
  ]),
  {
    name: '200 connections without a word are ended',
    run: async (it) => {
      const silent = await Promise.all(times(200, () => it.hang('')))
      const half = await Promise.all(times(50, () => it.hang('GET /livez HTTP/1.1\r\nHost:')))
      await asked(it, '/v1/models', undefined, 200)
      await Promise.all([...silent, ...half].map(ended))
    },
    cpuMs: 4_000,
    memoryMb: 120,
  },
  {
    name: "one tenant's answers kept for repeats",
    run: async (it) => {
      const word = 'word '.repeat(20_000)
      let kept = 0
      for (let tries = 0; ; tries++) {
        must(tries < 60, `${kept} bytes are kept`)
        const response = await fetch(it.address + chat, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${it.token}`,
            'content-type': 'application/json',
            'idempotency-key': `kept ${tries}`,
          },
          body: JSON.stringify(echo(word)),
        })
        const answer = await response.arrayBuffer()
        if (response.status === 429) break
        must(response.status === 200, `answered ${response.status}`)
        kept += answer.byteLength
      }
      must(kept < 2 * KEPT_BYTES, `${kept} bytes were kept, of ${KEPT_BYTES}`)
      await asked(it, chat, echo('x'), 200)
    },
    cpuMs: 8_000,
    memoryMb: 200,
  },
  {
    name: 'six reports over 200,000 calls hold up no call',
    prepare: growLedger,
    engine: 'SQLite',
    run: async (it) => {
      // The server was delayed by a client that wrote so much at once, which is not what we measure.
      await serves(it)
      let reported = 0
      const reports = times(6, async () => {
        const response = await it.ask('/v1/usage')
        const { data } = (await response.json()) as { data?: { total: { requests: number } } }
        must(
          (data?.total.requests ?? 0) >= ROWS,
          `a report is a ${response.status} of ${data?.total.requests} calls`,
        )
        reported++
      })
      const calls = (async () => {
        for (let call = 0; call < CALLS_BESIDE; call++) await asked(it, chat, echo('x'), 200)
        must(reported < 6, 'the calls waited for the reports')
      })()
      await Promise.all([...reports, calls])
    },
    cpuMs: 20_000,
    memoryMb: 400,
  },
  {
    name: 'a database that says nothing',
    engine: 'PostgreSQL',
    run: async (it) => {
      it.silence(true)
      try {
        const refused = await Promise.all(
          times(20, async () => {
            const startedMs = performance.now()
            const response = await it.ask(chat, echo('x'))
            await response.text()
            return { status: response.status, ms: performance.now() - startedMs }
          }),
        )
        const wrong = refused.find(({ status, ms }) => status !== 503 || ms > REFUSED_MS)
        must(wrong === undefined, `a ${wrong?.status} after ${wrong?.ms.toFixed(0)} ms`)
      } finally {
        it.silence(false)
      }
      // It recovers by itself.
      await serves(it)
    },
    cpuMs: 8_000,
    memoryMb: 200,
  },
]
