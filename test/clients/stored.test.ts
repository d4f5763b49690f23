/**
 * Clients of the responses style that believe their items stored, with a server that keeps them: every turn works,
 * unchanged.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, type ModelMessage, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { runTool, type ToolName, toolParameters } from './drivers/driver.ts'
import { type FiveVendors, listenWithVendors, modelOf, type VendorId, vendorIds } from './harness.ts'

let it: FiveVendors

beforeAll(async () => {
  it = await listenWithVendors({ responsesKeptMs: 3_600_000 })
})
beforeEach(() => {
  for (const memory of Object.values(it.memories)) {
    memory.signatures.length = 0
    memory.refused.length = 0
  }
})
afterAll(() => it.stop())

const toolFor = (name: ToolName) =>
  tool({
    inputSchema: jsonSchema<Record<string, unknown>>(toolParameters[name]),
    execute: () => runTool(name),
  })
const tools = { get_weather: toolFor('get_weather'), get_time: toolFor('get_time') }
const ways = vendorIds.flatMap((id) => [false, true].map((stream) => [id, stream] as const))

const failureOf = (work: PromiseLike<unknown>): PromiseLike<string> =>
  work.then(
    () => 'it worked',
    (error: unknown) => String((error as Error).message),
  )

/** One turn of the AI SDK: its text, and the messages for the next turn. */
const turn = async (id: VendorId, messages: ModelMessage[], stream: boolean, more: object = {}) => {
  const asked = {
    model: createOpenAI({ baseURL: it.baseURL, apiKey: it.key })(modelOf[id]),
    messages,
    maxRetries: 0,
    stopWhen: stepCountIs(5),
    ...more,
  }
  if (!stream) {
    const { text, response } = await generateText(asked)
    return { text, messages: [...messages, ...response.messages] }
  }
  const result = streamText(asked)
  await result.consumeStream()
  return { text: await result.text, messages: [...messages, ...(await result.response).messages] }
}
const user = (content: string): ModelMessage => ({ role: 'user', content })

test.each(ways)(
  '@ai-sdk/openai to %s, stream %p: a chat of three turns, with its default options',
  async (id, stream) => {
    let messages: ModelMessage[] = []
    for (const prompt of ['One.', 'Two.', 'Three.']) {
      const answer = await turn(id, [...messages, user(prompt)], stream)
      expect(answer.text).toContain(`You said: ${prompt}`)
      messages = answer.messages
    }
    expect(it.memories[id].refused).toEqual([])
  },
)

test.each(ways)(
  '@ai-sdk/openai to %s, stream %p: loops of tools, then another turn, with thoughts',
  async (id, stream) => {
    const providerOptions = {
      openai: { reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true },
    }
    const first = await turn(id, [user('Weather and time, step by step.')], stream, {
      tools,
      providerOptions,
    })
    expect(first.text).toContain('sunny, 21 °C | 12:30')
    const second = await turn(id, [...first.messages, user('Weather and time, please.')], stream, {
      tools,
      providerOptions,
    })
    expect(second.text).toContain('sunny, 21 °C | 12:30')
    const third = await turn(id, [...second.messages, user('Thanks.')], stream, { providerOptions })
    expect(third.text).toContain('You said: Thanks.')
    expect(it.memories[id].refused).toEqual([])
    // Its references include thoughts, and those come back to the vendor that signed them.
    if (id !== 'chat') expect(it.memories[id].signatures.length).toBeGreaterThan(3)
  },
)

test.each(ways)(
  'openai to %s, stream %p: previous_response_id through a loop of tools',
  async (id, stream) => {
    const client = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
    const asked = {
      model: modelOf[id],
      reasoning: { effort: 'low' as const },
      tools: (Object.keys(toolParameters) as ToolName[]).map((name) => ({
        type: 'function' as const,
        name,
        parameters: toolParameters[name],
        strict: true,
      })),
    }
    const send = (more: object): Promise<OpenAI.Responses.Response> =>
      stream
        ? client.responses.stream({ ...asked, ...more }).finalResponse()
        : client.responses.create({ ...asked, ...more, stream: false })
    let answer = await send({ input: 'Weather and time, step by step.' })
    for (let rounds = 0; rounds < 2; rounds++) {
      const [call] = answer.output.filter((item) => item.type === 'function_call')
      if (call === undefined) throw new Error('no call')
      const output = runTool(call.name)
      const input = [{ type: 'function_call_output', call_id: call.call_id, output }]
      answer = await send({ input, previous_response_id: answer.id })
    }
    expect(answer.output_text).toContain('sunny, 21 °C | 12:30')
    const last = await send({ input: 'And now?', previous_response_id: answer.id, tools: [] })
    expect(last.output_text).toContain('You said: And now?')
    expect(it.memories[id].refused).toEqual([])
    const kept = await client.responses.retrieve(last.id)
    expect([kept.output_text, kept.previous_response_id]).toEqual([last.output_text, answer.id])
    await client.responses.delete(answer.id)
    expect(await failureOf(client.responses.retrieve(answer.id))).toStartWith('404')
    expect(await failureOf(send({ input: 'x', previous_response_id: last.id }))).toContain('not kept here')
  },
)

test('openai: the beta forms of its methods read what is stored, too', async () => {
  const { responses } = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 }).beta
  const { id, status } = await responses.create({ model: modelOf.chat, input: 'One.' })
  expect(await responses.retrieve(id)).toMatchObject({ id, status })
  const items = []
  for await (const item of responses.inputItems.list(id, { limit: 1 })) items.push(item.type)
  expect(items).toEqual(['message'])
  await responses.delete(id)
  expect(await failureOf(responses.retrieve(id))).toContain('There is no response')
})
