/** The dialect in which models of OpenAI and Google are asked: the caller's own if it can carry the call, else the other one. */
import { expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import { bodyOf, present } from '../core/json-body.ts'
import { buildCatalogue } from '../pricing/catalogue.ts'
import { azure } from '../vendors/azure.ts'
import { googleRequestStyle } from '../vendors/google/google.ts'
import { openai } from '../vendors/openai/openai.ts'
import { upstreamDialect } from './upstream-dialect.ts'

const catalogue = buildCatalogue({
  vendors: [openai, azure].map(({ id, requestStyleOf }) => ({ id, requestStyleOf })),
  extra: [],
  overrides: {},
  markup: '1',
  discount: '1',
  now: () => 0,
})

const dialectOf = (id: string, dialect: Call['dialect'], request: object = {}) => {
  const model = catalogue.find(id)
  if (model === undefined) throw new Error(`no model ${id}`)
  const body = bodyOf(JSON.parse(JSON.stringify(request)))
  return upstreamDialect({ dialect, body } as Call, model, {})
}

const tools = [{ type: 'function', function: { name: 'f' } }]
const [chat, responses] = ['chat', 'responses'] as const

test.each([
  ['openai/gpt-4o', chat],
  ['openai/gpt-5', chat],
  ['openai/gpt-5.4', chat],
  ['openai/gpt-6-sol', chat],
  ['openai/gpt-5-codex', responses],
  ['openai/gpt-5.1-codex-max', responses],
  ['openai/codex-mini-latest', responses],
  ['openai/o3-pro', responses],
  ['openai/gpt-5.5-pro', responses],
  ['openai/gpt-5.6-cyber', responses],
  ['azure/gpt-5.3-codex', responses],
  ['azure/gpt-4.1', chat],
  ['azure/phi-4', chat],
])('%s is asked by a caller of chat completions in %s', (id, expected) => {
  expect(dialectOf(id, 'chat', { messages: [] })).toBe(expected)
})

test('a caller of responses passes through wherever the model speaks it', () => {
  for (const id of ['openai/gpt-4o', 'openai/gpt-5.6-sol', 'openai/o3-pro', 'azure/gpt-5'])
    expect(dialectOf(id, 'responses', { input: 'hi' })).toBe('responses')
  for (const id of ['openai/o1-preview', 'azure/phi-4'])
    expect(dialectOf(id, 'responses', { input: 'hi' })).toBe('chat')
})

test.each([
  // Without an effort gpt-5.4 takes tools in chat completions; gpt-5.6 takes them only without any thinking.
  ['openai/gpt-5.2', { tools, reasoning_effort: 'high' }, chat],
  ['openai/gpt-5.4', { tools }, chat],
  ['openai/gpt-5.4', { tools, reasoning_effort: 'none' }, chat],
  ['openai/gpt-5.4-mini', { tools, reasoning_effort: 'low' }, responses],
  ['openai/gpt-5.5', { functions: [{ name: 'f' }], reasoning_effort: 'low' }, responses],
  ['openai/gpt-5.6-luna', { tools }, responses],
  ['openai/gpt-5.6-luna', { tools, reasoning_effort: 'none' }, chat],
  ['openai/gpt-6-astra', { tools, reasoning_effort: 'low' }, responses],
  ['openai/gpt-6-astra', { reasoning_effort: 'low' }, chat],
])('%s with %j goes where it is carried', (id, request, expected) => {
  expect(dialectOf(id, 'chat', request)).toBe(expected)
})

test('Google is asked in the style of the caller where the model has it, else by generate-content', () => {
  const style = (name: string, dialect: 'interactions' | 'gemini' | 'chat') =>
    upstreamDialect(
      { dialect, body: bodyOf({}) } as Call,
      { ...present({ requestStyle: googleRequestStyle(name) }) },
      { speaks: 'gemini' },
    )
  expect(style('gemini-3.8-flash', 'interactions')).toBe('interactions')
  expect(style('gemini-3.8-flash', 'gemini')).toBe('gemini')
  expect(style('gemini-3.8-flash', 'chat')).toBe('gemini')
  expect(style('gemini-2.0-flash', 'interactions')).toBe('gemini')
})

test('tools of other dialects go where an effort may stand beside them', () => {
  for (const [dialect, request] of [
    ['messages', { tools: [{ name: 'f', input_schema: {} }] }],
    ['gemini', { tools: [{ functionDeclarations: [{ name: 'f' }] }] }],
  ] as const) {
    expect(dialectOf('openai/gpt-5.4', dialect, request)).toBe('responses')
    expect(dialectOf('openai/gpt-5.1', dialect, request)).toBe('chat')
    expect(dialectOf('openai/gpt-5.4', dialect, {})).toBe('chat')
  }
})

test("the discounted twin is asked as its model is, and a model's own record comes before its vendor's", () => {
  const requestStyle = { in: 'chat' } as const
  const own = { ...catalogue.find('openai/gpt-4o')!, id: 'openai/mine', requestStyle }
  const with2 = buildCatalogue({
    vendors: [{ id: 'openai', requestStyleOf: openai.requestStyleOf }],
    extra: [own],
    overrides: {},
    markup: '1',
    discount: '0.5',
    now: () => 0,
  })
  const twins = with2.list().filter(({ cheaper }) => cheaper !== undefined)
  expect(twins.length).toBeGreaterThan(0)
  for (const { id, requestStyle: twin } of twins)
    expect([id, twin]).toEqual([id, with2.find(id.slice(0, -1))?.requestStyle])
  expect(with2.find('openai/mine')?.requestStyle).toEqual(requestStyle)
})
