/**
 * Compactions over the wire of the responses style: who may open one, what a vendor is sent in its place, and what it
 * costs. Whole sessions with an official client are in test/clients/compaction.test.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { messageItem, response, responseEvents } from '../dialects/responses-vendor.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import {
  completion,
  hashOf,
  jsonOf,
  mockSetup,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
} from './harness.ts'
import { before } from './speaking.ts'

const user = (content: string) => ({ type: 'message', role: 'user', content })
const trigger = { type: 'compaction_trigger' }
const models = [testModel('small'), testModel('other')]

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ models })
})
afterAll(async () => {
  const broken = await brokenLaws(server.store)
  await server.stop()
  expect(broken).toEqual([])
})

const ask = (to: TestServer, input: readonly object[], more: object = {}, token?: string, headers = {}) =>
  to.post('/v1/responses', { model: 'mock/small', store: false, input, ...more }, headers, token)

/** The compaction of a conversation, whose summary is this text. */
const compaction = async (to: TestServer, summary: string, token?: string): Promise<any> => {
  to.answerWith(() => completion(summary))
  const { output } = await jsonOf(await ask(to, [user('one'), trigger], {}, token))
  return output[0]
}

const refusal = async (answer: Response) => [answer.status, (await jsonOf(answer)).error.param]

/** What the chat vendor was told last. */
const told = (to: TestServer) =>
  (to.asked.at(-1)!.body.messages as any[]).map(({ role, content }) => [role, content])

const INTRODUCTION =
  'The turns before this point were replaced by this summary of them. Continue from it:\n\n'

test('the model is asked for a summary, with its tools but free to use none, and the answer is one sealed item', async () => {
  server.answerWith(() => completion('what matters'))
  const before = await server.balance()
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
  const answer = await ask(server, [user('one'), trigger], {
    tools,
    tool_choice: 'required',
    text: { format: { type: 'json_object' } },
  })
  const { status, output, usage } = await jsonOf(answer)
  expect([answer.status, status, output]).toEqual([
    200,
    'completed',
    [{ id: expect.stringMatching(/^cmp_/), type: 'compaction', encrypted_content: expect.any(String) }],
  ])
  expect(JSON.stringify(output)).not.toContain('what matters')
  const { messages, tool_choice, response_format } = server.asked.at(-1)!.body as any
  expect([messages[0].content, messages[1].content.slice(0, 34)]).toEqual([
    'one',
    'Write the summary that will take t',
  ])
  expect([messages.length, tool_choice, response_format]).toEqual([2, 'none', undefined])
  expect(usage).toMatchObject({ input_tokens: 10, output_tokens: 5, cost: 0.00006 })
  expect(answer.headers.get('x-receipt')).toBeTruthy()
  expect(before - (await server.balance())).toBe(60_000n)
})

test('a stream gives signs of life, then the item; nothing of the summary is in it', async () => {
  server.answerWith(() => streaming(streamEvents(['what ', 'matters'])))
  const text = await (await ask(server, [user('one'), trigger], { stream: true })).text()
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''))
  expect(events.map(({ type }) => type)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.compaction.compacting',
    'response.compaction.compacting',
    'response.output_item.done',
    'response.completed',
  ])
  const { item } = events[5]
  expect(events[6].response.output).toEqual([item])
  expect(text).not.toContain('matters')
  server.answerWith(() => completion('hello'))
  expect((await ask(server, [item, user('two')])).status).toBe(200)
  expect(told(server)).toEqual([
    ['user', `${INTRODUCTION}what matters`],
    ['user', 'two'],
  ])
})

test('a vendor that answers a stream in one piece gives the item as a stream', async () => {
  server.answerWith(() => completion('what matters'))
  const text = await (await ask(server, [user('one'), trigger], { stream: true })).text()
  expect(text).toContain('"type":"response.output_item.done"')
  expect(text).toContain('"type":"compaction"')
  expect(text).toContain('event: response.completed')
  expect(text).not.toContain('matters')
})

test('an item opens for its key under each of its values and for its model, for no other, and not when changed', async () => {
  const mine = await server.newKey()
  const item = await compaction(server, 'secret plan', mine.token)
  const others = await server.newKey()
  const asked = server.asked.length
  const field = 'input[1].encrypted_content'
  const changed = (at: number) => {
    const letters = [...item.encrypted_content]
    letters[at] = letters[at] === 'A' ? 'B' : 'A'
    return { ...item, encrypted_content: letters.join('') }
  }
  const trying = async (one: object, more: object, token: string) =>
    refusal(await ask(server, [user('hi'), one], more, token))
  expect(await trying(item, {}, others.token)).toEqual([400, field])
  expect(await trying(item, { model: 'mock/other' }, mine.token)).toEqual([400, field])
  const { length } = item.encrypted_content
  for (const at of [25, 40, length - 2])
    expect(await trying(changed(at), {}, mine.token)).toEqual([400, field])
  const cut = { ...item, encrypted_content: item.encrypted_content.slice(0, 30) }
  expect(await trying(cut, {}, mine.token)).toEqual([400, field])
  expect(server.asked.length).toBe(asked)
  const next = await server.newKey({}, { replaces: mine.id })
  expect((await ask(server, [item, user('go on')], {}, next.token)).status).toBe(200)
  expect(told(server)[0]).toEqual(['user', `${INTRODUCTION}secret plan`])
})

test('an item is opened under the secret before, and not under a third', async () => {
  const old = hashOf('old')
  const made = await startTestServer({ models, hash: old })
  const item = await compaction(made, 'kept')
  const sealedFor = await made.newKey()
  const own = await compaction(made, 'kept', sealedFor.token)
  await made.stop()
  for (const [hash, status] of [
    [hashOf('new', old), 200],
    [hashOf('new'), 400],
  ] as const) {
    const moved = await startTestServer({ models, hash })
    const key = await moved.newKey({}, { id: sealedFor.id })
    expect((await ask(moved, [own, user('go on')], {}, key.token)).status).toBe(status)
    expect((await ask(moved, [item, user('go on')], {}, key.token)).status).toBe(400)
    await moved.stop()
  }
})

test.each([
  [[trigger], 'input'],
  [[user('one'), trigger, user('two')], 'input[1].type'],
  [[user('one'), { type: 'compaction', encrypted_content: 'gAAAA' }], 'input[1].encrypted_content'],
])('%j is refused by name before anything is asked', async (input, param) => {
  const asked = server.asked.length
  const answer = await ask(server, input)
  expect(await refusal(answer)).toEqual([400, param])
  expect(server.asked.length).toBe(asked)
})

test("the choice of tools stays where the vendor's cache depends on it, unless it forces a tool", () =>
  before(
    'messages',
    async (marking) => {
      const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
      for (const [tool_choice, sent] of [
        [undefined, undefined],
        ['auto', { type: 'auto' }],
        ['required', { type: 'none' }],
      ]) {
        expect((await ask(marking, [user('one'), trigger], { tools, tool_choice })).status).toBe(200)
        expect(marking.asked.at(-1)!.body.tool_choice).toEqual(sent as never)
      }
    },
    { vendor: { cacheMarks: true } },
  ))

test.each([false, true])('a model that goes on with the work wrote no summary, stream %p', async (stream) => {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const said = { role: 'assistant', content: 'I will look.', tool_calls: [call] }
  const chunk = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'small', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  server.answerWith(() =>
    stream
      ? streaming([chunk(said, null), chunk({}, 'tool_calls'), 'data: [DONE]\n\n'])
      : Response.json({
          ...{ id: 'c', object: 'chat.completion', created: 1, model: 'small' },
          choices: [{ index: 0, message: said, finish_reason: 'tool_calls' }],
        }),
  )
  const answer = await ask(server, [user('one'), trigger], { stream })
  const text = await answer.text()
  expect([answer.status, text.includes(stream ? 'event: response.failed' : 'upstream_error')]).toEqual([
    stream ? 200 : 503,
    true,
  ])
})

test('an answer without a summary is a fault of the vendor, whole and streamed; caps bind as for any call', async () => {
  server.answerWith(() => completion(' \n'))
  const empty = await ask(server, [user('one'), trigger])
  expect([empty.status, (await jsonOf(empty)).error.code]).toEqual([503, 'upstream_error'])
  server.answerWith(() => streaming(streamEvents([' ', ' '])))
  const text = await (await ask(server, [user('one'), trigger], { stream: true })).text()
  expect(text).toContain('event: response.failed')
  expect(text).toContain('failed in the middle of its answer')
  const asked = server.asked.length
  const dear = await ask(server, [user('one'), trigger], {}, undefined, { 'x-max-cost-usd': '0.0001' })
  expect([dear.status, (await jsonOf(dear)).error.code]).toEqual([402, 'max_cost_exceeded'])
  expect(server.asked.length).toBe(asked)
})

test('a summary that is cut by its bound is given as what it is', async () => {
  server.answerWith(() =>
    Response.json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'small',
      choices: [{ index: 0, message: { role: 'assistant', content: 'half of' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    }),
  )
  const { status, incomplete_details, output } = await jsonOf(
    await ask(server, [user('one'), trigger], { max_output_tokens: 20 }),
  )
  expect([status, incomplete_details, output[0].type]).toEqual([
    'incomplete',
    { reason: 'max_output_tokens' },
    'compaction',
  ])
})

test('the tokens of an input are counted with the summary in it, and of one that is to be compacted', async () => {
  const item = await compaction(server, 'word '.repeat(400))
  const count = async (input: readonly object[]) =>
    (await jsonOf(await server.post('/v1/responses/input_tokens', { model: 'mock/small', input })))
      .input_tokens
  expect(await count([item, user('hi')])).toBeGreaterThan(400)
  expect(await count([user('hi'), trigger])).toBeGreaterThan((await count([user('hi')])) + 50)
  const answer = await server.post('/v1/responses/input_tokens', {
    model: 'mock/other',
    input: [item, user('hi')],
  })
  expect(await refusal(answer)).toEqual([400, 'input[0].encrypted_content'])
})

describe('a vendor that compacts by itself', () => {
  const made = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAAA-of-vendor' }
  const whole = response([made])
  const plain = mockSetup({ id: 'plain', speaks: 'responses' }, async () =>
    Response.json(response([messageItem('hi')])),
  )
  let native: TestServer
  beforeAll(async () => {
    native = await startTestServer({
      vendor: { speaks: 'responses', compacts: 'mock' },
      models: [
        ...models,
        testModel('plain', { id: 'plain/one', vendor: 'plain' }),
        testModel('chat', { id: 'chat/one', vendor: 'chat' }),
      ],
      more: [plain, mockSetup({ id: 'chat' }, async () => completion('hello'))],
    })
  })
  afterAll(() => native.stop())

  test.each([false, true])(
    'is sent the request as it is, stream %p, and alone gets the item back',
    async (stream) => {
      native.answerWith(() => (stream ? streaming(responseEvents(whole)) : Response.json(whole)))
      const input = [user('one'), trigger]
      const answer = await ask(native, input, { stream })
      expect(native.asked.at(-1)!.body).toEqual({ model: 'small', store: false, input, stream })
      const text = await answer.text()
      const last = stream ? text.trimEnd().split('\n\n').at(-1)!.split('\ndata: ')[1]! : text
      const { output, usage } = stream ? JSON.parse(last).response : JSON.parse(last)
      const [item] = output
      expect(usage.cost).toBe(0.00006)
      if (stream) expect(text).toContain(`"type":"response.output_item.done"`)
      expect(text).not.toContain('"gAAAA-of-vendor"')
      native.answerWith(() => Response.json(response([messageItem('hello')])))
      expect((await ask(native, [item, user('two')])).status).toBe(200)
      expect(native.asked.at(-1)!.body.input).toEqual([made, user('two')])
      for (const model of ['plain/one', 'chat/one']) {
        const refused = await ask(native, [item, user('two')], { model })
        const { error } = await jsonOf(refused)
        expect([refused.status, error.param]).toEqual([400, 'input[0].encrypted_content'])
        expect(error.message).toContain('send the turns it stands for')
      }
    },
  )

  test('makes the window of /v1/responses/compact too', async () => {
    native.answerWith(() => Response.json(whole))
    const answer = await native.post('/v1/responses/compact', {
      model: 'mock/small',
      input: [user('one'), { type: 'message', role: 'assistant', content: 'hm' }],
      instructions: 'Be brief.',
      stream: true,
    })
    expect(native.asked.at(-1)!.body.stream).toBeUndefined()
    expect(native.asked.at(-1)!.body).toMatchObject({ instructions: 'Be brief.', store: false })
    expect((native.asked.at(-1)!.body.input as any[]).at(-1)).toEqual(trigger)
    expect(await jsonOf(answer)).toEqual({
      id: 'resp_1',
      object: 'response.compaction',
      created_at: 1_795_000_000,
      output: [
        {
          id: 'msg_1_0',
          type: 'message',
          status: 'completed',
          role: 'user',
          content: [{ type: 'input_text', text: 'one' }],
        },
        { ...made, encrypted_content: 'compaction-of-mock.gAAAA-of-vendor' },
      ],
      usage: expect.objectContaining({ total_tokens: 15, cost: 0.00006 }),
      _balance_warning: expect.any(Boolean),
      _remaining_credits: expect.any(Number),
    })
    expect(native.asked.at(-1)!.url).toEndWith('/v1/responses')
  })
})

for (const engine of serverEngines)
  test(`what a chain of stored responses compacted is not sent again, ${engine.name}`, async () => {
    const database = await engine.fresh()
    const store = { responsesKeptMs: 3_600_000 }
    const keeping = await startTestServer({ url: database.url, models, options: store })
    let says = 'first'
    keeping.answerWith(() => completion(says))
    const turn = async (input: readonly object[], previous_response_id?: string) =>
      jsonOf(await ask(keeping, input, { store: true, previous_response_id }))
    const orders = { type: 'message', role: 'developer', content: 'Be kind.' }
    const one = await turn([orders, user('one')])
    says = 'summary of one'
    const two = await turn([trigger], one.id)
    expect(two.output.map(({ type }: any) => type)).toEqual(['compaction'])
    says = 'third'
    const three = await turn([user('three')], two.id)
    expect(told(keeping)).toEqual([
      ['system', 'Be kind.'],
      ['user', `${INTRODUCTION}summary of one`],
      ['user', 'three'],
    ])
    // The endpoint takes the chain too, and its own answer is not stored.
    says = 'summary of all'
    const window = await jsonOf(
      await keeping.post('/v1/responses/compact', { model: 'mock/small', previous_response_id: three.id }),
    )
    expect(window.output.map(({ role, type }: any) => role ?? type)).toEqual(['user', 'compaction'])
    expect((await keeping.get(`/v1/responses/${window.id}`)).status).toBe(404)
    const later = await keeping.post('/v1/responses/compact', {
      model: 'mock/small',
      previous_response_id: three.id,
      background: true,
    })
    expect([later.status, (await jsonOf(later)).error.param]).toEqual([400, 'background'])
    const other = await ask(keeping, [user('x')], { previous_response_id: three.id, model: 'mock/other' })
    expect(await refusal(other)).toEqual([400, 'previous_response_id'])
    const { id: conversation } = await jsonOf(await keeping.post('/v1/conversations', { items: two.output }))
    const named = await ask(keeping, [user('x')], { conversation, model: 'mock/other' })
    expect(await refusal(named)).toEqual([400, 'conversation'])
    expect(await brokenLaws(keeping.store)).toEqual([])
    await keeping.stop()
    await database.stop()
  })
