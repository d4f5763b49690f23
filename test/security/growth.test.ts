/** No body costs more than linear time, in any dialect, before any vendor: the whole path is measured, up to what is sent. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { VendorDialectId } from '../../src/dialects/dialect.ts'
import { mustBeLinear } from '../cpu-growth.ts'
import { oneOf } from '../sample.ts'
import { mockVendor, startTestServer, type TestServer, testModel, USD } from '../server/harness.ts'
import { hostileBodies } from './hostile-bodies.ts'

/** Items of the shorter body. */
const ITEMS = 1_500

/** The dialect that a call passes through to, and the one whose form is furthest from all others. */
const vendorDialects = ['chat', 'gemini', 'interactions'] as const satisfies readonly VendorDialectId[]
const more = { contextTokens: 10_000_000 }
let server: TestServer

beforeAll(async () => {
  const refusing = () => Promise.resolve(Response.json({ error: { message: 'no' } }, { status: 400 }))
  server = await startTestServer({
    fund: 1_000_000n * USD,
    options: { bodyBytesMax: 20_000_000 },
    models: [
      ...vendorDialects.map((vendor) => testModel('small', { id: `${vendor}/small`, vendor, ...more })),
      testModel('embed', {
        id: 'chat/embed',
        vendor: 'chat',
        kind: 'embeddings',
        maxOutputTokens: 0,
        ...more,
      }),
    ],
    more: vendorDialects.map((speaks) => ({
      vendor: { ...mockVendor, id: speaks, ...(speaks === 'chat' ? {} : { speaks }) },
      baseUrl: mockVendor.baseUrl,
      secrets: [],
      fetch: refusing,
    })),
  })
})

afterAll(() => server.stop())

const paths = {
  chat: () => '/v1/chat/completions',
  messages: () => '/v1/messages',
  gemini: (model: string) => `/v1beta/models/${model}:generateContent`,
  responses: () => '/v1/responses',
  interactions: () => '/v1beta/interactions',
  cohere: () => '/v2/chat',
  ollama: () => '/api/chat',
  embeddings: () => '/v1/embeddings',
} as const

/** Each body goes before one vendor, and the next before the next; in CI each before all. */
const vendorsOf = (dialect: string, at: number): readonly (typeof vendorDialects)[number][] => {
  if (dialect === 'embeddings') return ['chat']
  return oneOf(vendorDialects.length, vendorDialects, at)
}

const cases = Object.entries(hostileBodies).flatMap(([dialect, families]) =>
  Object.entries(families).flatMap(([name, body], at) =>
    vendorsOf(dialect, at).map((speaks) => ({ dialect: dialect as keyof typeof paths, speaks, name, body })),
  ),
)

test.each(cases)('$dialect before $speaks: $name', async ({ dialect, speaks, body }) => {
  const model = `${speaks}/${dialect === 'embeddings' ? 'embed' : 'small'}`
  const send = async (n: number) => {
    const made = body(n)
    const head = JSON.stringify({ model, max_tokens: 100 })
    const text =
      typeof made === 'string'
        ? `${head.slice(0, -1)},${made.slice(1)}`
        : JSON.stringify({
            ...(dialect === 'chat' || dialect === 'messages' ? JSON.parse(head) : { model }),
            ...made,
          })
    // Nothing here waits for a network: without this the timers of the book would have no turn.
    await Bun.sleep(1)
    const response = await server.post(paths[dialect](model), text)
    await response.arrayBuffer()
    expect(response.status).not.toBe(500)
  }
  await mustBeLinear(send, ITEMS)
})
