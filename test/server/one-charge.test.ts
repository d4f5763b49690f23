/** Law: one answer of a vendor costs the same in all eight styles of callers, whole and streamed. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Usage } from '../../src/core/usage.ts'
import { callerDialects } from '../../src/dialects/index.ts'
import type { Reply } from '../../src/dialects/neutral.ts'
import { billed, context, type SharedDialectId, stepsOf, streamOf } from '../dialects/steps.ts'
import { startTestServer, streaming, testModel } from './harness.ts'

const speaking: readonly SharedDialectId[] = ['chat', 'messages', 'gemini', 'responses', 'interactions']
const asking = [...speaking, 'completions', 'cohere', 'ollama'] as const

/** Each class has a price of its own, and so has the call. */
const price = {
  rates: { input: 1_000_000, cache_read: 300_000, output: 10_000_000, reasoning: 7_000_000, call: 5_000_000 },
  tiers: [{ aboveInputTokens: 500, rates: { input: 2_000_000 } }],
  version: 'test-1',
}
const half = { ...price, rates: { ...price.rates, input: 500_000, output: 5_000_000 } }
const models = [
  testModel('small', { price }),
  testModel('small', { id: 'mock/smalll', price, cheaper: { tier: 'flex', price: half } }),
]

/** The same question in each style. */
const askAs = (model: string, stream: boolean) =>
  ({
    chat: [
      '/v1/chat/completions',
      { model, stream, max_tokens: 2_000, messages: [{ role: 'user', content: 'hi' }] },
    ],
    messages: [
      '/v1/messages',
      { model, stream, max_tokens: 2_000, messages: [{ role: 'user', content: 'hi' }] },
    ],
    gemini: [
      `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 2_000 } },
    ],
    responses: ['/v1/responses', { model, stream, max_output_tokens: 2_000, input: 'hi' }],
    interactions: [
      '/v1beta/interactions',
      { model, stream, generation_config: { max_output_tokens: 2_000 }, input: 'hi' },
    ],
    completions: ['/v1/completions', { model, stream, max_tokens: 2_000, prompt: 'hi' }],
    cohere: ['/v2/chat', { model, stream, max_tokens: 2_000, messages: [{ role: 'user', content: 'hi' }] }],
    ollama: [
      '/api/chat',
      { model, stream, options: { num_predict: 2_000 }, messages: [{ role: 'user', content: 'hi' }] },
    ],
  }) as const

/** A vendor's answer, whole and as the events of a stream. */
type Answer = { readonly whole: object; readonly events: string }

const eventOf = (value: object) => `data: ${JSON.stringify(value)}\n\n`

/** What the vendor of a dialect answers: the words, the counts, and the tier that it says it served. */
const answerIn = (
  speaks: SharedDialectId,
  usage: Usage,
  reply: Omit<Reply, 'usage'>,
  tier?: string,
): Answer => {
  const { writeReply, streamWriter } = callerDialects[speaks]
  const whole: any = writeReply({ ...reply, usage }, context())
  const bytes = streamOf(stepsOf(reply), streamWriter(context(), false), {
    ...billed,
    usage: { input: 0, output: 0, ...usage },
  })
  const events = new TextDecoder().decode(bytes)
  if (tier === undefined || speaks === 'messages') return { whole, events }
  const told = `"service_tier":"${tier}"`
  if (speaks === 'gemini') {
    whole.usageMetadata.serviceTier = tier
    return {
      whole,
      events: events.replaceAll('"usageMetadata":{', `"usageMetadata":{"serviceTier":"${tier}",`),
    }
  }
  return {
    whole: { ...whole, service_tier: tier },
    events: events.replaceAll(/^data: \{/gm, `data: {${told},`),
  }
}

const usage = fc.tuple(fc.nat(900), fc.nat(300), fc.integer({ min: 1, max: 900 }), fc.nat(300)).map(
  ([input, cached, output, reasoning]): Usage => ({
    input: input + 1,
    cache_read: cached,
    output,
    reasoning,
  }),
)

const reply = fc.record({
  id: fc.constant('a1'),
  model: fc.constant('small'),
  choices: fc
    .record({
      text: fc.constantFrom('hello', 'a longer answer of some words', '你好'),
      finish: fc.constantFrom('stop' as const, 'length' as const, 'content_filter' as const),
    })
    .map(({ text, finish }) => [{ parts: [{ type: 'text' as const, text }], finish }]),
})

/** What each style's caller pays for the same answer of a vendor that speaks this dialect, whole and streamed. */
const costsOf = async (speaks: SharedDialectId) => {
  const server = await startTestServer({ models, vendor: { speaks } })
  const paid = async (model: string, { whole, events }: Answer) => {
    const costs: Record<string, bigint> = {}
    for (const stream of [false, true])
      for (const style of asking) {
        const [path, body] = askAs(model, stream)[style]
        server.answerWith(() => (stream ? streaming([events]) : Response.json(whole)))
        const before = await server.balance()
        await (await server.post(path, body)).text()
        while (server.openCalls() > 0) await Bun.sleep(1)
        costs[`${style}${stream ? ', streamed' : ''}`] = before - (await server.balance())
      }
    return costs
  }
  return { paid, stop: () => server.stop() }
}

const allOf = (cost: bigint) =>
  Object.fromEntries([...asking, ...asking.map((one) => `${one}, streamed`)].map((one) => [one, cost]))

test.each(speaking)(
  'law: an answer of a vendor that speaks %s costs the same in all styles',
  async (speaks) => {
    const { paid, stop } = await costsOf(speaks)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('mock/small', 'mock/smalll'),
        usage,
        reply,
        fc.constantFrom(undefined, 'flex', 'default', 'standard', 'priority'),
        async (model, counted, said, tier) => {
          const costs = await paid(model, answerIn(speaks, counted, said, tier))
          expect(costs).toEqual(allOf(costs.chat ?? 0n))
          expect((costs.chat ?? 0n) > 0n).toBe(true)
        },
      ),
      { numRuns: 8 },
    )
    await stop()
  },
)

test('a prompt that the vendor blocked before any answer costs nothing in any style', async () => {
  const { paid, stop } = await costsOf('gemini')
  for (const counts of [{}, { usageMetadata: { promptTokenCount: 1_000, totalTokenCount: 1_000 } }]) {
    const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...counts }
    expect(await paid('mock/small', { whole: blocked, events: eventOf(blocked) })).toEqual(allOf(0n))
  }
  await stop()
  const responses = await costsOf('responses')
  const error = { code: 'content_policy_violation', message: 'no' }
  const failed = { id: 'resp_1', object: 'response', status: 'failed', error, output: [], model: 'small' }
  const usage = { input_tokens: 1_000, output_tokens: 0, total_tokens: 1_000 }
  const answer = { ...failed, usage }
  const events = eventOf({ type: 'response.failed', sequence_number: 0, response: answer })
  expect(await responses.paid('mock/small', { whole: answer, events })).toEqual(allOf(0n))
  await responses.stop()
})
