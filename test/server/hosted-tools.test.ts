/**
 * Tools that the vendor runs: held for as many uses as they may have, charged for as many as the vendor counts, and
 * refused or left out by name where their cost is not known. Shapes: Anthropic documentation, "Web search tool", "Web fetch
 * tool"; OpenAI API reference, "The response object", `tool_usage`, as openai (npm) 7.57 types them; Gemini API
 * documentation, "Grounding with Google Search".
 */
import { expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { decimalFromNano } from '../../src/core/money.ts'
import { anthropic } from '../../src/vendors/anthropic.ts'
import { google } from '../../src/vendors/google/google.ts'
import { openaiHostedRates } from '../../src/vendors/openai/models.ts'
import { messageItem, responseEvents, response as responseOf } from '../dialects/responses-vendor.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import { jsonOf, pausedStream, startTestServer, streaming, type TestServer, testModel } from './harness.ts'

const rates = {
  input: 1_000_000,
  cache_read: 100_000,
  cache_write: 1_250_000,
  output: 10_000_000,
  ...anthropic.hostedRatesOf(),
}
const CONTEXT = 10_000
const sold = testModel('claude', { price: { rates, tiers: [], version: 't' }, contextTokens: CONTEXT })
const { web_search: _fee, ...plain } = rates

const start = (url = 'sqlite::memory:') =>
  startTestServer({
    url,
    vendor: { ...anthropic, id: 'mock' },
    models: [
      sold,
      testModel('unpriced', { price: { rates: plain, tiers: [], version: 't' } }),
      testModel('tiered', {
        price: { rates, tiers: [{ aboveInputTokens: 5_000, rates: { input: 2_000_000 } }], version: 't' },
      }),
    ],
  })

const search = { type: 'web_search_20250305', name: 'web_search' }
const body = (tools: readonly object[], more: object = {}) => ({
  model: 'mock/claude',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'When was Claude Shannon born?' }],
  tools,
  ...more,
})

const content = [
  { type: 'text', text: "I'll search for that." },
  {
    type: 'server_tool_use',
    id: 'srvtoolu_01WYG3ziw53XMcoyKL4XcZmE',
    name: 'web_search',
    input: { query: 'claude shannon birth date' },
  },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_01WYG3ziw53XMcoyKL4XcZmE',
    content: [
      {
        type: 'web_search_result',
        url: 'https://en.wikipedia.org/wiki/Claude_Shannon',
        title: 'Claude Shannon - Wikipedia',
        encrypted_content: 'EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5LTQ1NGUtODgxNC1kNjNjNTk1ZWI3Y',
        page_age: 'April 30, 2025',
      },
    ],
  },
  { type: 'text', text: 'He was born on April 30, 1916.' },
]
const usage = (searches: number) => ({
  input_tokens: 6_039,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 50,
  server_tool_use: { web_search_requests: searches, web_fetch_requests: 0 },
})
const answer = (searches: number) =>
  Response.json({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: usage(searches),
  })

/** 6,039 tokens in at 1,000 nano-USD and 50 out at 10,000, and a cent a search. */
const costOf = (searches: number): bigint => 6_039_000n + 500_000n + BigInt(searches) * 10_000_000n

const charged = async (server: TestServer, response: Response): Promise<bigint> => {
  await response.clone().text()
  const {
    lines: [call],
  } = await server.store.reports.calls({
    orgs: ['org_test'],
    id: response.headers.get('x-request-id') ?? '',
    most: 1,
  })
  return call?.amount ?? -1n
}

for (const { name, fresh } of serverEngines)
  test(`a search costs tokens and its fee, by the vendor's count, on ${name}`, async () => {
    const database = await fresh()
    const server = await start(database.url)
    server.answerWith(() => answer(2))
    const response = await server.post('/v1/messages', body([{ ...search, max_uses: 3 }]))
    expect(response.status).toBe(200)
    const value = await jsonOf(response.clone() as Response)
    expect(value.content).toEqual(content)
    expect(value.usage.server_tool_use).toEqual({ web_search_requests: 2, web_fetch_requests: 0 })
    expect(await charged(server, response)).toBe(costOf(2))
    const claims = decodeJwt(response.headers.get('x-receipt') ?? '')
    expect(claims.usage).toEqual({ input: 6_039, output: 50, web_search: 2 })
    expect(claims.cost).toMatchObject({ prices_usd_per_million: { web_search: '10000' } })
    // What was found goes back with the next turn.
    const messages = [
      { role: 'user', content: 'When?' },
      { role: 'assistant', content },
      { role: 'user', content: 'Where?' },
    ]
    server.answerWith(() => answer(0))
    const next = await server.post('/v1/messages', body([{ ...search, max_uses: 3 }], { messages }))
    expect(await charged(server, next)).toBe(costOf(0))
    expect(server.asked.at(-1)?.body.messages).toEqual(messages)
    await stopSound(server, database)
  })

test('a call is held for all rounds and searches that it may have, and no less', async () => {
  const server = await start()
  server.answerWith(() => answer(3))
  // The dearest token of input is one that is written to the cache.
  const most = (rounds: number, searches: number) =>
    BigInt(CONTEXT * rounds) * 1_250n + 100n * 10_000n + BigInt(searches) * 10_000_000n
  for (const [tools, amount] of [
    [[{ ...search, max_uses: 3 }], most(4, 3)],
    // Without a bound of its own.
    [[search], most(6, 5)],
    [[{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2 }], most(3, 0)],
    [[{ ...search, max_uses: 40 }], most(10, 40)],
    [[{ ...search, type: 'web_search_20260209', max_uses: 1 }], most(10, 1)],
    [[{ type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }], most(10, 0)],
  ] as const) {
    const ask = (ceiling: bigint) =>
      server.post('/v1/messages', body(tools), { 'x-max-cost-usd': decimalFromNano(ceiling) })
    const refused = await ask(amount - 1n)
    expect([tools[0], refused.status, (await jsonOf(refused)).error.code]).toEqual([
      tools[0],
      402,
      'max_cost_exceeded',
    ])
    expect([tools[0], (await ask(amount)).status]).toEqual([tools[0], 200])
  }
  expect(await server.heldAfterAll()).toBe(0n)
  await server.stop()
})

test('the vendor gets the bound that the call is held for, and everything else as it was sent', async () => {
  const server = await start()
  server.answerWith(() => answer(1))
  const own = { name: 'f', input_schema: { type: 'object', minimum: 1 } }
  const located = { ...search, user_location: { type: 'approximate', city: 'Oslo' } }
  await server.post('/v1/messages', body([own, located]))
  expect(server.asked.at(-1)?.body.tools).toEqual([own, { ...located, max_uses: 5 }])
  await server.post('/v1/messages', body([own, { ...located, max_uses: 8 }]))
  expect(server.asked.at(-1)?.body.tools).toEqual([own, { ...located, max_uses: 8 }])
  await server.stop()
})

const event = (type: string, members: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
const streamed = [
  event('message_start', {
    message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 2_679, output_tokens: 3 } },
  }),
  event('content_block_start', {
    index: 0,
    content_block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
  }),
  event('content_block_delta', {
    index: 0,
    delta: { type: 'input_json_delta', partial_json: '{"query":"weather"}' },
  }),
  event('content_block_stop', { index: 0 }),
  event('content_block_start', { index: 1, content_block: content[2] ?? {} }),
  event('content_block_stop', { index: 1 }),
]
const ending = [
  event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: usage(1) }),
  event('message_stop', {}),
]

test('a stream is charged by the count at its end; one that breaks off, for the searches that began', async () => {
  const server = await start()
  const ask = () => server.post('/v1/messages', body([{ ...search, max_uses: 2 }], { stream: true }))
  server.answerWith(() => streaming([...streamed, ...ending]))
  const whole = await ask()
  expect(await whole.clone().text()).toContain('web_search_tool_result')
  expect(await charged(server, whole)).toBe(costOf(1))
  server.answerWith(() => streaming(streamed))
  const broken = await ask()
  await broken.clone().text()
  const {
    lines: [call],
  } = await server.store.reports.calls({
    orgs: ['org_test'],
    id: broken.headers.get('x-request-id') ?? '',
    most: 1,
  })
  expect([call?.detail?.usage.web_search, call?.detail?.usage.input]).toEqual([1, 2_679])
  await server.stop()
})

test('tools whose cost is not known are refused by name, before the vendor is asked', async () => {
  const server = await start()
  const refused = async (sent: object, path = '/v1/messages') => {
    const response = await server.post(path, sent)
    const { error } = await jsonOf(response)
    return [response.status, error.param]
  }
  for (const type of ['code_execution_20250825', 'advisor_20260301', 'web_search_next'])
    expect(await refused(body([{ type, name: 'x' }]))).toEqual([400, 'tools[0].type'])
  expect(await refused(body([{ type: 'mcp_toolset', mcp_server_name: 'x' }]))).toEqual([400, 'tools[0].type'])
  for (const most of [0, 1.5, -1, '3'])
    expect(await refused(body([{ ...search, max_uses: most }]))).toEqual([400, 'tools[0].max_uses'])
  expect(await refused(body([{ type: search.type }]))).toEqual([400, 'tools[0].name'])
  // Where a search has no price, or a price that depends on how long each round is.
  for (const model of ['mock/unpriced', 'mock/tiered'])
    expect(await refused(body([search], { model }))).toEqual([400, 'tools'])
  expect(server.asked).toEqual([])
  expect(await server.heldAfterAll()).toBe(0n)
  await server.stop()
})

test('a caller who hangs up while the vendor searches pays what the search comes to', async () => {
  const server = await start()
  const going = Promise.withResolvers<void>()
  server.answerWith(() => pausedStream([...streamed, ...ending], streamed.length, () => going.promise))
  const gone = new AbortController()
  const { token } = await server.newKey()
  const sent = body([{ ...search, max_uses: 2 }], { stream: true })
  const response = await server.fetch(
    new Request('http://turnpike.test/v1/messages', {
      method: 'POST',
      signal: gone.signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(sent),
    }),
  )
  const before = await server.balance()
  const reader = response.body?.getReader()
  for (let text = ''; !text.includes('server_tool_use'); )
    text += new TextDecoder().decode((await reader?.read())?.value)
  gone.abort()
  const left = reader?.cancel().catch(() => undefined)
  going.resolve()
  await left
  await until(() => server.openCalls() === 0)
  expect(before - (await server.balance())).toBe(costOf(1))
  await server.stop()
})

const gpt = {
  price: { rates: { ...plain, ...openaiHostedRates('gpt-5.2') }, tiers: [], version: 't' },
  contextTokens: CONTEXT,
  requestStyle: { in: 'both' },
} as const

const startResponses = () =>
  startTestServer({
    models: [
      testModel('gpt', gpt),
      testModel('unpriced', { ...gpt, price: { rates: plain, tiers: [], version: 't' } }),
    ],
  })

const found = (id: string, action: object) => ({ type: 'web_search_call', id, status: 'completed', action })
const output = [
  found('ws_1', { type: 'search', queries: ['claude shannon'], query: 'claude shannon' }),
  found('ws_2', { type: 'open_page', url: 'https://en.wikipedia.org/wiki/Claude_Shannon' }),
  messageItem('He was born in 1916.'),
]
const counted = { input_tokens: 6_039, output_tokens: 50, total_tokens: 6_089 }
const told = (searches: number) => ({
  usage: counted,
  tool_usage: { web_search: { num_requests: searches } },
})
const tools = [
  { type: 'web_search', search_context_size: 'low', external_web_access: false },
  { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false },
]
const asked = (more: object = {}) => ({
  model: 'mock/gpt',
  input: 'When?',
  max_output_tokens: 100,
  tools,
  ...more,
})

test('responses: a search goes along where the request bounds it, and is charged by what the vendor bills', async () => {
  const server = await startResponses()
  for (const [more, searches] of [
    [told(2), 2],
    [told(0), 0],
    // Without its count: what was searched, not a page that was opened.
    [{ usage: counted }, 1],
  ] as const) {
    server.answerWith(() => Response.json(responseOf(output, more)))
    const whole = await server.post('/v1/responses', asked({ max_tool_calls: 3 }))
    expect([whole.status, whole.headers.get('x-not-carried')]).toEqual([200, null])
    expect(server.asked.at(-1)?.body).toMatchObject({ tools, max_tool_calls: 3 })
    expect(await charged(server, whole)).toBe(costOf(searches))
    server.answerWith(() => streaming(responseEvents(responseOf(output, more))))
    const stream = await server.post('/v1/responses', asked({ max_tool_calls: 3, stream: true }))
    expect(await charged(server, stream)).toBe(costOf(searches))
  }
  server.answerWith(() => Response.json(responseOf(output, told(3))))
  const choice = { tool_choice: { type: 'web_search' }, max_tool_calls: 1 }
  expect((await server.post('/v1/responses', asked(choice))).status).toBe(200)
  const most = BigInt(CONTEXT * 4) * 1_250n + 100n * 10_000n + 3n * 10_000_000n
  const ask = async (ceiling: bigint) =>
    (
      await server.post('/v1/responses', asked({ max_tool_calls: 3 }), {
        'x-max-cost-usd': decimalFromNano(ceiling),
      })
    ).status
  expect([await ask(most - 1n), await ask(most)]).toEqual([402, 200])
  expect(await server.heldAfterAll()).toBe(0n)
  await server.stop()
})

test('responses: a search without a bound or a price, and other tools of the vendor, are left out and named', async () => {
  const server = await startResponses()
  server.answerWith(() => Response.json(responseOf([messageItem('x')], { usage: counted })))
  for (const [more, named] of [
    [{}, 'tools web_search'],
    [{ model: 'mock/unpriced', max_tool_calls: 3 }, 'tools web_search'],
    [{ tools: [{ type: 'web_search_preview' }, tools[1]], max_tool_calls: 3 }, 'tools web_search_preview'],
    [{ tools: [...tools, { type: 'code_interpreter' }], max_tool_calls: 3 }, 'tools code_interpreter'],
  ] as const) {
    const response = await server.post('/v1/responses', asked(more), { 'x-max-cost-usd': '0.1' })
    expect([more, response.status, response.headers.get('x-not-carried')]).toEqual([more, 200, named])
    expect(server.asked.at(-1)?.text).not.toContain(named.replace('tools ', '"type":"'))
  }
  for (const more of [{}, { model: 'mock/unpriced', max_tool_calls: 3 }]) {
    const forced = await server.post('/v1/responses', asked({ ...more, tool_choice: { type: 'web_search' } }))
    expect([forced.status, (await jsonOf(forced)).error.param]).toEqual([400, 'tool_choice'])
  }
  const none = await server.post('/v1/responses', asked({ max_tool_calls: 0 }))
  expect([none.status, (await jsonOf(none)).error.param]).toEqual([400, 'max_tool_calls'])
  await server.stop()
})

test('only models whose searches cost what is listed have a price for them', () => {
  for (const name of ['gpt-4o', 'gpt-4.1', 'gpt-5.2', 'gpt-5-mini', 'gpt-5.3-codex', 'o3', 'o4-mini'])
    expect([name, openaiHostedRates(name)]).toEqual([name, { web_search: 10_000_000_000 }])
  for (const name of [
    'gpt-4o-mini',
    'gpt-4.1-mini',
    'gpt-4o-search-preview',
    'o3-deep-research',
    'gpt-4',
    'gpt-4o-audio-preview',
  ])
    expect([name, openaiHostedRates(name)]).toEqual([name, undefined])
})

const gemini = { ...plain, ...google.hostedRatesOf('gemini-3.8-flash') }
const QUERY = 14_000_000n

const startGemini = () =>
  startTestServer({
    vendor: { ...google, id: 'mock' },
    models: [
      testModel('three', {
        price: {
          rates: gemini,
          tiers: [{ aboveInputTokens: 5_000, rates: { input: 2_000_000 } }],
          version: 't',
        },
        contextTokens: CONTEXT,
      }),
      testModel('two', {
        price: { rates: { ...plain, ...google.hostedRatesOf('gemini-2.5-flash') }, tiers: [], version: 't' },
      }),
    ],
  })

const grounded = (webSearchQueries: readonly string[], more: object = {}) => ({
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'Spain won.' }] },
      ...more,
      index: 0,
      groundingMetadata: {
        webSearchQueries,
        searchEntryPoint: { renderedContent: '<div></div>' },
        groundingChunks: [{ web: { uri: 'https://vertexaisearch.cloud.google.com/x', title: 'uefa.com' } }],
        groundingSupports: [
          { segment: { startIndex: 0, endIndex: 10, text: 'Spain won.' }, groundingChunkIndices: [0] },
        ],
      },
    },
  ],
  usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 50, totalTokenCount: 1_050 },
})
/** 1,000 tokens in at 1,000 nano-USD and 50 out at 10,000. */
const TOKENS = 1_500_000n

test('grounding costs each query that the vendor bills, whole and streamed', async () => {
  const server = await startGemini()
  const sent = { contents: [{ parts: [{ text: 'Who won?' }] }], generationConfig: { maxOutputTokens: 100 } }
  const path = (model: string, how = 'generateContent') => `/v1beta/models/mock/${model}:${how}`
  const stop = { finishReason: 'STOP' }
  for (const spelling of ['googleSearch', 'google_search']) {
    const asking = { ...sent, tools: [{ [spelling]: {} }] }
    server.answerWith(() => Response.json(grounded(['euro 2024', '', 'euro 2024 winner', 'euro 2024'], stop)))
    const whole = await server.post(path('three'), asking)
    expect(server.asked.at(-1)?.body.tools).toEqual(asking.tools)
    expect(await charged(server, whole)).toBe(TOKENS + 2n * QUERY)
    server.answerWith(() =>
      streaming(
        [grounded(['euro 2024']), grounded(['euro 2024', 'who won'], stop)].map(
          (event) => `data: ${JSON.stringify(event)}\r\n\r\n`,
        ),
      ),
    )
    const stream = await server.post(path('three', 'streamGenerateContent?alt=sse'), asking)
    expect(await charged(server, stream)).toBe(TOKENS + 2n * QUERY)
  }
  // Held for forty queries and the whole context; what a vendor bills above that, the house pays.
  const most = BigInt(CONTEXT) * 2_000n + 100n * 10_000n + 40n * QUERY
  server.answerWith(() =>
    Response.json(
      grounded(
        Array.from({ length: 400 }, (_none, at) => `q${at}`),
        stop,
      ),
    ),
  )
  const ask = (ceiling: bigint) =>
    server.post(
      path('three'),
      { ...sent, tools: [{ googleSearch: {} }] },
      { 'x-max-cost-usd': decimalFromNano(ceiling) },
    )
  expect((await ask(most - 1n)).status).toBe(402)
  expect(await charged(server, await ask(most))).toBe(most)
  const refused = async (model: string, tool: object) => {
    const response = await server.post(path(model), { ...sent, tools: [tool] })
    return [response.status, (await jsonOf(response)).error.message]
  }
  const before = server.asked.length
  // The versions before bill prompts, not queries.
  expect((await refused('two', { googleSearch: {} }))[0]).toBe(400)
  expect(await refused('three', { googleMaps: {} })).toEqual([400, expect.stringContaining('googleMaps')])
  const pictures = { googleSearch: { searchTypes: { imageSearch: {} } } }
  expect(await refused('three', pictures)).toEqual([400, expect.stringContaining('imageSearch')])
  expect(server.asked.length).toBe(before)
  expect(await server.heldAfterAll()).toBe(0n)
  await server.stop()
})
