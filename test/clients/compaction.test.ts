/**
 * Long sessions of official clients: three times the conversation is compacted, each time a tool is used, and at the
 * end the model knows what was said first, with every kind of vendor and in each way to ask.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type FiveVendors, listen, listenWithVendors, modelOf, type VendorId, vendorIds } from './harness.ts'
import { type Script, time } from './vendors/script.ts'

let it: FiveVendors
let client: OpenAI

/** The model knows what it reads, and nothing else. */
const recalling =
  (id: VendorId): Script =>
  ({ prompt, rounds, tools, thinks }) => {
    const known = [...new Set(it.memories[id].request.match(/FACT-\d/g))].sort().join(' ')
    const thinking = thinks ? { thinking: 'NOISE of thinking' } : {}
    if (prompt.startsWith('Write the summary'))
      return { ...thinking, text: `Still valid: ${known}`, calls: [] }
    if (tools.includes('get_time') && rounds.length === 0 && !prompt.endsWith('know?'))
      return { ...thinking, text: 'NOISE before the call', calls: [time] }
    return { ...thinking, text: `NOISE I know ${known}.`, calls: [] }
  }

beforeAll(async () => {
  it = await listenWithVendors({}, recalling)
  client = new OpenAI({ baseURL: it.baseURL, apiKey: it.key, maxRetries: 0 })
})
afterAll(() => it.stop())

type Items = OpenAI.Responses.ResponseInputItem[]
type Way = 'whole' | 'stream' | 'endpoint'

const tools = [
  {
    type: 'function' as const,
    name: 'get_time',
    parameters: { type: 'object', properties: { zone: { type: 'string' } } },
    strict: false,
  },
]
const timeTool = {
  name: 'get_time',
  input_schema: { type: 'object' as const, properties: { zone: { type: 'string' } } },
}
const ON_DEMAND = 'compact-2026-09-04'

const user = (content: string) => ({ role: 'user' as const, content })
const trigger = { type: 'compaction_trigger' as const }

const ask = async (model: string, input: Items, stream: boolean): Promise<OpenAI.Responses.Response> => {
  const body = { model, input, tools, store: false, reasoning: { effort: 'low' as const } }
  return stream ? client.responses.stream(body).finalResponse() : client.responses.create(body)
}

/** One turn in which the model uses a tool. */
const turn = async (model: string, input: Items, stream: boolean): Promise<Items> => {
  const first = await ask(model, input, stream)
  const call = first.output.find((item) => item.type === 'function_call')
  if (call === undefined) throw new Error(`no tool was called: ${JSON.stringify(first.output)}`)
  const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'NOISE of a tool' }
  const then = [...input, ...(first.output as Items), result]
  return [...then, ...((await ask(model, then, stream)).output as Items)]
}

const compact = async (model: string, input: Items, way: Way): Promise<Items> => {
  if (way === 'endpoint') {
    const window = await client.responses.compact({ model, input })
    expect(window.object).toBe('response.compaction')
    expect(window.usage.input_tokens).toBeGreaterThan(0)
    return window.output as Items
  }
  const answer = await ask(model, [...input, trigger], way === 'stream')
  expect(answer.status).toBe('completed')
  return answer.output as Items
}

const session = async (model: string, way: Way): Promise<string> => {
  let items: Items = []
  for (const round of [1, 2, 3]) {
    items = await turn(model, [...items, user(`Remember FACT-${round} and tell the time.`)], way === 'stream')
    items = await compact(model, items, way)
    const kinds = items.map(({ type }) => type)
    const said = way === 'endpoint' ? Array.from({ length: round }, () => 'message' as const) : []
    expect(kinds).toEqual([...said, 'compaction'])
    expect(JSON.stringify(items)).not.toContain('Still valid')
  }
  return (await ask(model, [...items, user('What do you know?')], way === 'stream')).output_text
}

const ways = vendorIds.flatMap((id) =>
  (['whole', 'stream', 'endpoint'] as const).map((way) => [id, way] as const),
)

test.each(ways)('a session of three compactions with a vendor of %s, %s', async (id, way) => {
  const before = await it.server.balance()
  expect(await session(modelOf[id], way)).toBe('NOISE I know FACT-1 FACT-2 FACT-3.')
  expect(it.memories[id].request).toContain('Still valid: FACT-1 FACT-2 FACT-3')
  expect(it.memories[id].request).not.toContain('NOISE')
  expect(it.memories[id].refused).toEqual([])
  // Ten answers of 11 and 7 tokens.
  expect(before - (await it.server.balance())).toBe(10n * (11n * 1_000n + 7n * 10_000n))
})

type Messages = Anthropic.Beta.Messages.BetaMessageParam[]

/** The same in messages: the block that takes the place of the turns can be read, as Anthropic's own can. */
const messagesSession = async (model: string, stream: boolean): Promise<string> => {
  const anthropic = new Anthropic({ baseURL: it.baseURL.slice(0, -3), apiKey: it.key, maxRetries: 0 })
  const say = async (messages: Messages, more: object = {}) => {
    const body = { model, max_tokens: 4_000, messages, tools: [timeTool], betas: [ON_DEMAND], ...more }
    return stream ? anthropic.beta.messages.stream(body).finalMessage() : anthropic.beta.messages.create(body)
  }
  const textOf = ({ content }: Anthropic.Beta.Messages.BetaMessage) =>
    content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  let messages: Messages = []
  for (const round of [1, 2, 3]) {
    messages.push(user(`Remember FACT-${round} and tell the time.`))
    const called = await say(messages)
    const id = called.content.find((block) => block.type === 'tool_use')?.id ?? 'none'
    const result = { type: 'tool_result' as const, tool_use_id: id, content: 'NOISE of a tool' }
    messages.push({ role: 'assistant', content: called.content }, { role: 'user', content: [result] })
    messages.push({ role: 'assistant', content: (await say(messages)).content })
    const made = await say(messages, { compaction: { type: 'summarize' } })
    expect([made.stop_reason, made.content]).toEqual([
      'compaction',
      [expect.objectContaining({ type: 'compaction', content: expect.stringContaining(`FACT-${round}`) })],
    ])
    // In the second round what was compacted stays, as a client of the threshold may leave it.
    const left = round === 2 ? messages : []
    messages = [...left, { role: 'assistant', content: made.content }]
  }
  return textOf(await say([...messages, user('What do you know?')]))
}

test.each(vendorIds.flatMap((id) => [false, true].map((stream) => [id, stream] as const)))(
  'in messages, three compactions on demand with a vendor of %s, stream %p',
  async (id, stream) => {
    const before = await it.server.balance()
    expect(await messagesSession(modelOf[id], stream)).toBe('NOISE I know FACT-1 FACT-2 FACT-3.')
    expect(it.memories[id].request).toContain('Still valid: FACT-1 FACT-2 FACT-3')
    expect(it.memories[id].request).not.toContain('NOISE')
    expect(it.memories[id].refused).toEqual([])
    expect(before - (await it.server.balance())).toBe(10n * (11n * 1_000n + 7n * 10_000n))
  },
)

test('the built-in model compacts as well', async () => {
  const built = await listen()
  const local = new OpenAI({ baseURL: built.baseURL, apiKey: built.key, maxRetries: 0 })
  const model = 'local/echo-1'
  let input: Items = []
  for (const round of [1, 2, 3]) {
    const asked = [...input, user(`Round ${round}.`)]
    const said = await local.responses.create({ model, input: asked })
    expect(said.output_text).toBe(`You said: Round ${round}.`)
    const { output } = await local.responses.compact({ model, input: [...asked, ...(said.output as Items)] })
    input = output as Items
  }
  expect(input.map(({ type }) => type)).toEqual(['message', 'message', 'message', 'compaction'])
  await built.stop()
})
