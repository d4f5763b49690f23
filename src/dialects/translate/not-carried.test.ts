/**
 * What a request asks for and a vendor's dialect cannot express: the caller gets its name, or the call is refused. It
 * is never dropped silently.
 */
import { expect, test } from 'bun:test'
import { type CallerId, clients } from '../../../test/dialects/clients.ts'
import { bodyFor, codecOf } from '../../../test/dialects/codecs.ts'
import { billed, closing, type WrittenId } from '../../../test/dialects/steps.ts'
import { bodyOf } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'

const user = (...content: object[]) => ({ role: 'user', content })
const hi = { type: 'text', text: 'hi' }
const chat = (content: object[], more: object = {}) => ({
  model: 'a/b',
  messages: [user(...content)],
  ...more,
})
const messages = (content: object[], more: object = {}) => ({ ...chat(content, more), max_tokens: 9 })
const gemini = (parts: object[], more: object = {}) => ({ contents: [{ role: 'user', parts }], ...more })
const interactions = (input: object[], more: object = {}) => ({ model: 'a/b', input, ...more })
const responses = (input: object[], more: object = {}) => ({ model: 'a/b', input, ...more })
const said = { role: 'user', content: 'hi' }

type RequestCase = readonly [caller: CallerId, vendors: readonly WrittenId[], what: string, request: object]

const refused: readonly RequestCase[] = [
  ['chat', ['messages', 'gemini'], 'a stored file', chat([{ type: 'file', file: { file_id: 'f' } }])],
  [
    'chat',
    ['messages', 'gemini'],
    'a part of another kind',
    chat([hi, { type: 'video_url', video_url: { url: 'x' } }]),
  ],
  [
    'chat',
    ['messages', 'converse', 'responses'],
    'audio',
    chat([{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }]),
  ],
  ['chat', ['messages', 'converse', 'responses'], 'several answers', chat([hi], { n: 2 })],
  ['chat', ['responses'], 'a bound that the vendor does not take', chat([hi], { max_tokens: 15 })],
  [
    'chat',
    ['messages', 'converse', 'responses'],
    'an answer in sound',
    chat([hi], { modalities: ['text', 'audio'] }),
  ],
  [
    'messages',
    ['chat', 'gemini'],
    'a stored file',
    messages([{ type: 'document', source: { type: 'file', file_id: 'f' } }]),
  ],
  [
    'messages',
    ['chat', 'gemini'],
    'results of search',
    messages([{ type: 'search_result', source: 's', content: [] }]),
  ],
  [
    'messages',
    ['chat', 'gemini'],
    'a tool of its vendor',
    messages([hi], { tools: [{ type: 'bash_20250124', name: 'bash' }] }),
  ],
  [
    'messages',
    ['chat', 'converse'],
    'a document by address',
    messages([{ type: 'document', source: { type: 'url', url: 'https://x/y.pdf' } }]),
  ],
  [
    'messages',
    ['chat', 'gemini'],
    'a stored file in a document of parts',
    messages([
      {
        type: 'document',
        source: {
          type: 'content',
          content: [hi, { type: 'image', source: { type: 'file', file_id: 'f' } }],
        },
      },
    ]),
  ],
  ['gemini', ['chat', 'messages'], 'video', gemini([{ inlineData: { mimeType: 'video/mp4', data: 'AA' } }])],
  [
    'gemini',
    ['chat', 'messages'],
    'an answer in sound',
    gemini([{ text: 'hi' }], { generationConfig: { responseModalities: ['AUDIO'] } }),
  ],
  ['gemini', ['chat', 'messages'], 'a part of another kind', gemini([{ newKind: {} }])],
  ['interactions', ['chat', 'messages'], 'video', interactions([{ type: 'video', data: 'AA' }])],
  [
    'interactions',
    ['chat', 'messages', 'gemini'],
    'a content of another kind',
    interactions([{ type: 'new_kind' }]),
  ],
  [
    'interactions',
    ['chat', 'gemini'],
    'a step of a hosted tool',
    interactions([
      { type: 'file_search_call', id: 'f' },
      { type: 'user_input', content: [{ type: 'text', text: 'x' }] },
    ]),
  ],
  [
    'responses',
    ['chat', 'messages', 'gemini'],
    'a call of a hosted tool',
    responses([said, { type: 'web_search_call', id: 'w' }]),
  ],
  [
    'responses',
    ['chat', 'messages', 'gemini'],
    'a stored picture',
    responses([{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }]),
  ],
]

for (const [caller, vendors, what, request] of refused)
  test.each(vendors)(`${caller} to %s: ${what} is refused by name`, (vendor) => {
    const codec = codecOf(caller, vendor, request)
    if (!(codec instanceof Refusal)) throw new Error('accepted')
    expect([codec.status, codec.code, typeof codec.members.param]).toEqual([
      400,
      'invalid_parameter',
      'string',
    ])
  })

const namedWhenLost: readonly (readonly [...RequestCase, readonly string[]])[] = [
  [
    'chat',
    ['messages'],
    'sampling',
    chat([hi], { seed: 1, presence_penalty: 1, temperature: 1.5 }),
    ['seed', 'presence_penalty', 'temperature above 1'],
  ],
  [
    'chat',
    ['responses'],
    'what its models choose by themselves',
    chat([hi], { seed: 1, temperature: 0.5, top_p: 0.5, stop: ['x'], logprobs: true, frequency_penalty: 1 }),
    ['seed', 'temperature', 'top_p', 'stop', 'logprobs', 'frequency_penalty'],
  ],
  [
    'messages',
    ['responses'],
    'particulars and thoughts of another vendor',
    {
      max_tokens: 99,
      top_k: 5,
      messages: [
        user({ ...hi, cache_control: { type: 'ephemeral' } }),
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 't', signature: 's' },
            { type: 'tool_use', id: 't', name: 'f', input: {} },
          ],
        },
        user(
          { type: 'tool_result', tool_use_id: 't', content: 'no', is_error: true },
          { type: 'document', title: 'a.txt', source: { type: 'text', media_type: 'text/plain', data: 'x' } },
        ),
      ],
    },
    ['top_k', 'cache_control', 'is_error', 'thinking', 'filename'],
  ],
  [
    'chat',
    ['gemini'],
    'members',
    chat([hi], { user: 'u', parallel_tool_calls: false, logit_bias: { 1: 1 } }),
    ['user', 'parallel_tool_calls', 'logit_bias'],
  ],
  [
    'chat',
    ['messages', 'gemini'],
    'tools of other kinds',
    chat([hi], { tools: [{ type: 'custom', custom: { name: 'x' } }] }),
    ['tools custom'],
  ],
  [
    'chat',
    ['messages', 'gemini'],
    'names of speakers',
    { messages: [{ role: 'user', name: 'n', content: 'hi' }] },
    ['name'],
  ],
  [
    'chat',
    ['messages', 'gemini'],
    'a system message in the middle',
    { messages: [user(hi), { role: 'system', content: 's' }, user(hi)] },
    ['system message position'],
  ],
  [
    'messages',
    ['chat', 'gemini'],
    'marks for the cache',
    messages([{ ...hi, cache_control: { type: 'ephemeral' } }]),
    ['cache_control'],
  ],
  [
    'messages',
    ['chat', 'gemini'],
    'marks for the cache on tools',
    messages([hi], {
      tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }],
    }),
    ['cache_control'],
  ],
  [
    'messages',
    ['chat', 'gemini'],
    'the title and the mark of a document of parts',
    messages([
      {
        type: 'document',
        title: 'a.txt',
        source: { type: 'content', content: [hi, hi] },
        cache_control: { type: 'ephemeral' },
      },
    ]),
    ['cache_control', 'filename'],
  ],
  ['messages', ['chat'], 'top_k', messages([hi], { top_k: 5 }), ['top_k']],
  [
    'messages',
    ['chat', 'gemini'],
    'thoughts of another vendor',
    {
      max_tokens: 9,
      messages: [
        user(hi),
        { role: 'assistant', content: [{ type: 'thinking', thinking: 't', signature: 's' }, hi] },
        user(hi),
      ],
    },
    ['thinking'],
  ],
  [
    'gemini',
    ['chat', 'messages'],
    'settings',
    gemini([{ text: 'hi' }], { safetySettings: [{}], generationConfig: { mediaResolution: 'LOW' } }),
    ['safetySettings', 'mediaResolution'],
  ],
  [
    'gemini',
    ['chat', 'messages'],
    'tools that run at the vendor',
    gemini([{ text: 'hi' }], { tools: [{ codeExecution: {} }] }),
    ['tools codeExecution'],
  ],
  [
    'interactions',
    ['chat', 'messages', 'gemini'],
    'tools that run at the vendor, and the steps of its search',
    interactions(
      [
        { type: 'google_search_call', id: 's', arguments: { queries: ['x'] } },
        { type: 'user_input', content: [{ type: 'text', text: 'x' }] },
      ],
      { tools: [{ type: 'code_execution' }], safety_settings: [{}] },
    ),
    ['safety_settings', 'tools code_execution', 'input google_search_call'],
  ],
  [
    'interactions',
    ['chat', 'messages'],
    'a format whose kind is no text',
    interactions([{ type: 'user_input', content: [{ type: 'text', text: 'x' }] }], {
      response_format: { type: { toString: 1 } },
    }),
    ['response_format type'],
  ],
  [
    'responses',
    ['chat', 'messages', 'gemini'],
    'hosted tools',
    responses([said], { tools: [{ type: 'web_search' }], store: true }),
    ['tools web_search'],
  ],
  [
    'chat',
    ['converse'],
    'what has no words there',
    chat([hi, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'high' } }], {
      seed: 1,
      temperature: 1.5,
      messages: [
        { role: 'user', name: 'ann', content: [hi] },
        {
          role: 'assistant',
          content: 'x',
          reasoning_content: 'hm',
          images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
        },
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'high' } }],
        },
      ],
      tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: { type: 'object' } } }],
    }),
    ['seed', 'temperature above 1', 'strict', 'name', 'detail', 'thinking', 'images of an answer'],
  ],
  [
    'chat',
    ['messages', 'converse', 'responses'],
    'a seed of 0, but no penalty of 0,',
    chat([hi], { seed: 0, presence_penalty: 0, frequency_penalty: 0 }),
    ['seed'],
  ],
  [
    'chat',
    ['converse'],
    'sampling beside reasoning',
    chat([hi], { reasoning_effort: 'low', temperature: 0.5, top_p: 0.5, max_tokens: 9_000 }),
    ['temperature', 'top_p'],
  ],
]

for (const [caller, vendors, what, request, names] of namedWhenLost)
  test.each(vendors)(`${caller} to %s: ${what} left out, and named`, (vendor) => {
    const codec = codecOf(caller, vendor, request)
    if (codec instanceof Refusal) throw new Error(codec.message)
    for (const name of names) expect(codec.notCarried).toContain(name)
    expect(codec.notCarried.length).toBe(names.length)
  })

test('results of tools keep the order of their calls, and stand together', () => {
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
  const picture = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }
  const input = [
    said,
    call('a'),
    call('b'),
    { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'rb' }, picture] },
    { type: 'function_call_output', call_id: 'a', output: 'ra' },
  ]
  const { contents } = bodyFor('responses', 'gemini', responses(input))
  const given = contents.at(-1).parts.flatMap((part: any) => part.functionResponse?.response.output ?? [])
  expect(given).toEqual(['ra', 'rb'])
  const roles = bodyFor('responses', 'chat', responses(input)).messages.map(({ role }: any) => role)
  expect(roles).toEqual(['user', 'assistant', 'tool', 'tool', 'user'])
})

test('thinking gives way to a tool that is forced, and stays within what the model takes', () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const forced = chat([hi], { tools, tool_choice: 'required', reasoning_effort: 'high', max_tokens: 20_000 })
  const body = bodyFor('chat', 'messages', forced)
  expect([body.tool_choice, body.thinking]).toEqual([{ type: 'any' }, undefined])
  const off = messages([hi], { thinking: { type: 'disabled' } })
  expect(bodyFor('messages', 'gemini', off).generationConfig.thinkingConfig).toEqual({ thinkingBudget: 128 })
})

test('converse: what that vendor would refuse is not sent', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }
  const turns = [
    user(hi, file, file),
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ]
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const spec = { toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }
  // Tools that were used are declared, even when none may be called; lost thoughts end the thinking.
  for (const more of [{ tools, tool_choice: 'none' }, {}]) {
    const request = { model: 'a/b', messages: turns, reasoning_effort: 'high', max_tokens: 20_000, ...more }
    const body = bodyFor('chat', 'converse', request)
    expect(body.toolConfig).toEqual({ tools: [spec] })
    expect(body.additionalModelRequestFields).toBeUndefined()
    const names = body.messages[0].content.flatMap((block: any) => block.document?.name ?? [])
    expect(names).toEqual(['a-pdf', 'a-pdf 2'])
  }
  expect(bodyFor('chat', 'converse', chat([hi], { tools, tool_choice: 'none' })).toolConfig).toBeUndefined()
})

test('responses: what the agents of that style add later, and in namespaces, is one list of flat names elsewhere', () => {
  const inner = { type: 'function', name: 'search', description: 'Finds', parameters: { type: 'object' } }
  const input = [
    said,
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'namespace', name: 'mcp__docs', tools: [inner] }],
    },
    { type: 'function_call', call_id: 'c', namespace: 'mcp__docs', name: 'search', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'found' },
  ]
  const request = responses(input, { tools: [{ type: 'custom', name: 'patch' }, inner] })
  const body = bodyFor('responses', 'chat', request)
  expect(body.tools.map((tool: any) => tool.function.name)).toEqual(['patch', 'search', 'mcp__docs__search'])
  expect(body.messages.at(-2).tool_calls[0].function.name).toBe('mcp__docs__search')
  const codec = codecOf('responses', 'chat', request)
  if (codec instanceof Refusal) throw new Error(codec.message)
  const calls = ['mcp__docs__search', 'search', 'patch'].map((name, index) => ({
    index,
    id: `c${index}`,
    type: 'function',
    function: { name, arguments: '{"input":"x"}' },
  }))
  const named = [
    ['function_call', 'mcp__docs', 'search'],
    ['function_call', undefined, 'search'],
    ['custom_tool_call', undefined, 'patch'],
  ]
  const namesOf = (output: any) => output.map(({ type, namespace, name }: any) => [type, namespace, name])
  const answer = { id: 'a', model: 'm', choices: [{ index: 0, message: { tool_calls: calls } }] }
  const whole = codec.readWhole(bodyOf(JSON.parse(JSON.stringify(answer))).bytes)
  expect(namesOf(JSON.parse(new TextDecoder().decode(whole?.addBill(billed))).output)).toEqual(named)
  const relay = codec.relay()
  const event = {
    id: 'a',
    model: 'm',
    choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: 'stop' }],
  }
  const bytes = relay.follow({ data: JSON.stringify(event), bytes: new Uint8Array() }) ?? new Uint8Array()
  const seen = clients.responses.stream(Buffer.concat([bytes, closing(relay.end(billed))]))
  expect(namesOf(seen.turn)).toEqual(named)
})
