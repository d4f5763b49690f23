/** What agents really send, over HTTP, to vendors of another dialect than their own. */
import { expect, test } from 'bun:test'
import { completion, eventsOf, jsonOf, streamEvents, streaming } from './harness.ts'
import { before } from './speaking.ts'

const hi = [{ role: 'user', content: 'hi' }]

const callers = {
  chat: ['/v1/chat/completions', { model: 'mock/small', messages: hi }, 'max_tokens'],
  messages: ['/v1/messages', { model: 'mock/small', messages: hi }, 'max_tokens'],
  responses: ['/v1/responses', { model: 'mock/small', input: 'hi' }, 'max_output_tokens'],
} as const

test.each(['chat', 'messages', 'gemini', 'responses'] as const)(
  'a bound that no vendor can read is refused in all styles, one below what the model of %s takes is raised',
  (speaks) =>
    before(speaks, async (server) => {
      const google = [
        '/v1beta/models/mock/small:generateContent',
        { contents: [{ parts: [{ text: 'hi' }] }] },
      ] as const
      const ask = (caller: keyof typeof callers | 'gemini', bound: number) => {
        if (caller === 'gemini')
          return server.post(google[0], { ...google[1], generationConfig: { maxOutputTokens: bound } })
        const [path, body, member] = callers[caller]
        return server.post(path, { ...body, [member]: bound })
      }
      for (const caller of ['chat', 'messages', 'gemini', 'responses'] as const) {
        const asked = server.asked.length
        expect([caller, (await ask(caller, 2_147_483_648)).status]).toEqual([caller, 400])
        expect(server.asked.length).toBe(asked)
        const small = await ask(caller, 5)
        const least = speaks === 'responses' ? 16 : 5
        expect([caller, small.status, small.headers.get('x-max-tokens-raised')]).toEqual([
          caller,
          200,
          least === 5 ? null : '16',
        ])
        expect([caller, sentBound(server.asked.at(-1)?.body)]).toEqual([caller, least])
        expect(small.headers.get('x-max-tokens-lowered')).toBeNull()
      }
      expect(await server.heldAfterAll()).toBe(0n)
    }),
)

const sentBound = (body: any): number =>
  body.max_tokens ?? body.max_output_tokens ?? body.generationConfig?.maxOutputTokens

test.each(['chat', 'messages', 'gemini'] as const)(
  'a bound above what a model of %s gives: lowered and told, in its own dialect refused',
  (speaks) =>
    before(speaks, async (server) => {
      for (const [caller, [path, body, member]] of Object.entries(callers)) {
        const response = await server.post(path, { ...body, [member]: 32_000 })
        const outcome = [response.status, response.headers.get('x-max-tokens-lowered')]
        if (caller === speaks) {
          expect([caller, outcome, (await jsonOf(response)).error.param]).toEqual([
            caller,
            [400, null],
            'max_tokens',
          ])
          continue
        }
        expect([caller, outcome]).toEqual([caller, [200, '8192']])
        expect(sentBound(server.asked.at(-1)?.body)).toBe(8_192)
        expect((await jsonOf(response)).usage.max_tokens_lowered).toBe(8_192)
        const fits = await server.post(path, { ...body, [member]: 8_192 })
        expect([fits.status, fits.headers.get('x-max-tokens-lowered')]).toEqual([200, null])
      }
      expect(await server.heldAfterAll()).toBe(0n)
    }),
)

test('messages: numbers that a client writes as not set are not sent to any vendor', async () => {
  const body = { ...callers.messages[1], max_tokens: 9, top_k: -1, top_p: -1 }
  for (const speaks of ['messages', 'chat', 'gemini', 'converse'] as const)
    await before(speaks, async (server) => {
      const response = await server.post('/v1/messages', body)
      expect([speaks, response.status, response.headers.get('x-not-carried')]).toEqual([speaks, 200, null])
      expect(server.asked.at(-1)?.text).not.toMatch(/top_?[kp]/i)
      const wrong = await server.post('/v1/messages', { ...body, top_k: -2 })
      expect([wrong.status, (await jsonOf(wrong)).error.param]).toEqual([400, 'top_k'])
    })
})

test('messages: a text without sources has no member for them', () =>
  before('chat', async (server) => {
    const response = await server.post('/v1/messages', { ...callers.messages[1], max_tokens: 9 })
    expect((await jsonOf(response)).content).toEqual([{ type: 'text', text: 'hello' }])
  }))

const claudeCode =
  'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,effort-2025-11-24, advanced-tool-use-2025-11-20'

test('tokens of thoughts are told in every style, whoever counted them', async () => {
  const counted = {
    chat: (usage: any) => usage.completion_tokens_details.reasoning_tokens,
    messages: (usage: any) => usage.output_tokens_details.thinking_tokens,
    responses: (usage: any) => usage.output_tokens_details.reasoning_tokens,
  }
  const answers = {
    chat: completion('hello', {
      prompt_tokens: 10,
      completion_tokens: 5,
      completion_tokens_details: { reasoning_tokens: 3 },
    }),
    messages: Response.json({
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'small', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'hello' }],
      usage: { input_tokens: 10, output_tokens: 5, output_tokens_details: { thinking_tokens: 3 } },
    }),
  }
  for (const speaks of ['chat', 'messages'] as const)
    await before(speaks, async (server) => {
      server.answerWith(() => answers[speaks].clone() as Response)
      for (const caller of ['chat', 'messages', 'responses'] as const) {
        const [path, body] = callers[caller]
        const { usage } = await jsonOf(await server.post(path, { ...body, max_tokens: 100 }))
        expect([speaks, caller, counted[caller](usage)]).toEqual([speaks, caller, 3])
        // Clients add these up, also where nothing was cached.
        if (caller === 'responses')
          expect(usage.input_tokens_details).toEqual({ cached_tokens: 0, cache_write_tokens: 0 })
      }
    })
})

test('betas reach the vendor of messages but those that we withhold, and what they allow with them', () =>
  before('messages', async (server) => {
    const edits = [{ type: 'clear_thinking_20251015', keep: 'all' }]
    const body = {
      ...callers.messages[1],
      max_tokens: 9,
      messages: [...hi, { role: 'system', content: 'Be brief.' }],
      tools: [{ name: 'f', input_schema: { type: 'object' }, defer_loading: true }],
      context_management: { edits },
      mcp_servers: [],
      next: { to: ['come'] },
    }
    // A beta and a member that nobody here has heard of, names of later dates, and one that no header may have.
    const asked = {
      'anthropic-beta': `${claudeCode},oauth-2025-04-20,constructor,Fast-Mode-2027-01-01,skills-20270101,next-2027-01-01,x\u00a0y`,
    }
    const response = await server.post('/v1/messages', body, asked)
    expect(response.status).toBe(200)
    const sent = server.asked.at(-1)
    expect(sent?.headers.get('anthropic-beta')).toBe(
      `${claudeCode.replace(', ', ',')},constructor,next-2027-01-01`,
    )
    expect(sent?.body).toMatchObject({
      context_management: { edits },
      messages: body.messages,
      tools: body.tools,
      next: body.next,
    })
    expect(sent?.body.mcp_servers).toBeUndefined()
    expect(response.headers.get('x-not-carried')).toBe(
      'mcp_servers, anthropic-beta oauth-2025-04-20, anthropic-beta Fast-Mode-2027-01-01, anthropic-beta skills-20270101, anthropic-beta x?y',
    )
    // In the body, as clients of other clouds send them.
    await server.post('/v1/messages', { ...body, anthropic_beta: ['interleaved-thinking-2025-05-14'] })
    const last = server.asked.at(-1)
    expect([last?.headers.get('anthropic-beta'), last?.body.anthropic_beta]).toEqual([
      'interleaved-thinking-2025-05-14',
      undefined,
    ])
    // Without its beta the vendor would refuse to manage the context.
    const without = await server.post('/v1/messages', {
      ...callers.messages[1],
      max_tokens: 9,
      context_management: { edits },
    })
    expect([without.status, without.headers.get('x-not-carried')]).toEqual([200, 'context_management'])
    expect(server.asked.at(-1)?.headers.has('anthropic-beta')).toBe(false)
    expect(server.asked.at(-1)?.body.context_management).toBeUndefined()
  }))

test('what of the betas would change the bill is refused by name, and priced where its price is known', async () => {
  const long = { 'anthropic-beta': 'context-1m-2025-08-07' }
  const body = { ...callers.messages[1], max_tokens: 9 }
  await before('messages', async (server) => {
    const refused = await server.post('/v1/messages', body, long)
    expect([refused.status, (await jsonOf(refused)).error.param]).toEqual([400, 'anthropic-beta'])
    const edited = { ...body, context_management: { edits: [{ type: 'rewrite_20280101' }] } }
    const rewriting = await server.post('/v1/messages', edited, { 'anthropic-beta': claudeCode })
    expect([rewriting.status, (await jsonOf(rewriting)).error.param]).toEqual([
      400,
      'context_management.edits[0].type',
    ])
    for (const name of ['speed', 'billing_policy', 'fallback_credit_token', 'workspace_id']) {
      const one = await server.post('/v1/messages', { ...body, [name]: 'fast' })
      expect([name, one.status, (await jsonOf(one)).error.param]).toEqual([name, 400, name])
    }
    expect(await server.heldAfterAll()).toBe(0n)
  })
  await before(
    'messages',
    async (server) => {
      expect((await server.post('/v1/messages', body, long)).status).toBe(200)
      expect(server.asked.at(-1)?.headers.get('anthropic-beta')).toBe(long['anthropic-beta'])
    },
    { model: { contextTokens: 1_000_000 } },
  )
})

test('towards another dialect betas are named, and Bedrock takes its own among the fields of the model', async () => {
  const body = {
    ...callers.messages[1],
    max_tokens: 9,
    tools: [{ name: 'f', input_schema: {}, defer_loading: true }],
  }
  await before('chat', async (server) => {
    const response = await server.post('/v1/messages', body, { 'anthropic-beta': claudeCode })
    expect(response.headers.get('x-not-carried')?.split(', ')).toEqual(
      expect.arrayContaining(claudeCode.split(/, ?/).map((name) => `anthropic-beta ${name}`)),
    )
    expect(server.asked.at(-1)?.headers.has('anthropic-beta')).toBe(false)
  })
  await before(
    'converse',
    async (server) => {
      const response = await server.post('/v1/messages', body, { 'anthropic-beta': claudeCode })
      expect(response.headers.get('x-not-carried')).not.toContain('interleaved')
      expect(response.headers.get('x-not-carried')).toContain('anthropic-beta claude-code-20250219')
      const fields = server.asked.at(-1)?.body.additionalModelRequestFields
      expect(fields).toEqual({ anthropic_beta: ['interleaved-thinking-2025-05-14'] })
    },
    { model: { upstreamName: 'anthropic.claude-sonnet-4-5-v1:0' } },
  )
})

test('tools that the caller runs are taken in families, and those of the vendor refused for what they are', () =>
  before('messages', async (server) => {
    const body = { ...callers.messages[1], max_tokens: 9 }
    for (const type of ['computer_toolset_20260801', 'browser_toolset_20260801'])
      expect((await server.post('/v1/messages', { ...body, tools: [{ type }] })).status).toBe(200)
    const code = await server.post('/v1/messages', {
      ...body,
      tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
    })
    expect([code.status, (await jsonOf(code)).error.param]).toEqual([400, 'tools[0].type'])
  }))

const twoCalls = {
  messages: () =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: ['a', 'b'].map((name) => ({ type: 'tool_use', id: `t_${name}`, name, input: { of: name } })),
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  gemini: () =>
    Response.json({
      candidates: [
        {
          content: {
            role: 'model',
            parts: ['a', 'b'].map((name) => ({ functionCall: { name, args: { of: name } } })),
          },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
    }),
}
const event = (type: string, members: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
const twoCallsStreamed = {
  messages: [
    event('message_start', {
      message: { id: 'm', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
    }),
    ...['a', 'b'].flatMap((name, index) => [
      event('content_block_start', { index, content_block: { type: 'tool_use', id: name, name, input: {} } }),
      event('content_block_delta', {
        index,
        delta: { type: 'input_json_delta', partial_json: `{"of":"${name}"}` },
      }),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }),
    event('message_stop', {}),
  ],
  gemini: [`data: ${JSON.stringify(await twoCalls.gemini().json())}\r\n\r\n`],
}

test.each(['messages', 'gemini'] as const)('functions of the older form are answered in it by %s', (speaks) =>
  before(speaks, async (server) => {
    const functions = ['a', 'b'].map((name) => ({ name, parameters: { type: 'object' } }))
    const called = { role: 'assistant', content: null, function_call: { name: 'a', arguments: '{}' } }
    const asked = {
      ...callers.chat[1],
      messages: [...hi, called, { role: 'function', name: 'a', content: 'one' }],
      functions,
    }
    server.answerWith(twoCalls[speaks])
    const whole = await server.post('/v1/chat/completions', asked)
    const { message, finish_reason } = (await jsonOf(whole)).choices[0]
    expect([message.function_call, message.tool_calls, finish_reason]).toEqual([
      { name: 'a', arguments: '{"of":"a"}' },
      undefined,
      'function_call',
    ])
    expect(whole.headers.get('x-not-carried')).toContain('tool_calls')
    server.answerWith(() => streaming([...twoCallsStreamed[speaks]]))
    const text = await (await server.post('/v1/chat/completions', { ...asked, stream: true })).text()
    const deltas = eventsOf(text).flatMap((data) =>
      data === '[DONE]' ? [] : (JSON.parse(data).choices ?? []),
    )
    const calls = deltas.flatMap(({ delta }: any) => delta.function_call ?? [])
    expect([calls[0].name, calls.map((one: any) => one.arguments ?? '').join('')]).toEqual([
      'a',
      '{"of":"a"}',
    ])
    expect(text).not.toContain('tool_calls":')
    expect(deltas.at(-1).finish_reason).toBe('function_call')
    expect(text).toContain(': x-not-carried: tool_calls\n')
  }),
)

test('an answer that its caller has begun is not begun again', () =>
  before('chat', async (server) => {
    const begun = 'The capital is'
    const asked = {
      ...callers.messages[1],
      max_tokens: 9,
      messages: [...hi, { role: 'assistant', content: begun }],
    }
    for (const [said, expected] of [
      [`${begun} Paris.`, ' Paris.'],
      [`\n${begun} Paris.`, ' Paris.'],
      [' Paris.', ' Paris.'],
      ['The capitals are', 'The capitals are'],
      ['The cap', 'The cap'],
    ] as const) {
      server.answerWith(() => completion(said))
      const whole = await server.post('/v1/messages', asked)
      expect([whole.headers.get('x-not-carried'), (await jsonOf(whole)).content[0].text]).toEqual([
        'prefill',
        expected,
      ])
      server.answerWith(() => streaming(streamEvents([...said])))
      const text = await (await server.post('/v1/messages', { ...asked, stream: true })).text()
      const lines = text.split('\n').filter((line) => line.startsWith('data: '))
      const deltas = lines.map((line) => JSON.parse(line.slice(6)).delta?.text ?? '')
      expect(deltas.join('')).toBe(expected)
    }
    const plain = await server.post('/v1/messages', { ...asked, messages: hi })
    expect(plain.headers.get('x-not-carried')).toBeNull()
  }))

test('clients of messages find the id of a call where their vendor has it', () =>
  before('chat', async (server) => {
    for (const status of [200, 400]) {
      const response = await server.post('/v1/messages', {
        ...callers.messages[1],
        ...(status === 200 ? { max_tokens: 9 } : {}),
      })
      expect([response.status, response.headers.get('request-id')]).toEqual([
        status,
        response.headers.get('x-request-id'),
      ])
    }
    const chat = await server.post('/v1/chat/completions', callers.chat[1])
    expect(chat.headers.has('request-id')).toBe(false)
  }))

test.each(['chat', 'gemini'] as const)(
  'one object for a list of contents is taken, before a vendor of %s',
  (speaks) =>
    before(speaks, async (server) => {
      const contents = { role: 'user', parts: { text: 'hi' } }
      const system_instruction = { parts: { text: 'Be brief.' } }
      const response = await server.post('/v1beta/models/mock/small:generateContent', {
        contents,
        system_instruction,
      })
      expect(response.status).toBe(200)
      if (speaks === 'gemini') expect(server.asked.at(-1)?.body).toEqual({ contents, system_instruction })
      else expect(server.asked.at(-1)?.text).toContain('Be brief.')
      const search = { contents, tools: { googleSearch: {} } }
      expect((await server.post('/v1beta/models/mock/small:generateContent', search)).status).toBe(400)
    }),
)

test('the header names no more than a header holds', () =>
  before('chat', async (server) => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`member_${at}`, 1]))
    const response = await server.post('/v1/messages', { ...callers.messages[1], ...many, max_tokens: 9 })
    const names = response.headers.get('x-not-carried')?.split(', ') ?? []
    expect([names.length, names[0], names.at(-1)]).toEqual([61, 'member_0', 'and 440 more'])
  }))

test('a tool that is shown again is held for again', () =>
  before('messages', async (server) => {
    const described = 'x'.repeat(2_000)
    const tool = { name: 'f', description: described, input_schema: { type: 'object' }, defer_loading: true }
    const shown = (times: number) => [
      ...hi,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'c',
            content: Array.from({ length: times }, () => ({ type: 'tool_reference', tool_name: 'f' })),
          },
        ],
      },
    ]
    const estimated = async (times: number) => {
      const response = await server.post('/v1/messages/count_tokens', {
        model: 'mock/small',
        messages: shown(times),
        tools: [tool],
      })
      return (await jsonOf(response)).input_tokens
    }
    // A vendor that does not count leaves the estimate: it grows by the whole tool.
    server.answerWith(() => new Response('{}', { status: 404 }))
    expect((await estimated(3)) - (await estimated(1))).toBeGreaterThan(900)
  }))
