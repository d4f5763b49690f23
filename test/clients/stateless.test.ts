/**
 * Clients of the responses style that believe their items stored: what works without a store, and what the refusals
 * say.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, type ModelMessage, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { type FiveVendors, listenWithVendors, modelOf, vendorIds } from './harness.ts'

let it: FiveVendors

beforeAll(async () => {
  it = await listenWithVendors({ responsesKeptMs: 0 })
})

afterAll(() => it.stop())

const lookup = (name: string) =>
  tool({ description: name, inputSchema: jsonSchema({ type: 'object' }), execute: () => `from ${name}` })
const tools = { get_weather: lookup('get_weather'), get_time: lookup('get_time') }

const model = (id: string) => createOpenAI({ baseURL: it.baseURL, apiKey: it.key })(id)
const asked = (id: string, prompt: string) => ({
  model: model(id),
  prompt,
  tools,
  maxRetries: 0,
  stopWhen: stepCountIs(5),
})

const failure = async (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => {
      throw new Error('it worked')
    },
    (error: Error) => error,
  )

test.each(vendorIds)(
  '@ai-sdk/openai to %s: a loop with a text before its calls needs store: false',
  async (id) => {
    const { message } = await failure(generateText(asked(modelOf[id], 'Weather and time, please.')))
    expect(message).toContain("'store: false' in the request (openai), in 'providerOptions.openai' (AI SDK)")
    const errors: unknown[] = []
    const result = streamText({
      ...asked(modelOf[id], 'Weather and time, please.'),
      onError: ({ error }) => {
        errors.push(error)
      },
    })
    await result.consumeStream()
    expect(String(errors[0])).toContain('providerOptions.openai')
    const { text } = await generateText({
      ...asked(modelOf[id], 'Weather and time, please.'),
      providerOptions: { openai: { store: false } },
    })
    expect(text).toContain('from get_weather | from get_time')
  },
)

test.each(vendorIds)(
  '@ai-sdk/openai to %s: a loop whose thoughts it believes stored goes on without them',
  async (id) => {
    const itemId = 'rs_earlier_0'
    const called = { toolCallId: 'call_1', toolName: 'get_weather' }
    const messages: ModelMessage[] = [
      { role: 'user', content: 'Weather and time, please.' },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { openai: { itemId } } },
          {
            type: 'tool-call',
            ...called,
            input: {},
            providerOptions: { openai: { itemId: 'fc_earlier_1' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', ...called, output: { type: 'text', value: 'all sunny' } }],
      },
    ]
    const { text, response } = await generateText({
      model: model(modelOf[id]),
      messages,
      tools,
      maxRetries: 0,
    })
    // Named only where a reference came.
    expect([text, response.headers?.['x-not-carried']]).toEqual(['The tools say: all sunny', 'thinking'])
  },
)

test('openai: previous_response_id is refused with what to send instead', async () => {
  const client = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
  const first = await client.responses.create({ model: modelOf.chat, input: 'Hello' })
  const input = 'And now?'
  const next = client.responses.create({ model: modelOf.chat, input, previous_response_id: first.id })
  const { message } = await failure(next)
  expect(message).toContain("leave 'previous_response_id' out and send in 'input' the whole conversation")
  const whole = await client.responses.create({
    model: modelOf.chat,
    input: [
      { role: 'user', content: 'Hello' },
      ...(first.output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user', content: input },
    ],
  })
  expect(whole.output_text).toContain('You said: And now?')
})
