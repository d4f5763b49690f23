/** What was found by attacking guardrails: each was a way past them, or a call that its caller did not pay for. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { hookTextsOf } from '../../src/guardrails/hook-texts.ts'
import type { GuardRule } from '../../src/guardrails/rules.ts'
import { until } from '../until.ts'
import { withRules } from './guard-rig.ts'
import { completion, startTestServer, streaming, type TestServer, testModel } from './harness.ts'

const SECRET = 'AKIAIOSFODNN7EXAMPLE'
const EMAIL = 'ann.o@example.com'
const block = (detect: string[], on: 'input' | 'output'): GuardRule => ({ detect, action: 'block', on })
const mask = (detect: string[], on: 'input' | 'output'): GuardRule => ({ detect, action: 'mask', on })

let server: TestServer
let gemini: TestServer
beforeAll(async () => {
  server = await startTestServer({ models: [testModel('small')] })
  gemini = await startTestServer({ vendor: { speaks: 'gemini' }, models: [testModel('small')] })
})
afterAll(async () => {
  await server.stop()
  await gemini.stop()
})

const chat = (body: object) =>
  server.post('/v1/chat/completions', {
    model: 'mock/small',
    messages: [{ role: 'user', content: 'hi' }],
    ...body,
  })

const chunk = (choices: object[], more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', created: 1, model: 'small', choices, ...more })}\n\n`
const said = (...texts: string[]): string =>
  chunk(texts.map((content, index) => ({ index, delta: { content }, finish_reason: null })))
const END = `${chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])}${chunk([], {
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})}data: [DONE]\n\n`

test('an answer that is blocked at its first words is charged, and no fault of its vendor', async () => {
  await withRules(server, [block(['email'], 'output')])
  for (const pieces of [[said(`${EMAIL} now`), END], [said('') + said(`${EMAIL} now`) + END]]) {
    server.answerWith(() => streaming(pieces))
    const [asked, before] = [server.asked.length, await server.balance()]
    const text = await (await chat({ stream: true })).text()
    expect([text.includes('guardrail_blocked'), text.includes(EMAIL)]).toEqual([true, false])
    expect([server.asked.length - asked, before > (await server.balance()), server.openCalls()]).toEqual([
      1,
      true,
      0,
    ])
  }
  await withRules(server, null)
})

test('an answer that is blocked is given to no repeat, and kept for no later turn', async () => {
  await withRules(server, [block(['email'], 'output')])
  server.answerWith(() => completion(`write ${EMAIL} now`))
  const body = { model: 'mock/small', messages: [{ role: 'user', content: 'hi' }] }
  const statuses: number[] = []
  for (let copies = 0; copies < 2; copies++) {
    const response = await server.post('/v1/chat/completions', body, { 'idempotency-key': 'blocked' })
    statuses.push(response.status)
    expect(await response.text()).not.toContain(EMAIL)
  }
  expect(statuses).toEqual([400, 410])
  const stored = await server.post('/v1/responses', { model: 'mock/small', input: 'hi', store: true })
  const id = `resp_${(stored.headers.get('x-request-id') ?? '').replaceAll('-', '')}`
  expect([stored.status, (await server.get(`/v1/responses/${id}`)).status]).toEqual([400, 404])
  const begun: any = await (
    await server.post('/v1/responses', { model: 'mock/small', input: 'hi', background: true })
  ).json()
  let ended: any
  await until(async () => {
    ended = await (await server.get(`/v1/responses/${begun.id}`)).json()
    return !['queued', 'in_progress'].includes(ended.status)
  })
  expect([ended.status, JSON.stringify(ended).includes(EMAIL)]).toEqual(['failed', false])
  await withRules(server, null)
})

test('several choices in one event are looked through apart', async () => {
  await withRules(server, [mask(['email'], 'output')])
  const [first, second] = [`${EMAIL} one`, 'bob.o@example.org two']
  for (const cut of [1, 4, 8, 12]) {
    server.answerWith(() =>
      streaming([
        said(first.slice(0, cut), second.slice(0, cut)),
        said(first.slice(cut), second.slice(cut)),
        END,
      ]),
    )
    const text = await (await chat({ stream: true, n: 2 })).text()
    const texts = ['', '']
    for (const [, json = ''] of text.matchAll(/^data: (\{.*)$/gm))
      for (const { index, delta } of JSON.parse(json).choices ?? []) texts[index] += delta.content ?? ''
    expect([cut, ...texts]).toEqual([cut, '[EMAIL] one', '[EMAIL] two'])
  }
  await withRules(server, null)
})

test('words that look like the address of bytes are words in answers too', async () => {
  await withRules(server, [mask(['email'], 'output')])
  server.answerWith(() => completion(`data: ${EMAIL}`))
  expect(await (await chat({})).text()).toContain('data: [EMAIL]')
  server.answerWith(() => streaming([said('data: '), said(`data:${EMAIL} `), END]))
  expect(await (await chat({ stream: true })).text()).not.toContain(EMAIL)
  await withRules(server, null)
})

test('no answer tells its tokens one by one while a rule masks it', async () => {
  await withRules(server, [mask(['email'], 'output')])
  const asked = server.asked.length
  const ways = [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], logprobs: true }],
    ['/v1/responses', { input: 'hi', include: ['message.output_text.logprobs'] }],
    ['/v1/responses', { input: 'hi', top_logprobs: 2 }],
    [
      '/v1beta/models/mock/small:generateContent',
      { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { responseLogprobs: true } },
    ],
    ['/api/chat', { messages: [{ role: 'user', content: 'hi' }], logprobs: true }],
  ] as const
  for (const [path, body] of ways) {
    const text = await (await server.post(path, { model: 'mock/small', ...body })).text()
    expect([path, text.includes('logprobs say an answer once more') ? '' : text]).toEqual([path, ''])
  }
  expect(server.asked.length).toBe(asked)
  await withRules(server, [block(['email'], 'output')])
  server.answerWith(() => completion('hello'))
  expect((await chat({ logprobs: true })).status).toBe(200)
  await withRules(server, null)
})

test('no answer is spoken or painted while a rule looks into answers, unless it lets such pass', async () => {
  const ways = [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], modalities: ['text', 'audio'] }],
    ['/v1beta/interactions', { input: 'hi', response_modalities: ['audio'] }],
    [
      '/v1beta/models/mock/small:generateContent',
      { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { responseModalities: ['AUDIO'] } },
    ],
  ] as const
  for (const action of ['block', 'mask', 'log'] as const) {
    await withRules(server, [{ detect: ['email'], action, on: 'output' }])
    const asked = server.asked.length
    for (const [path, body] of ways) {
      const text = await (await server.post(path, { model: 'mock/small', ...body })).text()
      expect([path, text.includes('cannot look into images or sound') ? '' : text]).toEqual([path, ''])
    }
    expect(server.asked.length).toBe(asked)
  }
  await withRules(server, [mask(['email'], 'output'), { images: 'pass' }])
  server.answerWith(() => completion('hello'))
  expect((await chat({ modalities: ['text'] })).status).toBe(200)
  expect(await (await chat({ modalities: ['text', 'audio'] })).text()).not.toContain('cannot look into')
  await withRules(server, null)
})

test('a short file within a request is a file', async () => {
  await withRules(gemini, [block(['secrets'], 'input')])
  const data = Buffer.from(`use ${SECRET}`).toString('base64')
  for (const part of [
    { inlineData: { mimeType: 'text/plain', data } },
    { inline_data: { mime_type: 'text/plain', data } },
  ]) {
    const asked = gemini.asked.length
    const contents = [{ role: 'user', parts: [{ text: 'read' }, part] }]
    const response = await gemini.post('/v1beta/models/mock/small:generateContent', { contents })
    expect([response.status, gemini.asked.length - asked]).toEqual([400, 0])
  }
  await withRules(gemini, null)
})

test('what is put back into streamed arguments leaves them JSON', async () => {
  await withRules(server, [mask(['private_key'], 'input')])
  const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----'
  const call = { name: 'send', arguments: '{"to":"[PRIVATE_KEY_1]"}' }
  server.answerWith(() =>
    streaming([
      chunk([{ index: 0, delta: { tool_calls: [{ index: 0, id: 'c', type: 'function', function: call }] } }]),
      END,
    ]),
  )
  const text = await (
    await server.post('/v1/responses', {
      model: 'mock/small',
      input: key,
      store: false,
      stream: true,
      tools: [{ type: 'function', name: 'send', parameters: { type: 'object' } }],
    })
  ).text()
  const deltas = [...text.matchAll(/^data: (\{"type":"response.function_call_arguments.delta".*)$/gm)]
  const whole = deltas.map(([, json = '']) => JSON.parse(json).delta).join('')
  expect(JSON.parse(whole)).toEqual({ to: key })
  await withRules(server, null)
})

test('a hook sees names that are texts', () => {
  const { texts } = hookTextsOf(
    '{"parameters":{"properties":{"say this to them":{"type":"string"}}},"data":"data: words"}',
  )
  expect(texts).toEqual(['say this to them', 'data: words'])
})

test('a hook sees short names and marks in free data, and not those of the protocol', () => {
  const inner = { [SECRET]: { id: 'one', type: 'two' } }
  const seen = (body: object) => hookTextsOf(JSON.stringify(body)).texts
  const words = [SECRET, 'id', 'one', 'type', 'two']
  expect(
    seen({ messages: [{ role: 'user', content: [{ type: 'tool_use', id: 't', input: inner }] }] }),
  ).toEqual(words)
  expect(seen({ contents: [{ parts: [{ functionCall: { name: 'f', args: inner } }] }] })).toEqual(words)
  expect(seen({ contents: [{ parts: [{ functionResponse: { name: 'f', response: inner } }] }] })).toEqual(
    words,
  )
  expect(seen({ model: 'm', input: [{ type: 'message', role: 'user', content: 'hi' }] })).toEqual(['hi'])
  expect(seen({ metadata: { [SECRET]: 'x y' } })).toEqual([SECRET, 'x y'])
})

test('every member in which a stream brings its words is joined, in each style', async () => {
  await withRules(server, [mask(['email'], 'output')])
  const carriers: ((text: string) => object)[] = [
    (content) => ({ content }),
    (text) => ({ content: [{ type: 'text', text }] }),
    (reasoning) => ({ reasoning }),
    (text) => ({ reasoning_content: text }),
    (text) => ({ reasoning_details: [{ type: 'reasoning.text', index: 0, text }] }),
    (summary) => ({ reasoning_details: [{ type: 'reasoning.summary', index: 0, summary }] }),
    (refusal) => ({ refusal }),
    (transcript) => ({ audio: { transcript } }),
    (text) => ({
      tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: text } }],
    }),
    (input) => ({ tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'f', input } }] }),
  ]
  const model = 'mock/small'
  const messages = [{ role: 'user', content: 'hi' }]
  const styles = [
    ['/v1/chat/completions', { model, messages, stream: true }],
    ['/v1/messages', { model, messages, stream: true, max_tokens: 2_000 }],
    ['/v1/responses', { model, input: 'hi', stream: true, store: false }],
    ['/v1beta/interactions', { model, input: 'hi', stream: true, store: false }],
    ['/v1beta/models/mock/small:streamGenerateContent?alt=sse', { contents: [{ parts: [{ text: 'hi' }] }] }],
    ['/v2/chat', { model, messages, stream: true }],
    ['/api/chat', { model, messages, stream: true }],
  ] as const
  for (const [path, body] of styles)
    for (const carrier of carriers) {
      const pieces = ['{"a":"ann.o@exa', 'mple.com"}'].map((text) =>
        chunk([{ index: 0, delta: carrier(text) }]),
      )
      server.answerWith(() => streaming([said('x '), ...pieces, END]))
      const response = await server.post(path, body)
      const where = [path, JSON.stringify(carrier('…'))]
      expect([...where, response.status, (await response.text()).includes('ann.o@exa')]).toEqual([
        ...where,
        200,
        false,
      ])
    }
  await withRules(server, null)
})
