/** Which chat-completions requests are accepted, member by member. */
import { expect, test } from 'bun:test'
import { readJsonBody } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { decodeChatCall } from './call.ts'

const decode = (value: object) => {
  const body = readJsonBody(new TextEncoder().encode(JSON.stringify(value)))
  if (body instanceof Refusal) throw new Error(body.message)
  return decodeChatCall(body)
}
const good = { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] }

const bad: readonly (readonly [string, object, string])[] = [
  ['no model', { ...good, model: undefined }, 'model'],
  ['a model that is no string', { ...good, model: 7 }, 'model'],
  ['no messages', { model: 'a/b' }, 'messages'],
  ['empty messages', { ...good, messages: [] }, 'messages'],
  ['messages that are no list', { ...good, messages: {} }, 'messages'],
  ['a message that is no object', { ...good, messages: ['hi'] }, 'messages[0]'],
  ['an unknown role', { ...good, messages: [{ role: 'king', content: 'hi' }] }, 'messages[0].role'],
  ['a user message without content', { ...good, messages: [{ role: 'user' }] }, 'messages[0].content'],
  ['content of the wrong type', { ...good, messages: [{ role: 'user', content: 1 }] }, 'messages[0].content'],
  [
    'a part without a type',
    { ...good, messages: [{ role: 'user', content: [{}] }] },
    'messages[0].content[0].type',
  ],
  ['a temperature above 2', { ...good, temperature: 2.1 }, 'temperature'],
  ['a temperature below 0', { ...good, temperature: -0.1 }, 'temperature'],
  ['a temperature in words', { ...good, temperature: '1' }, 'temperature'],
  ['max_tokens of 0', { ...good, max_tokens: 0 }, 'max_tokens'],
  ['a fractional max_tokens', { ...good, max_tokens: 1.5 }, 'max_tokens'],
  ['a max_tokens beyond integers', { ...good, max_tokens: 1e300 }, 'max_tokens'],
  ['a negative max_completion_tokens', { ...good, max_completion_tokens: -1 }, 'max_completion_tokens'],
  ['two different bounds', { ...good, max_tokens: 5, max_completion_tokens: 6 }, 'max_completion_tokens'],
  ['n of 0', { ...good, n: 0 }, 'n'],
  ['n above 128', { ...good, n: 129 }, 'n'],
  ['stream in words', { ...good, stream: 'yes' }, 'stream'],
  ['a function without a name', { ...good, functions: [{ parameters: {} }] }, 'functions[0].name'],
  ['a tool without a type', { ...good, tools: [{}] }, 'tools[0].type'],
  ['a dearer service tier', { ...good, service_tier: 'priority' }, 'service_tier'],
  ['an unpriced search', { ...good, web_search_options: {} }, 'web_search_options'],
  ['a choice of other models', { ...good, models: ['a/c'] }, 'models'],
]

test.each(bad)('%s is an invalid parameter that is named', (_what, value, param) => {
  const refusal = decode(value)
  if (!(refusal instanceof Refusal)) throw new Error('accepted')
  expect([refusal.code, refusal.status, refusal.members.param]).toEqual(['invalid_parameter', 400, param])
})

test('what the official clients send is accepted: nulls, 0 and 2 as temperature, tool turns, parts', () => {
  const call = decode({
    ...good,
    temperature: 0,
    top_p: null,
    stop: ['a'],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 1,
    n: 2,
    messages: [
      { role: 'developer', content: 'be brief' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'x', content: 'done' },
      { role: 'user', content: [{ type: 'text', text: 'see' }] },
    ],
    unknown_member: { kept: true },
  })
  expect(call).toMatchObject({ kind: 'chat', stream: true, showUsage: true, maxOutput: 1, choices: 2 })
})

test('inlined media is not counted as text', () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(10_000)}` } }
  const audio = { type: 'input_audio', input_audio: { data: 'B'.repeat(5_000), format: 'wav' } }
  const call = decode({ ...good, messages: [{ role: 'user', content: [image, audio] }] })
  if (call instanceof Refusal) throw new Error(call.message)
  expect(call.size.images).toBe(1)
  expect(call.size.audioBytes).toBe(5_000)
  expect(call.size.textBytes).toBeLessThan(300)
})
