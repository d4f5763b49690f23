/**
 * The turns of a conversation meet the same key of their vendor, whose cache of prompts then knows all but the last turn:
 * in every dialect, with any number of keys, in several processes, and after a key rested.
 */
import { afterEach, expect, test } from 'bun:test'
import { newPromptCache } from '../agents/prompt-cache.ts'
import { serverEngines } from '../store/engines.ts'
import { completion, startTestServer, type TestServer, testModel, type VendorRequest } from './harness.ts'

const servers: TestServer[] = []
const databases: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
  for (const database of databases.splice(0)) await database.stop()
})

/** A ledger for so many processes. */
const ledger = async (processes: number): Promise<string> => {
  if (processes === 1) return 'sqlite::memory:'
  const engine = serverEngines.find(({ name }) => name === 'PostgreSQL')
  if (engine === undefined) throw new Error('there is no PostgreSQL')
  const database = await engine.fresh()
  databases.push(database)
  return database.url
}

const TURNS = 6
const TALKS = 9
/** A turn of about 600 tokens. */
const words = (talk: number, turn: number) => `${talk}:${turn} `.repeat(400)

/** A vendor whose keys have a cache each, for all processes. */
const cachingVendor = () => {
  const caches = new Map<string, ReturnType<typeof newPromptCache>>()
  const seen = { input: 0, cached: 0 }
  let refuses: string | undefined
  const answer = ({ headers, body }: VendorRequest) => {
    const key = headers.get('authorization') ?? ''
    if (key === refuses) return new Response('{}', { status: 429, headers: { 'retry-after': '1' } })
    const cache = caches.get(key) ?? newPromptCache('chat')
    caches.set(key, cache)
    const { input, cacheRead } = cache.read(String(body.model), body)
    seen.input += input + cacheRead
    seen.cached += cacheRead
    return completion('ok', {
      prompt_tokens: input + cacheRead,
      prompt_tokens_details: { cached_tokens: cacheRead },
      completion_tokens: 1,
    } as never)
  }
  return {
    answer,
    hitRate: () => seen.cached / seen.input,
    keysUsed: () => caches.size,
    refuse: (key: string | undefined) => {
      refuses = key
    },
  }
}

const start = async (
  vendor: ReturnType<typeof cachingVendor>,
  keys: number,
  url: string,
): Promise<TestServer> => {
  const secrets = Array.from({ length: keys }, (_key, at) => `key-${at}`)
  const server = await startTestServer({
    url,
    secrets,
    models: [testModel('small', { contextTokens: 1_000_000 } as never)],
    options: { bufferBytesMax: 1_000_000_000 },
  })
  server.answerWith(vendor.answer)
  servers.push(server)
  return server
}

type Style = 'chat' | 'messages' | 'responses'
const requests: Readonly<Record<Style, (turns: readonly object[]) => readonly [string, object]>> = {
  chat: (messages) => ['/v1/chat/completions', { model: 'mock/small', messages }],
  messages: (messages) => ['/v1/messages', { model: 'mock/small', max_tokens: 9, messages }],
  responses: (input) => ['/v1/responses', { model: 'mock/small', store: false, input }],
}

const talkAll = async (processes: readonly TestServer[], style: Style, before?: (turn: number) => void) => {
  const { token } = (await processes[0]?.newKey()) ?? { token: '' }
  const talks = Array.from({ length: TALKS }, (): object[] => [])
  for (let turn = 0; turn < TURNS; turn++) {
    before?.(turn)
    for (const [at, talk] of talks.entries()) {
      talk.push({ role: 'user', content: words(at, turn) })
      const server = processes[(at + turn) % processes.length] as TestServer
      const answer = await server.post(...requests[style](talk), {}, token)
      expect(answer.status).toBe(200)
      talk.push({ role: 'assistant', content: 'ok' })
    }
  }
}

const rateWith = async (keys: number, style: Style, processes = 1): Promise<number> => {
  const vendor = cachingVendor()
  const url = await ledger(processes)
  const all = await Promise.all(Array.from({ length: processes }, () => start(vendor, keys, url)))
  await talkAll(all, style)
  if (keys > 1) expect(vendor.keysUsed()).toBeGreaterThan(Math.min(keys, TALKS) / 3)
  return vendor.hitRate()
}

test.each([
  [3, 'chat', 1],
  [10, 'messages', 3],
  [30, 'responses', 3],
] as const)(
  '%i keys, callers of %s, %i processes: as many hits as with one key',
  async (keys, style, processes) => {
    const alone = await rateWith(1, style)
    expect(alone).toBeGreaterThan(0.5)
    expect(await rateWith(keys, style, processes)).toBeGreaterThan(0.97 * alone)
  },
)

test('a key that rests loses its own conversations for a while, and no other does', async () => {
  const alone = await rateWith(1, 'chat')
  const vendor = cachingVendor()
  const server = await start(vendor, 3, await ledger(1))
  await talkAll([server], 'chat', (turn) => vendor.refuse(turn === 3 ? 'Bearer key-1' : undefined))
  expect(vendor.hitRate()).toBeGreaterThan(0.7 * alone)
})
