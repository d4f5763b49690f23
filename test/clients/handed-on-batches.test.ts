/**
 * The official clients of OpenAI, Anthropic and Google run batches of 1,000 lines on models whose vendors take batches, each
 * form on all vendors: every line is answered in the dialect of its caller, once, and charged half, once.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { chatLine, jsonLines } from '../server/batch-rig.ts'
import {
  isOfBatches,
  kinds,
  PART_LINE,
  type PartServer,
  partModels,
  startPartServer,
} from '../server/part-rig.ts'
import { brokenLaws } from '../store/engines.ts'
import { until } from '../until.ts'

const LINES = 1_000
let server: PartServer
let bound: ReturnType<typeof Bun.serve>
let apiKey = ''
let origin = ''

beforeAll(async () => {
  server = await startPartServer({})
  bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  origin = `http://127.0.0.1:${bound.port}`
  apiKey = (await server.newKey()).token
})
afterAll(async () => {
  await bound.stop(true)
  await server.stop()
})

const modelAt = (n: number): string => partModels[kinds[n % kinds.length] ?? 'openai']
/** Runs it, and checks what all batches have in common. */
const charging = async (work: () => Promise<number>): Promise<void> => {
  const before = await server.store.ledger.balance('revenue')
  for (const kind of kinds) server.vendors[kind].asked.length = 0
  const answered = await work()
  expect(answered).toBe(LINES)
  expect((await server.store.ledger.balance('revenue')) - before).toBe(BigInt(LINES) * PART_LINE)
  await until(async () => (await server.store.wallets.wallet(server.wallet))?.held === 0n)
  expect(await brokenLaws(server.store)).toEqual([])
  const live = kinds.flatMap((kind) => server.vendors[kind].asked).filter((asked) => !isOfBatches(asked))
  expect(live).toEqual([])
}

test('openai: a file of lines on models of all vendors', () =>
  charging(async () => {
    const client = new OpenAI({ apiKey, baseURL: `${origin}/v1`, maxRetries: 0 })
    const lines = Array.from({ length: LINES }, (_, n) => chatLine(n, {}, modelAt(n)))
    const file = await client.files.create({
      purpose: 'batch',
      file: await toFile(Buffer.from(jsonLines(lines)), 'lines.jsonl'),
    })
    const asked = {
      input_file_id: file.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    } as const
    let batch = await client.batches.create(asked)
    await until(async () => {
      batch = await client.batches.retrieve(batch.id)
      return batch.status === 'completed'
    })
    const text = await (await client.files.content(batch.output_file_id ?? '')).text()
    const results = text
      .trimEnd()
      .split('\n')
      .map((line): any => JSON.parse(line))
    for (const { custom_id, response } of results) {
      expect(response.body.object).toBe('chat.completion')
      expect(response.body.choices[0].message.content).toContain(`say ${custom_id.slice(5)} `)
    }
    return new Set(results.map(({ custom_id }) => custom_id)).size
  }))

test('@anthropic-ai/sdk: messages on models of all vendors, results decoded', () =>
  charging(async () => {
    const { messages } = new Anthropic({ apiKey, baseURL: origin, maxRetries: 0 })
    const requests = Array.from({ length: LINES }, (_, n) => ({
      custom_id: `line-${n}`,
      params: {
        model: modelAt(n),
        max_tokens: 100,
        messages: [{ role: 'user' as const, content: `say ${n}` }],
      },
    }))
    const { id } = await messages.batches.create({ requests })
    await until(async () => (await messages.batches.retrieve(id)).processing_status === 'ended')
    const seen = new Set<string>()
    for await (const { custom_id, result } of await messages.batches.results(id)) {
      if (result.type !== 'succeeded') throw new Error(JSON.stringify(result))
      expect(result.message.content).toContainEqual(
        expect.objectContaining({
          type: 'text',
          text: expect.stringContaining(`say ${custom_id.slice(5)} `),
        }),
      )
      seen.add(custom_id)
    }
    return seen.size
  }))

test.each(kinds)('@google/genai: inlined requests on a model of %s', (kind) =>
  charging(async () => {
    const { batches } = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: origin } })
    const src = Array.from({ length: LINES }, (_, n) => ({
      contents: `say ${n}`,
      config: { maxOutputTokens: 100 },
      metadata: { key: `line-${n}` },
    }))
    let batch = await batches.create({ model: partModels[kind], src })
    await until(async () => {
      batch = await batches.get({ name: batch.name ?? '' })
      return batch.state === 'JOB_STATE_SUCCEEDED'
    })
    const results = batch.dest?.inlinedResponses ?? []
    for (const [n, { response, metadata }] of results.entries()) {
      expect(metadata?.key).toBe(`line-${n}`)
      expect(response?.candidates?.[0]?.content?.parts?.map(({ text }) => text).join('')).toContain(
        `say ${n} `,
      )
    }
    return results.length
  }),
)
