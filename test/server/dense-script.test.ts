/**
 * Streams in scripts where a character is a token: they end with a length stop when the money ends, within their hold.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  chat,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
  USD,
} from './harness.ts'

/** Enough for the input and the first hold of 4,096 tokens, and not for the next. */
const FUNDS = (USD * 45n) / 1_000n
const RATE = 10_000n

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ fund: FUNDS, models: [testModel('small', { maxOutputTokens: 32_000 })] })
})
afterAll(() => server.stop())

const asked = { model: 'mock/small', stream: true, messages: [{ role: 'user', content: 'hi' }] }
const fill = async (ref: string) => {
  const amount = FUNDS - (await server.balance())
  if (amount > 0n)
    await server.store.ledger.post({
      kind: 'topup',
      ref: `more:${ref}`,
      debit: 'cash',
      credit: server.wallet,
      amount,
    })
}

/** Each with how often the dialect sends a text: in pieces, and whole in the events that end it. */
const cases = [
  [
    '/v1/chat/completions',
    { ...asked, stream_options: { include_usage: true } },
    /"finish_reason":"length"/,
    1n,
  ],
  ['/v1/responses', { model: 'mock/small', stream: true, input: 'hi' }, /"reason":"max_output_tokens"/, 5n],
  [
    '/v1beta/models/mock/small:streamGenerateContent?alt=sse',
    { contents: [{ parts: [{ text: 'hi' }] }] },
    /"finishReason":"MAX_TOKENS"/,
    1n,
  ],
] as const

test.each(cases)('%s: a wallet that cannot extend the hold', async (path, body, stop, times) => {
  await fill(path)
  const before = await server.balance()
  const said = '\u6f22\u5b57'.repeat(25)
  server.answerWith(() => streaming(streamEvents(Array<string>(400).fill(said), null)))
  const response = await server.post(path, body)
  const text = await response.text()
  expect(response.status).toBe(200)
  expect(text).toMatch(stop)
  const characters = BigInt((text.split('\u6f22\u5b57').length - 1) * 2) / times
  while (server.openCalls() > 0) await Bun.sleep(1)
  const charged = before - (await server.balance())
  // Cut where the first hold ends, and the text until then is paid: a character is a token.
  expect(characters).toBeGreaterThanOrEqual(4_096n)
  expect(characters).toBeLessThan(4_096n + 200n)
  expect(charged).toBeLessThan(FUNDS)
  expect(charged).toBeGreaterThan(4_000n * RATE)
  expect(await server.balance()).toBeGreaterThan(0n)
})

test('counting tokens knows the script', async () => {
  const count = async (content: string): Promise<number> => {
    const counted = await server.post('/v1/messages/count_tokens', {
      model: 'mock/small',
      messages: [{ role: 'user', content }],
    })
    return (await jsonOf(counted)).input_tokens
  }
  const frame = await count('')
  expect((await count('word'.repeat(300))) - frame).toBe(300)
  expect((await count('\u6f22'.repeat(300))) - frame).toBe(300)
})

test('a caller who hangs up without a usage pays a token a character', async () => {
  await server.store.ledger.post({
    kind: 'topup',
    ref: 'more:hang-up',
    debit: 'cash',
    credit: server.wallet,
    amount: USD,
  })
  const before = await server.balance()
  const gone = new AbortController()
  const { token } = await server.newKey()
  const said = '\u6f22'.repeat(600)
  server.answerWith(() => streaming(streamEvents([said], null).slice(0, 2), 'hang'))
  const response = await server.fetch(
    new Request('http://turnpike.test/v1/chat/completions', {
      method: 'POST',
      signal: gone.signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(chat({ stream: true })),
    }),
  )
  const reader = response.body?.getReader()
  for (let text = ''; !text.includes(said); ) text += new TextDecoder().decode((await reader?.read())?.value)
  gone.abort()
  await reader?.cancel().catch(() => undefined)
  while (server.openCalls() > 0) await Bun.sleep(1)
  const charged = before - (await server.balance())
  expect(charged - 600n * RATE).toBeGreaterThan(0n)
  expect(charged - 600n * RATE).toBeLessThan(100n * 1_000n)
})
