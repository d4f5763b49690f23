/** POST /v1/run of chat models: inputs in the form that the caller states; nothing is left out. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { jsonOf, startTestServer, type TestServer } from './harness.ts'

let claude: TestServer
beforeAll(async () => {
  claude = await startTestServer({ vendor: { speaks: 'messages' } })
  claude.answerWith(() =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'small',
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 1 },
    }),
  )
})
afterAll(() => claude.stop())

const run = (inputs: object, form?: unknown) =>
  claude.post('/v1/run', { model: 'mock/small', inputs, ...(form === undefined ? {} : { form }) })
const messages = [{ role: 'user', content: 'hi' }]

test('inputs of messages are sent as such, with their system prompt, and answered as such', async () => {
  const response = await run({ system: 'Be brief.', max_tokens: 10, messages }, 'messages')
  const body = await jsonOf(response)
  expect([response.status, body.type]).toEqual([200, 'message'])
  expect(claude.asked.at(-1)?.body).toMatchObject({ system: 'Be brief.', messages })
})

test('inputs of chat completions are translated', async () => {
  const body = await jsonOf(
    await run({ messages: [{ role: 'system', content: 'Be brief.' }, ...messages], max_tokens: 9 }),
  )
  expect(body.object).toBe('chat.completion')
  expect(JSON.stringify(claude.asked.at(-1)?.body.system)).toContain('Be brief.')
})

test('inputs of generate-content are translated', async () => {
  const body = await jsonOf(
    await run({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    }),
  )
  expect(body.candidates[0].content.parts).toEqual([{ text: 'hello' }])
  expect(JSON.stringify(claude.asked.at(-1)?.body.system)).toContain('Be brief.')
})

test('only what the caller states decides the form', async () => {
  for (const inputs of [
    { messages, max_tokens: 9 },
    { messages, max_tokens: 9, thinking: { type: 'disabled' } },
  ])
    expect((await jsonOf(await run(inputs, 'messages'))).type).toBe('message')
  expect((await jsonOf(await run({ messages, max_tokens: 9 }))).object).toBe('chat.completion')
  const response = await run({ system: 'Be brief.', max_tokens: 10, messages })
  const { error } = await jsonOf(response)
  expect([response.status, error.param]).toEqual([400, 'inputs.system'])
  expect(error.message).toContain('"form": "messages"')
  for (const form of ['responses', 5, '']) {
    const wrong = await run({ messages }, form)
    expect([form, wrong.status, (await jsonOf(wrong)).error.param]).toEqual([form, 400, 'form'])
  }
})

test('what no form knows, or another one, is refused and named', async () => {
  const asked = claude.asked.length
  for (const [inputs, param, form] of [
    [{ messages, generationConfig: {} }, 'inputs.generationConfig'],
    [
      { system: 's', max_tokens: 5, messages, response_format: { type: 'json_object' } },
      'inputs.response_format',
      'messages',
    ],
    [{ messages, answer_style: 'pirate' }, 'inputs.answer_style'],
  ] as const) {
    const response = await run(inputs, form)
    expect([response.status, (await jsonOf(response)).error.param]).toEqual([400, param])
  }
  expect(claude.asked.length).toBe(asked)
})

test('a webhook by another name is refused: it would never be called', async () => {
  for (const name of ['webhook_url', 'webhooks', 'webHook']) {
    const response = await claude.post('/v1/run', {
      ...{ model: 'mock/small', inputs: { messages }, [name]: 'https://example.com/heard' },
    })
    expect([response.status, (await jsonOf(response)).error.param]).toEqual([400, name])
  }
})
