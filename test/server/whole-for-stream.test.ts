/**
 * A vendor that answers a streamed call whole: its caller gets the answer as a stream of their own dialect, with all that
 * a whole answer would have said, and pays once for what the vendor counted. An error stays one.
 */
import { expect, test } from 'bun:test'
import { callerDialects } from '../../src/dialects/index.ts'
import type { Reply } from '../../src/dialects/neutral.ts'
import { type CallerId, type ClientView, callerIds, clients, firstRequest } from '../dialects/clients.ts'
import { converseAnswer } from '../dialects/converse.ts'
import { billed, context, type WrittenId } from '../dialects/steps.ts'
import { startTestServer, testModel } from './harness.ts'

const vendors: readonly WrittenId[] = ['chat', 'messages', 'gemini', 'responses', 'interactions', 'converse']

const reply: Omit<Reply, 'usage'> = {
  id: 'r_1',
  model: 'small',
  choices: [
    {
      parts: [
        { type: 'thinking', text: 'where is it?' },
        { type: 'text', text: 'I look, as they say.' },
        { type: 'tool_call', id: 'call_1', name: 'find', arguments: '{"n":98765432109876543210}' },
        { type: 'tool_call', id: 'call_2', name: 'ask', arguments: '{}' },
      ],
      finish: 'tool_calls',
      citations: [{ url: 'https://example.com/a', title: 'A', from: 0, to: 6 }],
    },
  ],
}

const answerOf = (vendor: WrittenId): object =>
  vendor === 'converse'
    ? converseAnswer(reply)
    : callerDialects[vendor].writeReply({ ...reply, usage: billed.usage }, context())

const serverOf = (vendor: WrittenId) =>
  startTestServer({
    vendor: vendor === 'chat' ? {} : { speaks: vendor, ...(vendor === 'converse' ? { framing: 'aws' } : {}) },
    models: [testModel('small', { capabilities: ['streaming', 'function_calling', 'reasoning'] })],
  })

const request = (caller: CallerId, stream: boolean, listed = false): readonly [string, object] => {
  const body = { ...firstRequest(caller, 'hi'), model: 'mock/small', stream }
  const action = stream ? `streamGenerateContent${listed ? '' : '?alt=sse'}` : 'generateContent'
  return {
    chat: [
      '/v1/chat/completions',
      { ...body, ...(stream ? { stream_options: { include_usage: true } } : {}) },
    ],
    messages: ['/v1/messages', body],
    gemini: [`/v1beta/models/mock/small:${action}`, firstRequest('gemini', 'hi')],
    responses: ['/v1/responses', body],
    interactions: ['/v1beta/interactions', body],
    cohere: ['/v2/chat', body],
    ollama: ['/api/chat', body],
  }[caller] as [string, object]
}

/** What a client has got: the same whole and streamed, but for the signs of a stream's end. */
const essence = ({ text, thinking, tools, cited, finish }: ClientView) => ({
  text,
  thinking,
  tools: tools.map(({ name, args }) => ({ name, args })),
  cited: cited.map(({ url }) => url),
  finish,
})

test.each(vendors)('of a vendor that speaks %s', async (vendor) => {
  const server = await serverOf(vendor)
  server.answerWith(() => Response.json(answerOf(vendor)))
  const paid = async (of: () => Promise<Response>) => {
    const before = await server.balance()
    const response = await of()
    const bytes = await response.bytes()
    while (server.openCalls() > 0) await Bun.sleep(1)
    return { status: response.status, bytes, cost: before - (await server.balance()) }
  }
  for (const caller of callerIds) {
    const whole = await paid(() => server.post(...request(caller, false)))
    const streamed = await paid(() => server.post(...request(caller, true)))
    expect([caller, whole.status, streamed.status]).toEqual([caller, 200, 200])
    const seen = clients[caller].stream(streamed.bytes)
    const expected = clients[caller].whole(JSON.parse(new TextDecoder().decode(whole.bytes)))
    expect([caller, essence(seen)]).toEqual([caller, essence(expected)])
    expect(seen.ended).toBe(true)
    expect(streamed.cost).toBe(whole.cost)
    expect(streamed.cost > 0n).toBe(true)
  }
  await server.stop()
})

test('a list is a list, and an error stays one', async () => {
  const server = await serverOf('gemini')
  server.answerWith(() => Response.json(answerOf('gemini')))
  const listed: any = await (await server.post(...request('gemini', true, true))).json()
  expect(listed.at(-1).usageMetadata.promptTokenCount).toBe(10)
  server.answerWith(() => Response.json({ error: { code: 503, message: 'away', status: 'UNAVAILABLE' } }))
  for (const caller of callerIds) {
    const before = await server.balance()
    const response = await server.post(...request(caller, true))
    expect([caller, response.status]).toEqual([caller, 503])
    expect(await server.balance()).toBe(before)
  }
  const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }
  server.answerWith(() => Response.json(blocked))
  for (const caller of callerIds) expect((await server.post(...request(caller, true))).status).toBe(400)
  await server.stop()
})
