/**
 * A vendor that is called in the responses dialect: callers of the same dialect pass through, and every call is
 * metered.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  callItem,
  messageItem,
  reasoningItem,
  response,
  responseEvents,
  responsesUsage10and5,
} from '../dialects/responses-vendor.ts'
import { completion, jsonOf, startTestServer, streaming, type TestServer, testModel } from './harness.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({
    vendor: { speaks: 'responses' },
    models: [
      testModel('small'),
      testModel('thinker', { capabilities: ['streaming', 'function_calling', 'reasoning'] }),
      testModel('smalll', {
        upstreamName: 'small',
        cheaper: {
          tier: 'flex',
          price: { rates: { input: 500_000, output: 5_000_000 }, tiers: [], version: 'test-1' },
        },
      }),
    ],
  })
})
afterAll(() => server.stop())

const said = { role: 'user', content: 'hi' }
const asked = (more: object = {}) => ({ model: 'mock/small', input: [said], store: false, ...more })

const function1 = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }
const custom = {
  type: 'custom',
  name: 'apply_patch',
  format: { type: 'grammar', syntax: 'lark', definition: 'a' },
}
const namespace = { type: 'namespace', name: 'mcp__docs', description: 'Docs', tools: [function1, custom] }

/** The request of Codex CLI, with members that nobody knows yet. */
const agentCall = {
  instructions: 'Be brief.',
  input: [
    said,
    { type: 'additional_tools', role: 'developer', tools: [namespace, function1] },
    { type: 'reasoning', id: 'rs_0', summary: [], encrypted_content: 'gAAAA-sealed' },
    { type: 'function_call', call_id: 'call_0', namespace: 'mcp__docs', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_0', output: 'done' },
    { type: 'an_item_of_next_year', payload: [1, 2.5] },
  ],
  tools: [custom, namespace, function1, { type: 'tool_search' }, { type: 'local_shell' }],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '019a',
  client_metadata: { app: 'codex' },
  text: { verbosity: 'low' },
  a_member_of_next_year: { deep: [1, { x: 0.1 }] },
}

test('the same dialect passes through: nothing but the model is changed', async () => {
  server.answerWith(() => Response.json(response([messageItem('hello')])))
  const before = await server.balance()
  const sent = asked(agentCall)
  const answer = await server.post('/v1/responses', sent)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-not-carried')).toBeNull()
  const { url, text } = server.asked.at(-1)!
  expect(url).toEndWith('/v1/responses')
  expect(text).toBe(JSON.stringify(sent).replace('mock/small', 'small'))
  const { usage, _remaining_credits: _left, _balance_warning: _low, ...rest } = await jsonOf(answer)
  const { usage: _usage, ...known } = response([messageItem('hello')])
  expect(rest).toEqual(known)
  expect(usage).toMatchObject({ ...responsesUsage10and5, cost: 0.00006 })
  expect(before - (await server.balance())).toBe(60_000n)
})

test('a stream passes as the bytes it came in but for its last event, which has the bill', async () => {
  const whole = response([reasoningItem('hm', 'gAAAA'), messageItem('hello there'), callItem('f', '{"a":1}')])
  const events = responseEvents(whole)
  server.answerWith(() => streaming(events))
  const before = await server.balance()
  const text = await (await server.post('/v1/responses', asked({ stream: true }))).text()
  expect(text.startsWith(events.slice(0, -1).join(''))).toBe(true)
  const ending = text.slice(events.slice(0, -1).join('').length)
  expect(ending).toStartWith(': x-cost-usd: 0.00006\n\nevent: response.completed\ndata: {')
  const last = JSON.parse(ending.split('\ndata: ')[1]!)
  expect(last.sequence_number).toBe(events.length - 1)
  expect(last.response.output).toEqual(whole.output)
  expect(last.response.usage).toMatchObject({ ...responsesUsage10and5, cost: 0.00006 })
  expect(before - (await server.balance())).toBe(60_000n)
})

test('cached, written and reasoning tokens are priced each at their own rate', async () => {
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 20 },
    total_tokens: 130,
  }
  server.answerWith(() => Response.json(response([messageItem('x')], { usage })))
  const before = await server.balance()
  await (await server.post('/v1/responses', asked())).text()
  // 40 × 1 000 + 60 × 100 + 30 × 10 000: a class without a rate of its own costs as its base class.
  expect(before - (await server.balance())).toBe(346_000n)
})

test('an answer that ends early says why, and is charged', async () => {
  const incomplete = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  const whole = response([messageItem('hello')], incomplete)
  for (const stream of [false, true]) {
    server.answerWith(() => (stream ? streaming(responseEvents(whole)) : Response.json(whole)))
    const before = await server.balance()
    const text = await (await server.post('/v1/responses', asked({ stream, max_output_tokens: 16 }))).text()
    expect(text).toContain('"incomplete_details":{"reason":"max_output_tokens"}')
    expect(before - (await server.balance())).toBe(60_000n)
  }
})

test('the vendor stores nothing, and thoughts always come in a form that can be sent back', async () => {
  const bodyOf = async (more: object) => {
    server.answerWith(() => Response.json(response([messageItem('hello')])))
    const answer = await server.post('/v1/responses', { model: 'mock/thinker', input: 'hi', ...more })
    return [server.asked.at(-1)!.body, answer.headers.get('x-not-carried')] as const
  }
  const include = ['reasoning.encrypted_content']
  expect(await bodyOf({})).toEqual([{ model: 'thinker', input: 'hi', store: false, include }, null])
  expect(await bodyOf({ store: true, include: ['x'] })).toEqual([
    { model: 'thinker', input: 'hi', store: false, include: ['x', ...include] },
    null,
  ])
  expect(await bodyOf({ store: false, include })).toEqual([
    { model: 'thinker', input: 'hi', store: false, include },
    null,
  ])
})

test('tools that run at the vendor stay here, and are named', async () => {
  server.answerWith(() => Response.json(response([messageItem('hello')])))
  const shell = (type: string) => ({ type: 'shell', environment: { type } })
  const answer = await server.post(
    '/v1/responses',
    asked({
      tools: [
        function1,
        { type: 'web_search' },
        shell('container_auto'),
        shell('local'),
        { type: 'of_next_year' },
      ],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }, shell('local')] },
      context_management: [{ type: 'compaction', compact_threshold: 5 }],
      input: [
        said,
        { type: 'additional_tools', role: 'developer', tools: [{ type: 'mcp' }, custom] },
        {
          type: 'tool_search_output',
          call_id: 'c',
          tools: [{ ...namespace, tools: [{ type: 'file_search' }] }],
        },
        { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'x', tools: [{ name: 'y', input_schema: {} }] },
      ],
    }),
  )
  expect(answer.headers.get('x-not-carried')).toBe(
    'tools web_search, tools shell, tools of_next_year, tools mcp, tools namespace, tool_choice, context_management',
  )
  expect(server.asked.at(-1)!.body).toEqual({
    model: 'small',
    input: [
      said,
      { type: 'additional_tools', role: 'developer', tools: [custom] },
      { type: 'tool_search_output', call_id: 'c', tools: [] },
      { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'x', tools: [{ name: 'y', input_schema: {} }] },
    ],
    store: false,
    tools: [function1, shell('local')],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [shell('local')] },
  })
})

test.each([
  [{ type: 'web_search' }],
  ['required'],
  [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] }],
])(
  '%j, where only a tool of the vendor could be meant, is refused and nothing is asked',
  async (tool_choice) => {
    const count = server.asked.length
    const tools = [{ type: 'web_search' }]
    const answer = await server.post('/v1/responses', asked({ tools, tool_choice }))
    expect([answer.status, (await jsonOf(answer)).error.param]).toEqual([400, 'tool_choice'])
    expect(server.asked.length).toBe(count)
  },
)

test('a choice of no allowed tool that is left allows none', async () => {
  server.answerWith(() => Response.json(response([messageItem('hello')])))
  const tool_choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] }
  await server.post('/v1/responses', asked({ tools: [function1, { type: 'web_search' }], tool_choice }))
  expect(server.asked.at(-1)!.body.tool_choice).toBe('none')
})

test.each([
  [{ service_tier: 'priority' }, 'service_tier'],
  [{ reasoning: { mode: 'pro' } }, 'reasoning.mode'],
  [{ moderation: { model: 'omni-moderation-latest' } }, 'moderation'],
  [{ access_programs: { cyber: 'daybreak_red' } }, 'access_programs'],
  [{ prompt_cache_options: { ttl: '12h' } }, 'prompt_cache_options.ttl'],
  [{ background: true }, 'background'],
  [{ conversation: 'mine' }, 'conversation'],
  [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
])('%j is refused by its name: it changes the bill, or refers to what is stored', async (more, param) => {
  const count = server.asked.length
  const answer = await server.post('/v1/responses', asked(more))
  expect([answer.status, (await jsonOf(answer)).error.param]).toEqual([400, param])
  expect(server.asked.length).toBe(count)
})

test('thoughts of other vendors, and their marks in ids, are not sent', async () => {
  server.answerWith(() => Response.json(response([messageItem('hello')])))
  const call = { type: 'function_call', name: 'f', arguments: '{}' }
  const answer = await server.post(
    '/v1/responses',
    asked({
      input: [
        said,
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'turnpike1.e30' },
        { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'hm' }] },
        { type: 'item_reference', id: 'rs_3' },
        { ...call, call_id: 'call_1__sig_QUJD' },
        { type: 'function_call_output', call_id: 'call_1__sig_QUJD', output: 'x' },
      ],
    }),
  )
  expect(answer.headers.get('x-not-carried')).toBe('thinking')
  expect(server.asked.at(-1)!.body.input).toEqual([
    said,
    { ...call, call_id: 'call_1' },
    { type: 'function_call_output', call_id: 'call_1', output: 'x' },
  ])
})

test('the discounted family is asked in the cheaper tier, and charged by the tier that served it', async () => {
  for (const [tier, charge] of [
    ['flex', 30_000n],
    ['default', 60_000n],
  ] as const)
    for (const stream of [false, true]) {
      const whole = response([messageItem('hello')], { service_tier: tier })
      server.answerWith(() => (stream ? streaming(responseEvents(whole)) : Response.json(whole)))
      const before = await server.balance()
      await (await server.post('/v1/responses', asked({ model: 'mock/smalll', stream }))).text()
      expect(server.asked.at(-1)!.body).toMatchObject({ model: 'small', service_tier: 'flex' })
      expect([tier, stream, before - (await server.balance())]).toEqual([tier, stream, charge])
    }
})

const failed = (code: string) =>
  responseEvents(response([], { status: 'failed', error: { code, message: 'no' }, usage: null }))
const errorEvent = `event: error\ndata: ${JSON.stringify({ type: 'error', code: 'server_error', message: 'no', param: null, sequence_number: 2 })}\n\n`

test('a failure before anything was said is tried again, and costs nothing', async () => {
  for (const events of [failed('server_error'), [...failed('x').slice(0, 2), errorEvent]]) {
    let tries = 0
    server.answerWith(() =>
      streaming(tries++ === 0 ? events : responseEvents(response([messageItem('hello')]))),
    )
    const before = await server.balance()
    const text = await (await server.post('/v1/responses', asked({ stream: true }))).text()
    expect(text).toContain('event: response.completed')
    expect([tries, before - (await server.balance())]).toEqual([2, 60_000n])
  }
})

test('a prompt that the vendor refuses for what it says is a 400, and costs nothing', async () => {
  server.answerWith(() => streaming(failed('invalid_prompt')))
  const before = await server.balance()
  const answer = await server.post('/v1/responses', asked({ stream: true }))
  expect([answer.status, (await jsonOf(answer)).error.code]).toEqual([400, 'content_policy_violation'])
  expect(await server.balance()).toBe(before)
})

test('an answer that breaks off ends in the error of its dialect, and what came is charged', async () => {
  const events = responseEvents(response([messageItem('hello there, all of you')]))
  const upTo = events.findIndex((event) => event.includes('output_text.done'))
  for (const broken of [
    [...events.slice(0, upTo), failed('server_error').at(-1)!],
    [...events.slice(0, upTo), errorEvent],
    events.slice(0, upTo),
  ]) {
    server.answerWith(() => streaming(broken))
    const before = await server.balance()
    const text = await (await server.post('/v1/responses', asked({ stream: true }))).text()
    const ending = text.slice(events.slice(0, upTo).join('').length)
    const [error, last] = ending
      .split('\n\n')
      .map((event) => JSON.parse(event.split('\ndata: ')[1] ?? 'null'))
    expect([error.type, error.code, error.sequence_number]).toEqual(['error', 'upstream_error', upTo])
    expect([last.type, last.response.status, last.response.id]).toEqual([
      'response.failed',
      'failed',
      'resp_1',
    ])
    expect(before - (await server.balance())).toBeGreaterThan(0n)
  }
})

test('a stream that reaches its bound of money ends as one that is too long', async () => {
  const words = 'one two three four five '.repeat(200)
  const events = responseEvents(response([messageItem(words)]))
  server.answerWith(() => streaming(events.slice(0, -3)))
  const answer = await server.post('/v1/responses', asked({ stream: true }), { 'x-max-cost-usd': '0.004' })
  const text = await answer.text()
  const last = JSON.parse(text.trimEnd().split('\n\n').at(-1)!.split('\ndata: ')[1]!)
  expect(last).toMatchObject({
    type: 'response.incomplete',
    response: { id: 'resp_1', status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  })
  expect(last.response.usage.cost).toBeLessThanOrEqual(0.004)
})

test('an answer without a usage is estimated, and says so', async () => {
  const { usage: _none, ...silent } = response([messageItem('hello there'), callItem('f', '{"a":1}')])
  server.answerWith(() => Response.json(silent))
  const { usage } = await jsonOf(await server.post('/v1/responses', asked()))
  expect(usage.estimated).toBe(true)
  expect(usage.output_tokens).toBeGreaterThan(0)
})

test('a vendor of both dialects is asked where the call is carried, and answers in the style of its caller', async () => {
  const requestStyle = { in: 'both', chatTools: 'without_effort' } as const
  const both = await startTestServer({
    models: [
      testModel('gpt', { requestStyle, capabilities: ['streaming', 'function_calling', 'reasoning'] }),
    ],
  })
  try {
    both.answerWith(({ url }) =>
      url.endsWith('/responses')
        ? Response.json(response([reasoningItem('hm', 'gAAAA'), callItem('f', '{"a":1}')]))
        : completion('hello'),
    )
    const f = { name: 'f', parameters: { type: 'object', properties: {} } }
    const chatCall = (more: object) => ({
      model: 'mock/gpt',
      messages: [said],
      tools: [{ type: 'function', function: f }],
      ...more,
    })
    const plain = await jsonOf(await both.post('/v1/chat/completions', chatCall({})))
    expect([both.asked.at(-1)?.url, plain.choices[0].message.content]).toEqual([
      'http://mock.invalid/v1/chat/completions',
      'hello',
    ])
    const before = await both.balance()
    const called = await jsonOf(
      await both.post('/v1/chat/completions', chatCall({ reasoning_effort: 'high', max_tokens: 500 })),
    )
    expect(both.asked.at(-1)?.url).toBe('http://mock.invalid/v1/responses')
    expect(both.asked.at(-1)?.body).toEqual({
      model: 'gpt',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      tools: [{ type: 'function', ...f, strict: false }],
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      max_output_tokens: 500,
      store: false,
    })
    const { message, finish_reason } = called.choices[0]
    expect([finish_reason, message.reasoning_content]).toEqual(['tool_calls', 'hm'])
    expect(message.tool_calls[0].function).toEqual({ name: 'f', arguments: '{"a":1}' })
    expect(before - (await both.balance())).toBe(60_000n)
    const anthropic = { model: 'mock/gpt', max_tokens: 500, messages: [said] }
    const tools = [{ name: 'f', input_schema: f.parameters }]
    await (await both.post('/v1/messages', anthropic)).text()
    expect(both.asked.at(-1)?.url).toEndWith('/chat/completions')
    const used = await jsonOf(await both.post('/v1/messages', { ...anthropic, tools }))
    expect([both.asked.at(-1)?.url.endsWith('/responses'), used.stop_reason]).toEqual([true, 'tool_use'])
  } finally {
    await both.stop()
  }
})
