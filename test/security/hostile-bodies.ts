/** Long bodies of a stranger, by n: each aims at a look-up, a search or a copy for every item. */

const times = <T>(n: number, make: (at: number) => T): T[] => Array.from({ length: n }, (_, at) => make(at))
const text = { type: 'text', text: 'x' }
const schema = { type: 'object', properties: { a: { type: 'string' } } }
const fn = (name: string, parameters: unknown = schema) => ({
  type: 'function',
  function: { name, parameters },
})
const say = (content: unknown, more: object = {}) => ({ messages: [{ role: 'user', content }], ...more })
const call = (at: number) => ({
  id: `call_${at}`,
  type: 'function',
  function: { name: 'f', arguments: '{}' },
})
const wide = (n: number) => ({
  type: 'object',
  properties: Object.fromEntries(times(n, (at) => [`p${at}`, { type: ['string', 'null'] }])),
  required: times(n, (at) => `p${at}`),
})
const referring = (n: number) => ({
  type: 'object',
  properties: Object.fromEntries(times(n, (at) => [`p${at}`, { $ref: `#/$defs/d${at}` }])),
  $defs: Object.fromEntries(times(n, (at) => [`d${at}`, { anyOf: [{ type: 'string' }, { type: 'null' }] }])),
})

type Family = (n: number) => object | string

const chat: Readonly<Record<string, Family>> = {
  'calls of tools, each answered': (n) => ({
    messages: times(n, (at) => [
      { role: 'assistant', tool_calls: [call(at)] },
      { role: 'tool', tool_call_id: `call_${at}`, content: 'x' },
    ]).flat(),
    tools: [fn('f')],
  }),
  'many calls at once, answered in the opposite order': (n) => ({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_calls: times(n, call) },
      ...times(n, (at) => ({ role: 'tool', tool_call_id: `call_${n - 1 - at}`, content: 'x' })),
    ],
    tools: [fn('f')],
  }),
  'answers of tools that nobody called': (n) =>
    say('x', {
      messages: times(n, (at) => ({ role: 'tool', tool_call_id: `call_${at}`, content: 'x' })),
    }),
  'tools with names of one beginning': (n) =>
    say('x', { tools: times(n, (at) => fn(`${'a'.repeat(70)}${at}`)) }),
  'tools with one name': (n) => say('x', { tools: times(n, () => fn('a.b')) }),
  'tools that a choice allows': (n) =>
    say('x', {
      tools: times(n, (at) => fn(`f${at}`)),
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'auto',
          tools: times(n, (at) => ({ type: 'function', function: { name: `f${at}` } })),
        },
      },
    }),
  'parts of a message': (n) => say(times(n, () => text)),
  'pictures of a message': (n) =>
    say(times(n, () => ({ type: 'image_url', image_url: { url: 'https://e.test/x.png' } }))),
  'marks for the cache': (n) => say(times(n, () => ({ ...text, cache_control: { type: 'ephemeral' } }))),
  'messages of one side': (n) => ({ messages: times(n, () => ({ role: 'user', content: 'x' })) }),
  'messages of the system': (n) => ({
    messages: [...times(n, () => ({ role: 'system', content: 'x' })), { role: 'user', content: 'x' }],
  }),
  'members that nobody knows': (n) => say('x', Object.fromEntries(times(n, (at) => [`m${at}`, 1]))),
  'members that are there twice': (n) =>
    `${times(n, (at) => `${at === 0 ? '{' : ''}"m${at % 2}":1,`).join('')}"messages":[{"role":"user","content":"x"}]}`,
  'stop sequences': (n) => say('x', { stop: times(n, (at) => `s${at}`) }),
  'a bias for many tokens': (n) =>
    say('x', { logit_bias: Object.fromEntries(times(n, (at) => [String(at), 1])) }),
  'a wide schema': (n) => say('x', { tools: [fn('f', wide(n))] }),
  'a wide schema of the answer': (n) =>
    say('x', { response_format: { type: 'json_schema', json_schema: { name: 's', schema: wide(n) } } }),
  'references of a schema': (n) => say('x', { tools: [fn('f', referring(n))] }),
  'references of the answer’s schema': (n) =>
    say('x', { response_format: { type: 'json_schema', json_schema: { name: 's', schema: referring(n) } } }),
  blanks: (n) => say(' '.repeat(20 * n)),
  'quotes and backslashes': (n) => say('\\"'.repeat(10 * n)),
  'dense letters': (n) => say('漢'.repeat(10 * n)),
  thoughts: (n) => ({
    messages: [
      {
        role: 'assistant',
        content: 'x',
        reasoning_details: times(n, (index) => ({ type: 'reasoning.text', text: 'x', index })),
      },
      { role: 'user', content: 'x' },
    ],
  }),
}

const use = (at: number) => ({ type: 'tool_use', id: `toolu_${at}`, name: 'f', input: {} })
const used = (at: number) => ({ type: 'tool_result', tool_use_id: `toolu_${at}`, content: 'x' })

const messages: Readonly<Record<string, Family>> = {
  'calls of tools, each answered': (n) => ({
    messages: times(n, (at) => [
      { role: 'assistant', content: [use(at)] },
      { role: 'user', content: [used(at)] },
    ]).flat(),
  }),
  'many calls at once, answered in the opposite order': (n) => ({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: times(n, use) },
      { role: 'user', content: times(n, (at) => used(n - 1 - at)) },
    ],
  }),
  'parts of the system': (n) =>
    say('x', { system: times(n, () => ({ ...text, cache_control: { type: 'ephemeral' } })) }),
  tools: (n) => say('x', { tools: times(n, (at) => ({ name: `f${at}`, input_schema: schema })) }),
  'a wide schema': (n) => say('x', { tools: [{ name: 'f', input_schema: referring(n) }] }),
  betas: (n) => say('x', { betas: times(n, (at) => `beta-${at}`) }),
  thoughts: (n) => ({
    messages: [
      {
        role: 'assistant',
        content: [...times(n, () => ({ type: 'thinking', thinking: 'x', signature: 'c2ln' })), text],
      },
      { role: 'user', content: 'x' },
    ],
  }),
}

const gemini: Readonly<Record<string, Family>> = {
  'calls of tools, each answered': (n) => ({
    contents: times(n, () => [
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] },
    ]).flat(),
  }),
  'many calls at once': (n) => ({
    contents: [
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: times(n, (at) => ({ functionCall: { name: `f${at}`, args: {} } })) },
      {
        role: 'user',
        parts: times(n, (at) => ({ functionResponse: { name: `f${n - 1 - at}`, response: {} } })),
      },
    ],
  }),
  parts: (n) => ({ contents: [{ role: 'user', parts: times(n, () => ({ text: 'x' })) }] }),
  tools: (n) => ({
    contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    tools: [{ function_declarations: times(n, (at) => ({ name: `f${at}`, parameters: schema })) }],
  }),
  'a wide schema': (n) => ({
    contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    generationConfig: { responseMimeType: 'application/json', responseSchema: wide(n) },
  }),
}

const responses: Readonly<Record<string, Family>> = {
  'calls of tools, each answered': (n) => ({
    input: times(n, (at) => [
      { type: 'function_call', call_id: `call_${at}`, name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: `call_${at}`, output: 'x' },
    ]).flat(),
  }),
  'many calls at once, answered in the opposite order': (n) => ({
    input: [
      { role: 'user', content: 'x' },
      ...times(n, (at) => ({ type: 'function_call', call_id: `call_${at}`, name: 'f', arguments: '{}' })),
      ...times(n, (at) => ({ type: 'function_call_output', call_id: `call_${n - 1 - at}`, output: 'x' })),
    ],
  }),
  thoughts: (n) => ({
    input: [
      ...times(n, (at) => ({ type: 'reasoning', id: `rs_${at}`, summary: [], encrypted_content: 'c2ln' })),
      { role: 'user', content: 'x' },
    ],
  }),
  messages: (n) => ({ input: times(n, () => ({ role: 'user', content: 'x' })) }),
  tools: (n) => ({
    input: 'x',
    tools: times(n, (at) => ({ type: 'function', name: `f${at}`, parameters: schema })),
  }),
  'tools in namespaces': (n) => ({
    input: 'x',
    tools: times(n, (at) => ({
      type: 'namespace',
      name: `n${at}`,
      description: 'x',
      tools: [{ type: 'function', name: 'f', parameters: schema }],
    })),
  }),
  'a wide schema': (n) => ({
    input: 'x',
    text: { format: { type: 'json_schema', name: 's', schema: referring(n) } },
  }),
}

const userStep = { type: 'user_input', content: [text] }
const callStep = (at: number) => ({ type: 'function_call', id: `call_${at}`, name: 'f', arguments: {} })
const resultStep = (at: number) => ({
  type: 'function_result',
  call_id: `call_${at}`,
  name: 'f',
  result: 'x',
})
const interactions: Readonly<Record<string, Family>> = {
  'calls of tools, each answered': (n) => ({
    input: [userStep, ...times(n, (at) => [callStep(at), resultStep(at)]).flat()],
  }),
  'many calls at once, answered in the opposite order': (n) => ({
    input: [userStep, ...times(n, callStep), ...times(n, (at) => resultStep(n - 1 - at))],
  }),
  thoughts: (n) => ({
    input: [...times(n, () => ({ type: 'thought', signature: 'c2ln', summary: [text] })), userStep],
  }),
  steps: (n) => ({ input: times(n, () => userStep) }),
  contents: (n) => ({ input: times(n, () => text) }),
  'steps of a search': (n) => ({
    input: [...times(n, () => ({ type: 'google_search_call', id: 's' })), userStep],
  }),
  tools: (n) => ({
    input: 'x',
    tools: times(n, (at) => ({ type: 'function', name: `f${at}`, parameters: schema })),
  }),
  'a wide schema': (n) => ({
    input: 'x',
    response_format: { type: 'text', mime_type: 'application/json', schema: referring(n) },
  }),
}

const embeddings: Readonly<Record<string, Family>> = {
  texts: (n) => ({ input: times(Math.min(n, 2_048), () => 'x') }),
  'token numbers': (n) => ({ input: times(n, (at) => at) }),
}

/** The bodies of each dialect, with many of something. */
const cohere: Readonly<Record<string, Family>> = {
  'many calls at once, answered in the opposite order': (n) => ({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_plan: 'x', tool_calls: times(n, call) },
      ...times(n, (at) => ({
        role: 'tool',
        tool_call_id: `call_${n - 1 - at}`,
        content: [{ type: 'document', document: { data: { a: 1 } } }],
      })),
    ],
    tools: [fn('f')],
  }),
  contents: (n) => say(times(n, () => text)),
  'tools with names of one beginning': (n) =>
    say('x', { strict_tools: true, tools: times(n, (at) => fn(`${'a'.repeat(70)}${at}`)) }),
}

const ollamaCall = (name: string) => ({ function: { name, arguments: {} } })

const ollama: Readonly<Record<string, Family>> = {
  'many calls at once, answered in the opposite order': (n) => ({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '', tool_calls: times(n, (at) => ollamaCall(`f${at}`)) },
      ...times(n, (at) => ({ role: 'tool', tool_name: `f${n - 1 - at}`, content: 'x' })),
    ],
    tools: [fn('f')],
  }),
  'many calls of one tool, answered without its name': (n) => ({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '', tool_calls: times(n, () => ollamaCall('f')) },
      ...times(n, () => ({ role: 'tool', content: 'x' })),
    ],
    tools: [fn('f')],
  }),
  pictures: (n) => ({ messages: [{ role: 'user', content: 'x', images: times(n, () => 'iVBORw0KGgo=') }] }),
}

export const hostileBodies = {
  chat,
  messages,
  gemini,
  responses,
  interactions,
  cohere,
  ollama,
  embeddings,
} as const
