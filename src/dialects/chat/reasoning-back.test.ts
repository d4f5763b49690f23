/**
 * Reasoning that a caller sends back to vendors of chat completions: each vendor gets what its documentation asks for.
 */
import { expect, test } from 'bun:test'
import { context } from '../../../test/dialects/steps.ts'
import { testModel } from '../../../test/server/harness.ts'
import { bodyOf, type JsonObject } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { vendors } from '../../vendors/index.ts'
import type { Vendor } from '../../vendors/vendor.ts'
import { codecFor } from '../call-codec.ts'
import { decodeMessagesCall } from '../messages/call.ts'
import { decodeResponsesCall } from '../responses/call.ts'
import { decodeChatCall } from './call.ts'

const decoders = { chat: decodeChatCall, messages: decodeMessagesCall, responses: decodeResponsesCall }

const sent = (vendor: Vendor, caller: keyof typeof decoders, request: JsonObject) => {
  const call = decoders[caller](bodyOf(request))
  if (call instanceof Refusal) throw new Error(call.message)
  const model = testModel('m', { capabilities: ['reasoning'] })
  const target = { model, quirks: vendor, outputBound: undefined, stream: false }
  const codec = codecFor({ call, target, traits: vendor, context: () => context(request) })
  if (codec instanceof Refusal) throw new Error(codec.message)
  const body = JSON.parse(new TextDecoder().decode(codec.body))
  return { answered: body.messages[1], notCarried: codec.notCarried }
}

const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }]
const result = { role: 'tool', tool_call_id: 'c', content: 'done' }
const thought = {
  reasoning_content: 'hm',
  reasoning: 'hm',
  reasoning_details: [{ type: 'reasoning.text', text: 'hm' }],
}
const chat = (answer: JsonObject): JsonObject => ({
  model: 'a/b',
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: calls, ...answer },
    result,
  ],
})
const messages = (thoughts: JsonObject[]): JsonObject => ({
  model: 'a/b',
  max_tokens: 9,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [...thoughts, { type: 'tool_use', id: 'c', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'done' }] },
  ],
})

const withRule = (rule: Vendor['reasoningBack']): readonly Vendor[] =>
  vendors.filter(({ speaks, reasoningBack }) => speaks === undefined && reasoningBack === rule)
const ids = (rule: Vendor['reasoningBack']) => withRule(rule).map(({ id }) => id)

test('the rules, vendor by vendor', () => {
  expect(ids('needed').toSorted()).toEqual(['deepseek', 'moonshot'])
  expect(ids('taken')).toEqual(['zai'])
  expect(ids('refused').toSorted()).toEqual(['azure', 'cerebras', 'groq', 'mistral', 'openai'])
})

test.each(ids('refused'))('%s: reasoning is left out, and told', (id) => {
  const vendor = vendors.find((one) => one.id === id)
  if (vendor === undefined) throw new Error('no vendor')
  const { answered, notCarried } = sent(vendor, 'chat', chat(thought))
  expect([answered, notCarried]).toEqual([
    { role: 'assistant', content: null, tool_calls: calls },
    ['thinking'],
  ])
  expect(sent(vendor, 'chat', chat({})).notCarried).toEqual([])
  const translated = sent(vendor, 'messages', messages([{ type: 'thinking', thinking: 'hm', signature: '' }]))
  expect([Object.keys(translated.answered).includes('reasoning_content'), translated.notCarried]).toEqual([
    false,
    ['thinking'],
  ])
})

test.each([...ids('needed'), ...ids('taken'), ...ids(undefined)])(
  '%s: reasoning of the same dialect passes as it came',
  (id) => {
    const vendor = vendors.find((one) => one.id === id)
    if (vendor === undefined) throw new Error('no vendor')
    const { answered, notCarried } = sent(vendor, 'chat', chat(thought))
    expect([answered.reasoning_content, answered.reasoning_details, notCarried]).toEqual([
      'hm',
      thought.reasoning_details,
      [],
    ])
  },
)

test('a call without its thought goes with an empty one where the vendor refuses it without', () => {
  const [needs] = withRule('needed')
  const [takes] = withRule('taken')
  if (needs === undefined || takes === undefined) throw new Error('no vendor')
  const own = { type: 'thinking', thinking: 'hm', signature: '' }
  expect(sent(needs, 'messages', messages([own])).answered.reasoning_content).toBe('hm')
  expect(sent(needs, 'messages', messages([])).answered.reasoning_content).toBe('')
  expect(sent(takes, 'messages', messages([own])).answered.reasoning_content).toBe('hm')
  expect(sent(takes, 'messages', messages([])).answered.reasoning_content).toBeUndefined()
})

test('a reference to a thought is left out, and named: nothing is stored', () => {
  const [needs] = withRule('needed')
  if (needs === undefined) throw new Error('no vendor')
  const request = {
    model: 'a/b',
    input: [
      { role: 'user', content: 'hi' },
      { type: 'item_reference', id: 'rs_1' },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'done' },
    ],
  }
  const { answered, notCarried } = sent(needs, 'responses', request)
  expect([answered.tool_calls, answered.reasoning_content, notCarried]).toEqual([calls, '', ['thinking']])
})
