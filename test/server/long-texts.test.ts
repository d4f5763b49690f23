/** Long texts of a conversation reach each vendor unchanged, and nobody pays for a text that is no valid JSON. */
import { expect, test } from 'bun:test'
import { until } from '../until.ts'
import { jsonOf, type TestServer } from './harness.ts'
import { before, wholeAnswers } from './speaking.ts'

const LONG = 'She said: "näh 😀"\n\tC:\\temp\\ and left. '.repeat(700)
const TOOL = 'the tool\'s own "answer" \\ '.repeat(100)

const callers: Readonly<Record<string, { path: string; body: object }>> = {
  chat: {
    path: '/v1/chat/completions',
    body: {
      messages: [
        { role: 'user', content: LONG },
        { role: 'assistant', tool_calls: [callOf({ name: 'f', arguments: JSON.stringify({ a: TOOL }) })] },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: TOOL }] },
      ],
    },
  },
  messages: {
    path: '/v1/messages',
    body: {
      max_tokens: 100,
      system: [{ type: 'text', text: TOOL }],
      messages: [{ role: 'user', content: [{ type: 'text', text: LONG }] }],
    },
  },
  responses: {
    path: '/v1/responses',
    body: {
      input: [
        { role: 'user', content: [{ type: 'input_text', text: LONG }] },
        { type: 'function_call', call_id: 'call_1', name: 'f', arguments: JSON.stringify({ a: TOOL }) },
        { type: 'function_call_output', call_id: 'call_1', output: TOOL },
      ],
    },
  },
}

function callOf(it: object) {
  return { id: 'call_1', type: 'function', function: it }
}

/** All texts in a request, also those in a text that is JSON itself. */
const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value, ...(value.startsWith('{') ? textsIn(JSON.parse(value)) : [])]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

for (const speaks of ['chat', 'messages', 'gemini'] as const)
  test(`long texts reach a vendor of ${speaks} whole, and in broken ones nothing is charged`, () => {
    const model = { capabilities: ['function_calling'], contextTokens: 200_000 } as const
    const sends = async (server: TestServer): Promise<void> => {
      let seen: readonly string[] = []
      server.answerWith(({ body }) => {
        seen = textsIn(body)
        return wholeAnswers[speaks]()
      })
      for (const [name, { path, body }] of Object.entries(callers)) {
        const request = JSON.stringify({ model: 'mock/small', ...body })
        const send = (text: string) => server.post(path, text)
        const answer = await send(request)
        expect([name, answer.status]).toEqual([name, 200])
        await answer.text()
        expect(seen).toContain(LONG)
        expect(seen.some((text) => text === TOOL)).toBe(true)

        // A raw line break within a text: if we pass it on, the vendor decides; if we read it, we refuse it.
        const balance = await server.balance()
        if (speaks === name) continue
        const broken = await send(request.replace('näh', 'n\näh'))
        expect([broken.status, (await jsonOf(broken)).error.code]).toEqual([400, 'invalid_json'])
        await until(() => server.openCalls() === 0)
        expect(await server.balance()).toBe(balance)
      }
    }
    return before(speaks, sends, { model })
  })
