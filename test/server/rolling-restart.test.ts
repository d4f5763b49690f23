/**
 * A rolling restart with real processes on one PostgreSQL, behind a small balancer. Like any balancer, it sends what is
 * refused with Retry-After to another process, and reuses no connection that was to be closed. No caller loses an
 * answer, whole or streamed, of a job or for a file, and each is charged once.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { costOf } from '../chaos/load.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { startProgram } from '../program.ts'
import { until } from '../until.ts'

/** Who comes back again and again, and for what. */
const CALLERS = ['whole', 'stream', 'whole', 'stream', 'whole', 'stream', 'image', 'file'] as const
type Kind = (typeof CALLERS)[number]
/** How often each process is replaced. */
const ROUNDS = 2
const WORDS = 8
const WORD_MS = 40

const home = mkdtempSync(join(tmpdir(), 'turnpike-rolling-'))
let database: TestDatabase
/** Answers in words, streamed or whole, with the caller's own text among them. */
let vendor: ReturnType<typeof Bun.serve>
const children: { kill(signal?: NodeJS.Signals): void }[] = []

const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }
const event = (choices: object[], more: object = {}) =>
  new TextEncoder().encode(
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`,
  )
async function* words(text: string) {
  for (let word = 0; word < WORDS; word++) {
    yield event([{ index: 0, delta: { content: word === 0 ? text : ' word' }, finish_reason: null }])
    await Bun.sleep(WORD_MS)
  }
  yield event([{ index: 0, delta: {}, finish_reason: 'stop' }])
  yield event([], { usage })
  yield new TextEncoder().encode('data: [DONE]\n\n')
}

beforeAll(async () => {
  database = await postgresForTests()
  vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { stream, messages } = (await request.json()) as any
      const text = messages[0].content
      if (stream === true)
        return new Response(words(text) as never, { headers: { 'content-type': 'text/event-stream' } })
      await Bun.sleep(WORDS * WORD_MS)
      const message = { role: 'assistant', content: text }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
    },
  })
  writeFileSync(
    join(home, 'turnpike.yaml'),
    `vendors:\n  mock:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }\n`,
  )
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await vendor.stop(true)
  await database.stop()
  rmSync(home, { recursive: true })
})

const start = async () => {
  const it = await startProgram(home, {
    DATABASE_URL: database.url,
    DRAIN_SECONDS: '60',
    PLAN_RPM: '100000',
    LOG: 'error',
  })
  children.push(it.child)
  return it
}

type Place = { readonly address: string; leaving: boolean }

/** Sends each request to a process that takes calls, and to the next one when it should come back later. */
const startBalancer = (places: Place[]) => {
  let turn = 0
  let sentElsewhere = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    error: ({ message }) => new Response(message, { status: 502 }),
    fetch: async (request) => {
      const body = await request.arrayBuffer()
      const { method, headers } = request
      const { pathname, search } = new URL(request.url)
      for (;;) {
        const open = places.filter(({ leaving }) => !leaving)
        const place = open[turn++ % Math.max(1, open.length)]
        if (place === undefined) throw new Error('no process takes calls')
        // Any other failure is an answer that the caller loses.
        const response = await fetch(place.address + pathname + search, { method, headers, body })
        if (response.status !== 503 || response.headers.get('retry-after') === null)
          return new Response(response.body, response)
        await response.arrayBuffer()
        // On a busy machine the ledger may be late for a moment; a process that leaves says that the connection ends.
        if (response.headers.get('connection') !== 'close') await Bun.sleep(50)
        else if (!place.leaving) {
          place.leaving = true
          sentElsewhere++
        }
      }
    },
  })
  return {
    address: `http://127.0.0.1:${server.port}`,
    sentElsewhere: () => sentElsewhere,
    stop: () => server.stop(true),
  }
}

/** What a caller of a kind sends, and whether it got all of the answer. */
const requests: Readonly<
  Record<Kind, { path: string; body: (name: string) => object; isWhole: (text: string) => boolean }>
> = {
  whole: {
    path: '/v1/chat/completions',
    body: (name) => ({ model: 'mock/m', messages: [{ role: 'user', content: name }] }),
    isWhole: (text) => text.includes('"finish_reason":"stop"'),
  },
  stream: {
    path: '/v1/chat/completions',
    body: (name) => ({ model: 'mock/m', stream: true, messages: [{ role: 'user', content: name }] }),
    isWhole: (text) => text.trimEnd().endsWith('data: [DONE]'),
  },
  // A job, whose caller cannot come back for it.
  image: {
    path: '/v1/image/generate',
    body: (name) => ({ model: 'local/slow-1', prompt: name, seconds: 1 }),
    isWhole: (text) => text.includes('"image_url":'),
  },
  file: {
    path: '/v1/files?filename=name.txt&purpose=user_data',
    body: (name) => ({ name }),
    isWhole: (text) => text.includes('"status":"processed"'),
  },
}

test('callers lose no answer while every process is replaced, and each answer is charged once', async () => {
  const first = await start()
  const { token } = first
  const running = [first, await start()]
  const places: Place[] = running.map(({ address }) => ({ address, leaving: false }))
  const balancer = startBalancer(places)
  const store = await openStore(database)
  const before = await store.ledger.balance('revenue')

  let over = false
  const answers: Record<Kind, number> = { whole: 0, stream: 0, image: 0, file: 0 }
  const isAnswered = (since: typeof answers) =>
    Object.entries(since).every(([kind, count]) => answers[kind as Kind] > count)
  let charged = 0n
  const lost: string[] = []
  const call = async (name: string, kind: Kind): Promise<void> => {
    const { path, body, isWhole } = requests[kind]
    const response = await fetch(balancer.address + path, {
      method: 'POST',
      headers: {
        'content-type': kind === 'file' ? 'text/plain' : 'application/json',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify(body(name)),
    })
    const text = await response.text()
    const isOwn = kind === 'whole' || kind === 'stream' ? text.includes(`"${name}"`) : true
    charged += costOf(kind === 'stream', response, text) ?? 0n
    if (response.ok && isWhole(text) && isOwn) answers[kind]++
    else lost.push(`${name}: ${response.status} ${text.slice(0, 200)}`)
  }
  const callers = CALLERS.map(async (kind, caller) => {
    for (let calls = 0; !over; calls++)
      await call(`call ${caller}.${calls}`, kind).catch((error: unknown) => lost.push(`${kind} ${error}`))
  })

  try {
    for (let replaced = 0; replaced < ROUNDS * 2; replaced++) {
      const next = await start()
      places.push({ address: next.address, leaving: false })
      running.push(next)
      const old = running.shift()
      const since = { ...answers }
      old?.child.kill('SIGTERM')
      expect(await old?.child.exited).toBe(0)
      // Calls go on beside it.
      await until(() => isAnswered(since) || lost.length > 0, 5)
    }
  } finally {
    over = true
    await Promise.all(callers)
  }

  expect(lost).toEqual([])
  expect(balancer.sentElsewhere()).toBeGreaterThanOrEqual(ROUNDS * 2)
  for (const { child } of running) child.kill('SIGTERM')
  for (const { child } of running) expect(await child.exited).toBe(0)
  expect((await store.ledger.balance('revenue')) - before).toBe(charged)
  expect(charged).toBeGreaterThan(0n)
  expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
  await store.close()
  await balancer.stop()
})
