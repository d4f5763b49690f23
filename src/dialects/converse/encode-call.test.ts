/** What Amazon's models would refuse a whole call for is not sent to them. */
import { expect, test } from 'bun:test'
import { bodyFor, codecOf } from '../../../test/dialects/codecs.ts'
import { Refusal } from '../../core/refusal.ts'

const cache_control = { type: 'ephemeral' }
const point = { cachePoint: { type: 'default' } }
const marked = (text: string) => ({ type: 'text', text, cache_control })

/** Marks everywhere that a client of messages may put them. */
const request = {
  model: 'a/b',
  max_tokens: 100,
  system: [marked('Be brief.')],
  messages: [
    { role: 'user', content: [marked('hi'), { type: 'text', text: '', cache_control }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {}, cache_control }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [marked('done')] }] },
  ],
  tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control }],
}

const toolSpec = { name: 'f', inputSchema: { json: { type: 'object' } } }
const toolUse = { toolUseId: 'c', name: 'f', input: {} }
const toolResult = { toolUseId: 'c', content: [{ text: 'done' }] }

const ALL = [1, 1, 1, 1, 1]
const TEXTS = [1, 1, 0, 0, 0]
const NONE = [0, 0, 0, 0, 0]

test.each([
  ['us.anthropic.claude-haiku-4-5-20251001-v1:0', ALL],
  ['arn:aws:bedrock:us-east-1:1:application-inference-profile/x', ALL],
  ['anthropic.claude-3-haiku-20240307-v1:0', NONE],
  ['us.amazon.nova-pro-v1:0', TEXTS],
  ['nvidia.nemotron-super-3-120b', NONE],
  ['openai.gpt-oss-120b-1:0', NONE],
])('%s gets the marks for the cache that it takes', (upstreamName, [system, text, call, result, tool]) => {
  const change = { model: { upstreamName } }
  const points = (count = 0) => Array.from({ length: count }, () => point)
  const body = bodyFor('messages', 'converse', request, change)
  expect(body.system).toEqual([{ text: 'Be brief.' }, ...points(system)])
  expect(body.messages.map(({ content }: { content: object[] }) => content)).toEqual([
    [{ text: 'hi' }, ...points(text)],
    [{ toolUse }, ...points(call)],
    [{ toolResult }, ...points(result)],
  ])
  expect(body.toolConfig.tools).toEqual([{ toolSpec }, ...points(tool)])
  const codec = codecOf('messages', 'converse', request, change)
  if (codec instanceof Refusal) throw new Error(codec.message)
  expect(codec.notCarried).toEqual(tool === 1 ? [] : ['cache_control'])
})

test('turns alternate, whatever a client keeps of an answer in which nothing was said', () => {
  const user = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] })
  const silent = [
    { role: 'assistant', content: [{ type: 'text', text: ' ' }] },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: '' }] },
  ]
  for (const answer of silent) {
    const messages = [user('a'), answer, user('b'), answer, user('c'), { role: 'assistant', content: 'd' }]
    const body = bodyFor('messages', 'converse', { model: 'a/b', max_tokens: 100, messages })
    expect(body.messages).toEqual([
      { role: 'user', content: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] },
      { role: 'assistant', content: [{ text: 'd' }] },
    ])
  }
})
