/** Real requests of agents and libraries, and what vendors of another dialect get for them. */
import { expect, test } from 'bun:test'
import type { CallerId } from '../../test/dialects/clients.ts'
import { bodyFor, codecOf } from '../../test/dialects/codecs.ts'
import type { WrittenId } from '../../test/dialects/steps.ts'
import { billed } from '../../test/dialects/steps.ts'
import { Refusal } from '../core/refusal.ts'

const hi = [{ role: 'user', content: 'hi' }]
const parts = [{ text: 'hi' }]
const declared = ['a', 'b', 'c'].map((name) => ({ name, description: name, parameters: { type: 'object' } }))
const functions = declared.map((one) => ({ type: 'function', function: one }))
const flat = declared.map((one) => ({ type: 'function', ...one }))
const vendors = ['chat', 'messages', 'gemini', 'converse', 'responses', 'interactions'] as const

/** Names of the tools that a vendor gets, and its instructions about them. */
const toolsIn = (vendor: WrittenId, body: any): readonly [readonly string[], unknown] => {
  switch (vendor) {
    case 'chat':
      return [body.tools.map((one: any) => one.function.name), body.tool_choice]
    case 'messages':
      return [body.tools.map(({ name }: any) => name), body.tool_choice?.type]
    case 'gemini':
      return [
        body.tools[0].functionDeclarations.map(({ name }: any) => name),
        body.toolConfig?.functionCallingConfig.mode,
      ]
    case 'responses':
      return [body.tools.map(({ name }: any) => name), body.tool_choice]
    case 'interactions':
      return [body.tools.map(({ name }: any) => name), body.generation_config?.tool_choice]
    case 'converse':
      return [body.toolConfig.tools.map((one: any) => one.toolSpec.name), body.toolConfig.toolChoice]
  }
}
const required = {
  responses: 'required',
  chat: 'required',
  messages: 'any',
  gemini: 'ANY',
  converse: { any: {} },
  interactions: 'any',
} as const
const free = {
  responses: 'auto',
  chat: 'auto',
  messages: 'auto',
  gemini: 'AUTO',
  converse: undefined,
  interactions: 'auto',
} as const

const among = (mode: string, names: readonly string[]) => ({
  toolConfig: { functionCallingConfig: { mode, allowedFunctionNames: names } },
})
const someTools: readonly (readonly [CallerId, string, object, typeof required | typeof free])[] = [
  [
    'gemini',
    'ANY',
    { contents: [{ parts }], tools: [{ functionDeclarations: declared }], ...among('ANY', ['a', 'c']) },
    required,
  ],
  [
    'gemini',
    'VALIDATED',
    { contents: [{ parts }], tools: [{ functionDeclarations: declared }], ...among('VALIDATED', ['a', 'c']) },
    free,
  ],
  [
    'chat',
    'allowed_tools, required',
    {
      messages: hi,
      tools: functions,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [functions[0], functions[2]] },
      },
    },
    required,
  ],
  [
    'responses',
    'allowed_tools, auto',
    {
      input: 'hi',
      tools: flat,
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [flat[0], flat[2]] },
    },
    free,
  ],
]

for (const [caller, what, request, modes] of someTools)
  test.each(vendors.filter((one) => one !== caller))(
    `${caller} to %s: some of the tools, ${what}`,
    (vendor) => {
      expect(toolsIn(vendor, bodyFor(caller, vendor, request))).toEqual([['a', 'c'], modes[vendor]])
    },
  )

test('a choice among tools of which none is sent is refused', () => {
  const request = {
    contents: [{ parts }],
    tools: [{ functionDeclarations: declared }],
    ...among('ANY', ['x', 'y']),
  }
  const codec = codecOf('gemini', 'chat', request)
  expect(codec instanceof Refusal ? [codec.status, codec.members.param] : codec).toEqual([400, 'tool_choice'])
})

const search = { type: 'web_search' }
test.each<[CallerId, object]>([
  ['chat', { messages: hi, tool_choice: search }],
  ['chat', { messages: hi, tool_choice: { type: 'custom', custom: { name: 'x' } } }],
  ['chat', { messages: hi, tools: [search], tool_choice: 'required' }],
  ['responses', { input: 'hi', tools: [{ type: 'shell' }], tool_choice: { type: 'shell' } }],
])('%s: a forced tool that is not carried is refused: %j', (caller, request) => {
  for (const vendor of vendors.filter((one) => one !== caller)) {
    const codec = codecOf(caller, vendor, request)
    expect(codec instanceof Refusal ? [codec.status, codec.members.param] : codec).toEqual([
      400,
      'tool_choice',
    ])
  }
})

test('gemini: an object where a list of them stands means a list of one', () => {
  const one = {
    contents: { role: 'user', parts: { text: 'hi' } },
    systemInstruction: { parts: { text: 'Be brief.' } },
    tools: { functionDeclarations: declared[0] },
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: 'a' } },
    generationConfig: { stopSequences: 'x' },
  }
  const list = {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    system_instruction: { parts: [{ text: 'Be brief.' }] },
    tools: [{ function_declarations: [declared[0]] }],
    tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['a'] } },
    generation_config: { stop_sequences: ['x'] },
  }
  for (const vendor of ['chat', 'messages', 'converse'] as const) {
    const body = bodyFor('gemini', vendor, one)
    expect(body).toEqual(bodyFor('gemini', vendor, list))
    expect(JSON.stringify(body)).toContain('Be brief.')
    expect(toolsIn(vendor, body)[0]).toEqual(['a'])
  }
})

const notCarriedOf = (...args: Parameters<typeof codecOf>): readonly string[] => {
  const codec = codecOf(...args)
  if (codec instanceof Refusal) throw new Error(codec.message)
  return codec.notCarried
}
const messages = (more: object) => ({ max_tokens: 9_000, messages: hi, ...more })

test('who the user is goes as a hash where it is longer than the vendor takes', () => {
  const ofLength = (length: number) => messages({ metadata: { user_id: 'u'.repeat(length) } })
  expect(bodyFor('messages', 'chat', ofLength(64)).user).toBe('u'.repeat(64))
  const long = bodyFor('messages', 'chat', ofLength(150)).user
  expect(long).toMatch(/^[0-9a-f]{64}$/)
  expect(bodyFor('messages', 'chat', ofLength(150)).user).toBe(long)
  expect(bodyFor('messages', 'chat', ofLength(151)).user).not.toBe(long)
  const request = { messages: hi, user: 'u'.repeat(300) }
  expect(bodyFor('chat', 'messages', request).metadata.user_id).toMatch(/^[0-9a-f]{64}$/)
})

const longName = `mcp__${'server'.repeat(12)}__read.file`
const longId = `call_${'x'.repeat(60)}`
const withLongNames = messages({
  messages: [
    ...hi,
    { role: 'assistant', content: [{ type: 'tool_use', id: longId, name: longName, input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: longId, content: 'done' }] },
  ],
  tools: [
    { name: longName, input_schema: { type: 'object' } },
    { name: `${longName}s`, input_schema: { type: 'object' } },
  ],
  tool_choice: { type: 'tool', name: longName },
})

test('names and ids that are longer than a vendor takes are mapped, and the names back', () => {
  const codec = codecOf('messages', 'chat', withLongNames)
  if (codec instanceof Refusal) throw new Error(codec.message)
  const body = JSON.parse(new TextDecoder().decode(codec.body))
  const [short, other] = body.tools.map((one: any) => one.function.name)
  expect(short).toMatch(/^mcp__[a-zA-Z0-9_-]{1,59}$/)
  expect(other).not.toBe(short)
  const [call] = body.messages[1].tool_calls
  expect([call.function.name, body.tool_choice.function.name]).toEqual([short, short])
  expect(call.id.length).toBeLessThanOrEqual(40)
  expect(body.messages[2].tool_call_id).toBe(call.id)
  // The answer calls the tool by the name that its caller knows.
  const called = { id: 'c', type: 'function', function: { name: short, arguments: '{}' } }
  const choice = {
    index: 0,
    message: { role: 'assistant', content: null, tool_calls: [called] },
    finish_reason: 'tool_calls',
  }
  const reply = codec.readWhole(new TextEncoder().encode(JSON.stringify({ id: 'r', choices: [choice] })))
  const answer = JSON.parse(new TextDecoder().decode(reply?.addBill(billed)))
  expect(answer.content[0].name).toBe(longName)
  const delta = { id: 'r', choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...called }] } }] }
  const bytes = codec.relay().follow({ data: JSON.stringify(delta), bytes: new Uint8Array() })
  expect(new TextDecoder().decode(bytes)).toContain(`"name":"${longName}"`)
})

test('what fits is not mapped', () => {
  for (const vendor of ['messages', 'gemini', 'converse'] as const) {
    const body = bodyFor('responses', vendor, { input: 'hi', tools: flat })
    expect(toolsIn(vendor, body)[0]).toEqual(['a', 'b', 'c'])
  }
})

test('an answer in JSON is asked for in words too where no message does', () => {
  const requestWith = (text: string) => ({
    contents: [{ parts: [{ text }] }],
    generationConfig: { responseMimeType: 'application/json' },
  })
  const [first] = bodyFor('gemini', 'chat', requestWith('hi')).messages
  expect([first.role, first.content]).toEqual(['system', expect.stringContaining('JSON')])
  expect(bodyFor('gemini', 'chat', requestWith('as Json, please')).messages.length).toBe(1)
})

const openai = (upstreamName: string) => ({
  model: { upstreamName },
  traits: { reasoningOff: 'openai' as const },
})
const sampled = (more: object = {}) =>
  messages({ temperature: 0.5, top_p: 0.5, output_config: { effort: 'medium' }, ...more })

test('sampling that a reasoning model refuses is left out and named', () => {
  for (const name of ['gpt-5', 'gpt-5-mini-2025-08-07', 'o3', 'o4-mini', 'gpt-5.2', 'gpt-5.6']) {
    const body = bodyFor('messages', 'chat', sampled(), openai(name))
    expect([name, body.temperature, body.top_p]).toEqual([name, undefined, undefined])
    expect(notCarriedOf('messages', 'chat', sampled(), openai(name))).toEqual(['temperature', 'top_p'])
  }
  // The vendor's defaults need not be named, and models that do not think take all of it.
  expect(notCarriedOf('messages', 'chat', sampled({ temperature: 1, top_p: 1 }), openai('o3'))).toEqual([])
  for (const [name, more] of [
    ['gpt-5.2', { output_config: undefined, thinking: { type: 'disabled' } }],
    ['gpt-5.1', { output_config: undefined }],
    ['gpt-4.1', { output_config: undefined }],
    ['gpt-5-chat-latest', { output_config: undefined }],
  ] as const)
    expect(bodyFor('messages', 'chat', sampled(more), openai(name))).toMatchObject({
      temperature: 0.5,
      top_p: 0.5,
    })
})

const stopping: readonly (readonly [CallerId, object])[] = [
  ['messages', messages({ stop_sequences: ['END'] })],
  ['gemini', { contents: [{ parts }], generationConfig: { stopSequences: ['END'] } }],
]
const takesStops = ['o1', 'o3-mini', 'gpt-4.1', 'gpt-5-chat-latest']
test.each(
  ['o3', 'o4-mini-2025-04-16', 'gpt-5-mini', 'gpt-5.1', 'gpt-5.6', ...takesStops].flatMap((name) =>
    stopping.map(([caller, request]) => [name, caller, request] as const),
  ),
)('stop sequences that %s refuses are left out and named: from %s', (name, caller, request) => {
  const takes = takesStops.includes(name)
  expect(bodyFor(caller, 'chat', request, openai(name)).stop).toEqual(takes ? ['END'] : undefined)
  expect(notCarriedOf(caller, 'chat', request, openai(name))).toEqual(takes ? [] : ['stop'])
})

const resumed: readonly (readonly [CallerId, (id: boolean) => object])[] = [
  [
    'gemini',
    (id) => {
      const [call, result] = [
        { name: 'a', args: {}, ...(id ? { id: 'c1' } : {}) },
        { name: 'a', response: { output: 'once' }, ...(id ? { id: 'c1' } : {}) },
      ]
      const answered = { role: 'user', parts: [{ functionResponse: result }] }
      return {
        contents: [
          { parts },
          { role: 'model', parts: [{ functionCall: call }] },
          answered,
          answered,
          { parts },
        ],
        tools: [{ functionDeclarations: declared }],
      }
    },
  ],
  [
    'messages',
    () => {
      const result = { type: 'tool_result', tool_use_id: 'c1', content: 'once' }
      return messages({
        messages: [
          ...hi,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'a', input: {} }] },
          { role: 'user', content: [result, { ...result, cache_control: { type: 'ephemeral' } }] },
        ],
        tools: [{ name: 'a', input_schema: { type: 'object' } }],
      })
    },
  ],
  [
    'responses',
    () => ({
      input: [
        ...hi,
        { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'once' },
        { type: 'function_call_output', call_id: 'c1', output: 'once' },
      ],
      tools: flat,
    }),
  ],
  [
    'chat',
    () => ({
      messages: [
        ...hi,
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'a', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'once' },
        { role: 'tool', tool_call_id: 'c1', content: 'once' },
      ],
      tools: functions,
    }),
  ],
]
for (const [caller, request] of resumed)
  test.each(
    vendors
      .filter((one) => one !== caller)
      .flatMap(
        (one) =>
          [
            [one, true],
            [one, false],
          ] as const,
      ),
  )(`${caller} to %s: a result that is sent twice arrives once, ids: %p`, (vendor, ids) => {
    const sent = JSON.stringify(bodyFor(caller, vendor, request(ids)))
    expect(sent.split('"once"').length + sent.split('once').length).toBe(4)
  })

test('a second result that says something else, or answers a call sent again, is kept', () => {
  const call = { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' }
  const result = (output: string) => ({ type: 'function_call_output', call_id: 'c1', output })
  const results = (...input: object[]) =>
    bodyFor('responses', 'chat', { input: [...hi, ...input] }).messages.filter(
      ({ role }: any) => role === 'tool',
    ).length
  expect(results(call, result('x'), result('y'))).toBe(2)
  expect(results(call, result('x'), call, result('x'))).toBe(2)
  expect(results(call, result('x'), call, result('x'), result('x'))).toBe(2)
})

test('each model is asked for the effort it has', () => {
  const effortOf = (name: string, effort: string) =>
    bodyFor('messages', 'chat', messages({ output_config: { effort } }), openai(name)).reasoning_effort
  expect(
    ['o3', 'gpt-5', 'gpt-5.1', 'gpt-5.2', 'gpt-5-chat-latest'].map((name) => effortOf(name, 'max')),
  ).toEqual(['high', 'high', 'high', 'xhigh', undefined])
  const levelOf = (upstreamName: string, effort: string) =>
    bodyFor('messages', 'gemini', messages({ output_config: { effort } }), { model: { upstreamName } })
      .generationConfig.thinkingConfig.thinkingLevel
  expect(levelOf('gemini-3-flash-preview', 'medium')).toBe('medium')
  expect(levelOf('gemini-3-pro-preview', 'medium')).toBe('high')
  expect(levelOf('gemini-3.1-pro-preview', 'medium')).toBe('medium')
})

const offFor: readonly (readonly [string, WrittenId, object, object, readonly string[]])[] = [
  ['gpt-5.2', 'chat', { reasoningOff: 'openai' }, { reasoning_effort: 'none' }, []],
  ['gpt-5', 'chat', { reasoningOff: 'openai' }, { reasoning_effort: 'minimal' }, ['reasoning']],
  ['o3', 'chat', { reasoningOff: 'openai' }, { reasoning_effort: 'low' }, ['reasoning']],
  ['deepseek-v4', 'chat', { reasoningOff: 'thinking' }, { thinking: { type: 'disabled' } }, []],
  ['qwen3-max', 'chat', { reasoningOff: 'enable_thinking' }, { enable_thinking: false }, []],
  ['any', 'chat', { reasoningOff: 'none' }, { reasoning_effort: 'none' }, []],
  ['any', 'chat', {}, {}, ['reasoning']],
  ['claude-opus-5', 'messages', {}, { thinking: { type: 'disabled' } }, []],
  ['claude-fable-5', 'messages', {}, {}, ['reasoning']],
  [
    'anthropic.claude-opus-5-v1:0',
    'converse',
    {},
    { additionalModelRequestFields: { thinking: { type: 'disabled' } } },
    [],
  ],
  ['gemini-2.5-flash', 'gemini', {}, { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }, []],
  [
    'gemini-2.5-pro',
    'gemini',
    {},
    { generationConfig: { thinkingConfig: { thinkingBudget: 128 } } },
    ['reasoning'],
  ],
  [
    'gemini-3-flash',
    'gemini',
    {},
    { generationConfig: { thinkingConfig: { thinkingLevel: 'minimal' } } },
    ['reasoning'],
  ],
]
test.each(offFor)('reasoning is turned off: %s at %s', (upstreamName, vendor, traits, sent, named) => {
  const change = { model: { upstreamName }, traits }
  const requests = [
    ['responses', { input: 'hi', reasoning: { effort: 'none' } }],
    ['messages', messages({ thinking: { type: 'disabled' } })],
    ['chat', { messages: hi, reasoning_effort: 'none' }],
    ['gemini', { contents: [{ parts }], generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
  ] as const
  for (const [caller, request] of requests) {
    if (caller === vendor) continue
    expect(bodyFor(caller, vendor, request, change)).toMatchObject(sent)
    expect([caller, notCarriedOf(caller, vendor, request, change)]).toEqual([caller, named])
  }
})

test('models of Bedrock that choose their own budget get the effort', () => {
  const request = messages({
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
    temperature: 0.5,
  })
  const change = { model: { upstreamName: 'anthropic.claude-opus-4-7' } }
  const body = bodyFor('messages', 'converse', request, change)
  expect(body.additionalModelRequestFields).toEqual({
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'high' },
  })
  expect(notCarriedOf('messages', 'converse', request, change)).toEqual(['temperature'])
})

test('a schema beside tools is a tool for models that take one or the other', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const request = {
    messages: hi,
    tools: functions,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  }
  const older = bodyFor('chat', 'gemini', request, { model: { upstreamName: 'gemini-2.5-flash' } })
  expect(older.generationConfig.responseMimeType).toBeUndefined()
  expect(toolsIn('gemini', older)).toEqual([['a', 'b', 'c', 'answer_in_json'], 'ANY'])
  const newer = bodyFor('chat', 'gemini', request, { model: { upstreamName: 'gemini-3-flash' } })
  expect(newer.generationConfig).toMatchObject({
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
  })
  const alone = bodyFor(
    'chat',
    'gemini',
    { ...request, tools: [] },
    { model: { upstreamName: 'gemini-2.5-flash' } },
  )
  expect(alone.generationConfig.responseMimeType).toBe('application/json')
  const json = { ...request, response_format: { type: 'json_object' } }
  const words = bodyFor('chat', 'gemini', json, { model: { upstreamName: 'gemini-2.5-flash' } })
  expect([words.generationConfig, words.systemInstruction.parts[0].text]).toEqual([
    {},
    expect.stringContaining('JSON'),
  ])
})

test('a picture by an unregistered name of its type goes by the registered one', () => {
  const requests = [
    [
      'chat',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'data:image/jpg;base64,AAAA' } }],
          },
        ],
      },
    ],
    [
      'responses',
      {
        input: [
          { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/jpg;base64,AAAA' }] },
        ],
      },
    ],
    [
      'messages',
      messages({
        messages: [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/jpg', data: 'AAAA' } }],
          },
        ],
      }),
    ],
    ['gemini', { contents: [{ parts: [{ inlineData: { mimeType: 'image/jpg', data: 'AAAA' } }] }] }],
  ] as const
  for (const [caller, request] of requests)
    for (const vendor of vendors) {
      if (vendor === caller) continue
      const text = JSON.stringify(bodyFor(caller, vendor, request))
      expect([caller, vendor, /jpe?g/.exec(text)?.[0]]).toEqual([caller, vendor, 'jpeg'])
    }
})

test('tools that are added mid-way are there from the start', () => {
  const request = messages({
    messages: [
      ...hi,
      { role: 'system', content: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'f' } }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'find', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c', content: [{ type: 'tool_reference', tool_name: 'f' }] },
        ],
      },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' }, defer_loading: true }],
  })
  const body = bodyFor('messages', 'chat', request)
  expect([toolsIn('chat', body)[0], body.messages.at(-1).content]).toEqual([
    ['f'],
    'The tool f can be called now.',
  ])
  expect(notCarriedOf('messages', 'chat', request)).toEqual(['tools.defer_loading', 'tool_addition'])
})
