/**
 * Spans against the table of the inference span in OpenTelemetry's conventions: open-telemetry/semantic-conventions-genai,
 * gen-ai-spans.md at commit 002c8a6. What is not sent has its reason.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { SpanNote, Traces } from '../../src/gateway/parts/spans.ts'
import { newMeters } from '../../src/metrics/meters.ts'
import { newRegistry } from '../../src/metrics/registry.ts'
import { until } from '../until.ts'
import { chat, completion, startTestServer, streamEvents, streaming, type TestServer } from './harness.ts'

const sent = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'error.type',
  'gen_ai.conversation.id',
  'gen_ai.output.type',
  'gen_ai.request.choice.count',
  'gen_ai.request.model',
  'gen_ai.request.seed',
  'gen_ai.request.stream',
  'gen_ai.request.top_k',
  'server.port',
  'gen_ai.request.frequency_penalty',
  'gen_ai.request.max_tokens',
  'gen_ai.request.presence_penalty',
  'gen_ai.request.temperature',
  'gen_ai.request.top_p',
  'gen_ai.response.model',
  'gen_ai.response.time_to_first_chunk',
  'gen_ai.usage.audio.input_tokens',
  'gen_ai.usage.audio.output_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.image.input_tokens',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.reasoning.output_tokens',
  'server.address',
]
/** Attributes of the embeddings span that the inference span has not. */
const ofEmbeddings = ['gen_ai.embeddings.dimension.count', 'gen_ai.request.encoding_formats']
const notSent: Readonly<Record<string, string>> = {
  'gen_ai.request.stop_sequences': 'words of the caller',
  'gen_ai.response.finish_reasons': 'answers pass through',
  'gen_ai.response.id': 'answers pass through',
  'gen_ai.usage.text.input_tokens': 'no vendor is priced by it, so it is not metered apart',
  'gen_ai.usage.text.output_tokens': 'no vendor is priced by it, so it is not metered apart',
  'gen_ai.usage.video.input_tokens': 'no vendor is priced by it, so it is not metered apart',
  'gen_ai.input.messages': 'content',
  'gen_ai.output.messages': 'content',
  'gen_ai.system_instructions': 'content',
  'gen_ai.tool.definitions': 'content',
}

const calls: SpanNote[] = []
const traces: Traces = { isSampled: () => true, end: ({ call }) => calls.push(call) }
const meters = newMeters(newRegistry(), ['team'])
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ traces, meters })
})
afterAll(() => server.stop())

const asked = async (path: string, body: object, headers: Record<string, string> = {}) => {
  calls.length = 0
  await (await server.post(path, body, headers)).text()
  await until(() => calls.length > 0)
  return calls[0]?.attributes ?? {}
}

test('each attribute of the conventions that is known without content is there, in its form', async () => {
  const secret = 'words-of-the-caller'
  server.answerWith(() => streaming(streamEvents(['a'])))
  const streamed = await asked(
    '/v1/chat/completions',
    chat({
      ...{ stream: true, max_tokens: 20, temperature: 0.5, top_p: 0.9, seed: 7, stop: [secret] },
      ...{ frequency_penalty: 0.1, presence_penalty: 0.2, response_format: { type: 'json_object' } },
      messages: [{ role: 'user', content: secret }],
    }),
    { 'x-session-id': 'conversation 1' },
  )
  expect(streamed).toMatchObject({
    'gen_ai.request.stream': true,
    'gen_ai.request.max_tokens': 20,
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.top_p': 0.9,
    'gen_ai.request.seed': 7,
    'gen_ai.request.frequency_penalty': 0.1,
    'gen_ai.request.presence_penalty': 0.2,
    'gen_ai.output.type': 'json',
    'gen_ai.conversation.id': 'conversation 1',
    'server.address': expect.any(String),
    'server.port': expect.any(Number),
  })
  expect(JSON.stringify(streamed)).not.toContain(secret)
  server.answerWith(() => completion('x'))
  const several = await asked('/v1/chat/completions', chat({ n: 2 }))
  expect(several['gen_ai.request.choice.count']).toBe(2)
  expect(several['gen_ai.request.stream']).toBeUndefined()
  const gemini = await asked('/v1beta/models/mock/small:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { temperature: 0.25, topP: 0.5, maxOutputTokens: 9 },
  })
  expect(gemini).toMatchObject({
    'gen_ai.operation.name': 'generate_content',
    'gen_ai.request.temperature': 0.25,
    'gen_ai.request.top_p': 0.5,
    'gen_ai.request.max_tokens': 9,
  })
  for (const attributes of [streamed, several, gemini])
    for (const name of Object.keys(attributes).filter((one) => /^(gen_ai|server)\./.test(one)))
      expect([name, sent.includes(name) || ofEmbeddings.includes(name)]).toEqual([name, true])
})

test('the code names each attribute that is sent, and none that is not', async () => {
  const source = await Bun.file(new URL('../../src/gateway/parts/end-span.ts', import.meta.url)).text()
  const isNamed = (name: string) =>
    source.includes(`'${name}'`) ||
    source.includes(`'${name.replace('gen_ai.', '')}'`) ||
    source.includes(`'${name.replace('gen_ai.usage.', '')}'`)
  for (const name of [...sent, ...ofEmbeddings]) expect([name, isNamed(name)]).toEqual([name, true])
  for (const name of Object.keys(notSent)) expect([name, isNamed(name)]).toEqual([name, false])
})

test('charges are counted by the tags that are named, and by no others', async () => {
  server.answerWith(() => completion('x'))
  for (const tags of ['team=red,feature=a', 'team=red', 'team=blue', 'feature=b'])
    await asked('/v1/chat/completions', chat(), { 'x-turnpike-tags': tags })
  const counted = [...(meters.registry.all().get('tagCalls')?.values() ?? [])]
  expect(counted.map((one) => [...one.labels, 'value' in one && one.value])).toEqual([
    ['team', 'red', 2],
    ['team', 'blue', 1],
  ])
  const [red] = [...(meters.registry.all().get('tagCharge')?.values() ?? [])]
  expect(red !== undefined && 'nano' in red && red.nano > 0n).toBe(true)
})
