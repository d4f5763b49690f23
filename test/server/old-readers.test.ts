/**
 * Streams as the oldest readers among the last three major versions of their clients take them. Each pattern is what a
 * published client waits for; what does not match it stays in its buffer for ever, and the whole session fails.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { jsonOf, startTestServer, streamEvents, streaming, type TestServer } from './harness.ts'

const say = (type: string, members: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
const separated = 'one\u2028two\u2029three'
const sound = { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }
const geminiUsage = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
const geminiEvent = (parts: object[], more: object = {}) =>
  JSON.stringify({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
    usageMetadata: geminiUsage,
  })

/** Each vendor with all that its framing allows and that clients of another dialect must not get. */
const vendors = {
  chat: [': hello\n\n', ...streamEvents([separated, '!'])],
  messages: [
    say('message_start', {
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        content: [],
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    }),
    say('ping', {}),
    say('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ': waiting\n\n',
    say('content_block_delta', { index: 0, delta: { type: 'text_delta', text: separated } }),
    say('ping', {}),
    say('content_block_stop', { index: 0 }),
    say('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
    say('message_stop', {}),
  ],
  gemini: [
    ': hello\r\n\r\n',
    `data:${geminiEvent([{ text: 'no space' }])}\n\n`,
    `event: message\ndata: ${geminiEvent([{ text: 'a field before' }])}\n\n`,
    `data: ${geminiEvent([{ text: 'a field behind' }])}\nid: 7\n\n`,
    `data: ${geminiEvent([{ text: 'two lines' }]).replace(',', ',\ndata: ')}\n\n`,
    `data: ${geminiEvent([{ text: separated }])}\r\n\r\n`,
    `data: ${geminiEvent([{ text: 'plain' }])}\r\n\r\n`,
    `data: ${geminiEvent([sound], { finishReason: 'STOP' })}\r\n\r\n`,
  ],
} as const

const hi = [{ role: 'user', content: 'hi' }]
const callers = {
  chat: ['/v1/chat/completions', { model: 'mock/small', stream: true, messages: hi }],
  messages: ['/v1/messages', { model: 'mock/small', stream: true, max_tokens: 50, messages: hi }],
  responses: ['/v1/responses', { model: 'mock/small', stream: true, input: 'hi' }],
  gemini: [
    '/v1beta/models/mock/small:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
} as const

/** @google/generative-ai 0.24, @google/genai 1.30: one line of data without line separators, then a blank line, nothing else. */
const ofGemini = (text: string): readonly any[] => {
  const events: any[] = []
  let rest = text
  for (;;) {
    const event = /^data: (.*)(?:\n\n|\r\r|\r\n\r\n)/.exec(rest)
    if (event === null) break
    events.push(JSON.parse(event[1] ?? ''))
    rest = rest.slice(event[0].length)
  }
  expect(rest).toBe('')
  return events
}

/** @continuedev/fetch 1.9 ends at a comment that begins with `ping`, and reads every line that begins with `data:` as JSON. */
const byLines = (text: string): readonly any[] =>
  text.split('\n').flatMap((line) => {
    expect(line.startsWith(': ping')).toBe(false)
    return line.startsWith('data:') && !/^data: ?\[DONE\]/.test(line) ? [JSON.parse(line.slice(5))] : []
  })

for (const [speaks, events] of Object.entries(vendors))
  describe(`before a vendor that speaks ${speaks}`, () => {
    let server: TestServer
    beforeAll(async () => {
      server = await startTestServer({ vendor: speaks === 'chat' ? {} : { speaks: speaks as 'gemini' } })
      server.answerWith(() => streaming([...events]))
    })
    afterAll(() => server.stop())
    const read = async (caller: keyof typeof callers) => {
      const [path, body] = callers[caller]
      const response = await server.post(path, body)
      const text = await response.text()
      expect([response.status, text]).toEqual([200, text])
      return { id: response.headers.get('x-request-id'), text }
    }

    test('gemini: every event is read, and the last has cost, balance, receipt and what was lost', async () => {
      const { id, text } = await read('gemini')
      const events = ofGemini(text)
      const said = events
        .flatMap(({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.text ?? [])
        .join('')
      expect(said).toContain(separated)
      if (speaks === 'gemini')
        expect(said).toBe(`no spacea field beforea field behindtwo lines${separated}plain`)
      const last = events.at(-1)
      expect(last.candidates[0].finishReason).toBe('STOP')
      expect(last.usageMetadata).toMatchObject({
        ...geminiUsage,
        cost: 0.00006,
        cost_details: { input: 0.00001, output: 0.00005 },
      })
      expect(last._remaining_credits).toBeGreaterThan(0)
      expect(last.receipt).toBe((await jsonOf(await server.get(`/v1/receipts/${id}`))).receipt)
      expect(events.filter((event) => event.usageMetadata?.cost !== undefined).length).toBe(1)
    })

    test.each(['chat', 'messages', 'responses'] as const)(
      '%s: every line is data, a field or a comment',
      async (caller) => {
        const { text } = await read(caller)
        expect(byLines(text).length).toBeGreaterThan(1)
        for (const line of text.split('\n')) expect(line).toMatch(/^(?:|(?:data|event): .+|: \S.*)$/s)
        expect(text.match(/^: x-cost-usd: 0\.00006$/gm)?.length).toBe(1)
        // What the vendor sends beside its events goes only to callers of its own dialect.
        if (caller !== speaks) expect(text.match(/^: (?!x-|keep-alive$).*$/gm)).toBeNull()
      },
    )
  })

test('gemini: the last event names what could not be carried, of a list too', async () => {
  const server = await startTestServer()
  const cited = {
    choices: [
      { index: 0, delta: { annotations: [{ type: 'file_citation', file_id: 'f' }] }, finish_reason: null },
    ],
    id: 'x',
  }
  const [first = '', ...rest] = streamEvents(['hi'])
  server.answerWith(() => streaming([first, `data: ${JSON.stringify(cited)}\n\n`, ...rest]))
  for (const end of ['?alt=sse', '']) {
    const response = await server.post(
      `/v1beta/models/mock/small:streamGenerateContent${end}`,
      callers.gemini[1],
    )
    const text = await response.text()
    const last = (end === '' ? JSON.parse(text) : ofGemini(text)).at(-1)
    expect([last._not_carried, last.usageMetadata.cost]).toEqual(['citations', 0.00006])
  }
  await server.stop()
})

test('gemini: a whole answer has its cost in its usage too', async () => {
  const server = await startTestServer({ vendor: { speaks: 'gemini' } })
  server.answerWith(() => new Response(geminiEvent([{ text: 'hi' }], { finishReason: 'STOP' })))
  const response = await server.post('/v1beta/models/mock/small:generateContent', callers.gemini[1])
  expect((await jsonOf(response)).usageMetadata).toMatchObject({ ...geminiUsage, cost: 0.00006 })
  await server.stop()
})
