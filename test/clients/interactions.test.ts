/**
 * Google's own client with state at the server: conversations that go on by the name of an interaction, with every vendor;
 * interactions that are read, deleted, and made in the background.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { GoogleGenAI, Interactions } from '@google/genai'
import { until } from '../until.ts'
import { runTool, toolParameters } from './drivers/driver.ts'
import { gathered, once, openGoogle } from './drivers/google-interactions.ts'
import { type FiveVendors, listenWithVendors, modelOf, type VendorId, vendorIds } from './harness.ts'

let it: FiveVendors
let client: GoogleGenAI

beforeAll(async () => {
  it = await listenWithVendors({ responsesKeptMs: 3_600_000 })
  client = openGoogle(it)
})
afterAll(() => it.stop())

const tools = (['get_weather', 'get_time'] as const).map((name) => ({
  type: 'function' as const,
  name,
  parameters: toolParameters[name],
}))

type Turn = { readonly id: string; readonly steps: readonly any[] }

/** One turn, whole or streamed. */
const turn = async (id: VendorId, input: any, stream: boolean, more: object = {}): Promise<Turn> => {
  const asked = { model: modelOf[id], input, ...more }
  return stream
    ? gathered(await client.interactions.create({ ...asked, stream: true }, once))
    : client.interactions.create(asked, once)
}

const textOf = ({ steps }: Turn): string =>
  steps
    .flatMap((step) => (step.type === 'model_output' ? step.content.map(({ text }: any) => text) : []))
    .join('')

const ways = vendorIds.flatMap((id) => [false, true].map((stream) => [id, stream] as const))

test.each(ways)(
  '%s, stream %p: a loop of tools and another turn go on by name, with thoughts',
  async (id, stream) => {
    const memory = it.memories[id]
    memory.refused.length = 0
    const thinks = { generation_config: { thinking_level: 'low', thinking_summaries: 'auto' }, tools }
    let last = await turn(id, 'Weather and time, step by step.', stream, thinks)
    for (let round = 0; round < 2; round++) {
      const calls = last.steps.filter(({ type }) => type === 'function_call')
      expect(calls.map(({ name }) => name)).toEqual([round === 0 ? 'get_weather' : 'get_time'])
      const results = calls.map((call) => ({
        type: 'function_result',
        call_id: call.id,
        name: call.name,
        result: runTool(call.name),
      }))
      last = await turn(id, results, stream, { ...thinks, previous_interaction_id: last.id })
    }
    expect(textOf(last)).toBe('The tools say: sunny, 21 °C | 12:30')
    const next = await turn(id, 'And now?', stream, { previous_interaction_id: last.id })
    expect(textOf(next)).toContain('You said: And now?')
    expect(memory.request).toContain('Weather and time, step by step.')
    expect(memory.request).toContain('sunny, 21 °C')
    expect(memory.refused).toEqual([])
  },
)

test('a conversation moves from vendor to vendor by name', async () => {
  let last: Turn | undefined
  for (const [at, id] of vendorIds.entries()) {
    const more = last === undefined ? {} : { previous_interaction_id: last.id }
    last = await turn(id, `Word ${at}.`, at % 2 === 0, more)
    for (let before = 0; before <= at; before++) expect(it.memories[id].request).toContain(`Word ${before}.`)
  }
})

const model = modelOf.messages
const failureOf = (work: Promise<unknown>): Promise<any> =>
  work.then(
    () => 'it worked',
    (error: unknown) => error,
  )

test('an interaction is read, with what was sent for it, and deleted', async () => {
  const made = await client.interactions.create({ model, input: 'Hello.' }, once)
  expect(made).toMatchObject({ status: 'completed', model: expect.any(String), created: expect.anything() })
  expect(made.output_text).toContain('You said: Hello.')
  const read = await client.interactions.get(made.id)
  expect([read.id, read.output_text, read.status]).toEqual([made.id, made.output_text, 'completed'])
  expect(read.usage).toMatchObject({
    total_input_tokens: 11,
    total_output_tokens: 7,
    cost: expect.any(Number),
  })
  expect(read).not.toHaveProperty('input')
  const whole = await client.interactions.get(made.id, { include_input: true })
  expect(whole.input).toEqual([{ type: 'user_input', content: [{ type: 'text', text: 'Hello.' }] }])
  await client.interactions.delete(made.id)
  const gone = await failureOf(client.interactions.get(made.id))
  expect([gone.status ?? gone.statusCode, gone.message]).toEqual([
    404,
    expect.stringContaining('interaction'),
  ])
  const after = await failureOf(turn('messages', 'And?', false, { previous_interaction_id: made.id }))
  expect([after.status ?? after.statusCode, after.message]).toEqual([400, expect.stringContaining(made.id)])
})

test('with store: false nothing is kept', async () => {
  const made = await client.interactions.create({ model, input: 'Hello.', store: false }, once)
  expect((await failureOf(client.interactions.get(made.id))).message).toContain('nobody asked to keep it')
})

test('in the background: read until it has ended, followed as a stream, taken up after an event', async () => {
  const begun = await client.interactions.create({ model, input: 'Hello.', background: true }, once)
  expect(begun.status as string).toBe('queued')
  await until(async () => (await client.interactions.get(begun.id)).status === 'completed')
  expect((await client.interactions.get(begun.id)).output_text).toContain('You said: Hello.')

  const stream = await client.interactions.create(
    { model, input: 'Hello.', background: true, stream: true },
    once,
  )
  const events: Interactions.InteractionSSEEvent[] = []
  for await (const event of stream) events.push(event)
  const numbers = events.map(({ event_id }) => Number(event_id))
  expect(numbers).toEqual(numbers.map((_, at) => at))
  const id = (events[0] as any).interaction.id
  const rest = []
  const again = await client.interactions.get(id, { stream: true, last_event_id: '2' })
  for await (const event of again) rest.push(event)
  expect(rest).toEqual(events.slice(3))
  expect((events.at(-1) as any).interaction).toMatchObject({
    id,
    status: 'completed',
    steps: expect.any(Array),
  })
  const next = await turn('chat', 'And?', false, { previous_interaction_id: id })
  expect(it.memories.chat.request).toContain('Hello.')
  expect(textOf(next)).toContain('And?')
})

test('one in the background is cancelled', async () => {
  const begun = await client.interactions.create({ model, input: 'Hello.', background: true }, once)
  const stopped = await client.interactions.cancel(begun.id)
  expect(['cancelled', 'completed']).toContain(stopped.status as string)
})

test('what is not sold is refused by name, in the shape that the client reads', async () => {
  const refused: readonly (readonly [string, object])[] = [
    ['agent', { agent: 'deep-research-preview-04-2026', model: undefined, background: true }],
    ['environment', { environment: { type: 'remote' } }],
    ['cached_content', { cached_content: 'cachedContents/x' }],
    ['webhook_config', { webhook_config: { uris: ['https://example.com'] } }],
    ['url_context', { tools: [{ type: 'url_context' }] }],
    ['input[0]', { input: [{ role: 'user', content: 'hi' }] }],
  ]
  for (const [name, more] of refused) {
    const error = await failureOf(client.interactions.create({ model, input: 'hi', ...more } as any, once))
    expect([name, error.status ?? error.statusCode, error.error?.error?.code]).toEqual([
      name,
      400,
      'invalid_parameter',
    ])
    expect(error.message).toContain(name)
  }
})

test('an interaction belongs to its key, and is no response', async () => {
  const made = await client.interactions.create({ model, input: 'Hello.' }, once)
  const other = openGoogle({ baseURL: it.baseURL, key: (await it.server.newKey()).token })
  expect((await failureOf(other.interactions.get(made.id))).message).toContain('not yours')
  const { status } = await it.server.get(`/v1/responses/${made.id}`, it.key)
  expect(status).toBe(404)
  const asked = { model, input: 'x', previous_response_id: made.id }
  expect((await it.server.send('POST', '/v1/responses', asked, it.key)).status).toBe(400)
  const response: any = await (
    await it.server.send('POST', '/v1/responses', { model, input: 'x' }, it.key)
  ).json()
  expect((await failureOf(client.interactions.get(response.id))).message).toContain('no interaction')
})
