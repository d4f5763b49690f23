/**
 * Compaction in messages: passed to a vendor that has it, with what it costs held and charged; done by a summary of the
 * model elsewhere. Whole sessions with the official client are in test/clients/compaction.test.ts.
 */
import { expect, test } from 'bun:test'
import { jsonOf, streaming, type TestServer } from './harness.ts'
import { before } from './speaking.ts'

const native = { vendor: { compacts: 'anthropic' } }
const messages = [{ role: 'user', content: 'word '.repeat(20) }]
const asked = (more: object = {}) => ({ model: 'mock/small', max_tokens: 100, messages, ...more })
const edits = (value?: number) => ({
  context_management: {
    edits: [
      {
        type: 'compact_20260112',
        ...(value === undefined ? {} : { trigger: { type: 'input_tokens', value } }),
      },
    ],
  },
})
const threshold = { 'anthropic-beta': 'compact-2026-01-12' }
const onDemand = { 'anthropic-beta': 'compact-2026-09-04' }
const summarize = { compaction: { type: 'summarize' } }

const block = { type: 'compaction', content: 'what matters', encrypted_content: null, signature: 'AAAA' }
const iteration = {
  type: 'compaction',
  input_tokens: 100,
  cache_read_input_tokens: 50,
  cache_creation_input_tokens: 0,
  output_tokens: 20,
}
const compacted = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'small',
  content: [block, { type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: {
    input_tokens: 10,
    output_tokens: 5,
    iterations: [iteration, { type: 'message', input_tokens: 10, output_tokens: 5 }],
  },
}
const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const events = () => [
  event('message_start', {
    message: { ...compacted, content: [], usage: { input_tokens: 10, output_tokens: 1 } },
  }),
  event('content_block_start', { index: 0, content_block: { ...block, content: null } }),
  event('content_block_delta', {
    index: 0,
    delta: { type: 'compaction_delta', content: 'what matters', encrypted_content: null },
  }),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: compacted.usage }),
  event('message_stop', {}),
]

const costIn = async (server: TestServer, work: () => Promise<unknown>) => {
  const had = await server.balance()
  await work()
  return had - (await server.balance())
}
/** 110 tokens of input, 50 of the cache, 25 of output. */
const BOTH = 110n * 1_000n + 50n * 100n + 25n * 10_000n

test.each([false, true])(
  'a threshold passes with its beta, and its summary is charged, stream %p',
  (stream) =>
    before(
      'messages',
      async (server) => {
        server.answerWith(() => (stream ? streaming(events()) : Response.json(compacted)))
        const body = { ...asked({ stream }), ...edits(50) }
        const cost = await costIn(server, async () => {
          const answer = await server.post('/v1/messages', body, threshold)
          expect([answer.status, answer.headers.get('x-not-carried')]).toEqual([200, null])
          expect(await answer.text()).toContain('what matters')
        })
        expect(cost).toBe(BOTH)
        const { body: sent, headers } = server.asked.at(-1)!
        expect([sent.context_management, headers.get('anthropic-beta')]).toEqual([
          body.context_management,
          'compact-2026-01-12',
        ])
        expect(await server.heldAfterAll()).toBe(0n)
      },
      native,
    ),
)

test('what a summary may cost is held only where the vendor may write one', () =>
  before(
    'messages',
    async (server) => {
      server.answerWith(() => Response.json(compacted))
      // 8,192 tokens of output cost 0.08192 USD.
      const bounded = (more: object, headers: object) =>
        server.post('/v1/messages', asked(more), { 'x-max-cost-usd': '0.05', ...headers })
      const dear = await bounded(edits(50), threshold)
      expect([dear.status, (await jsonOf(dear)).error.code]).toEqual([402, 'max_cost_exceeded'])
      expect((await bounded(edits(), threshold)).status).toBe(200)
      // Of several edits the one that acts first counts.
      const { context_management: late } = edits(1e9)
      const both = { edits: [...late.edits, ...edits(50).context_management.edits] }
      expect((await bounded({ context_management: both }, threshold)).status).toBe(402)
      expect((await bounded(edits(50), {})).status).toBe(200)
      expect(server.asked.at(-1)!.body.context_management).toBeUndefined()
      expect(
        (await server.post('/v1/messages', asked(edits(50)), { 'x-max-cost-usd': '0.1', ...threshold }))
          .status,
      ).toBe(200)
    },
    native,
  ))

test.each(['chat', 'messages', 'gemini', 'converse'] as const)(
  'a threshold is named where the vendor (%s) has none, and nothing is held for it',
  (speaks) =>
    before(speaks, async (server) => {
      const answer = await server.post('/v1/messages', asked(edits(50)), {
        'x-max-cost-usd': '0.05',
        ...threshold,
      })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-not-carried')).toContain('context_management')
      expect(server.asked.at(-1)!.text).not.toContain('compact_20260112')
    }),
)

test('on demand it passes to a vendor that has it, whose counts stand beside the usage', () =>
  before(
    'messages',
    async (server) => {
      const alone = {
        ...compacted,
        content: [block],
        stop_reason: 'compaction',
        usage: { input_tokens: 0, output_tokens: 0, iterations: [iteration] },
      }
      server.answerWith(() => Response.json(alone))
      const cost = await costIn(server, async () => {
        const answer = await jsonOf(await server.post('/v1/messages', asked(summarize), onDemand))
        expect([answer.content, answer.stop_reason, answer.usage.cost]).toEqual([
          [block],
          'compaction',
          0.000305,
        ])
      })
      expect(cost).toBe(305_000n)
      expect(server.asked.at(-1)!.body.compaction).toEqual(summarize.compaction)
      // Its own block goes back as it is.
      const next = asked({
        messages: [
          { role: 'assistant', content: [block] },
          { role: 'user', content: 'go on' },
        ],
      })
      await server.post('/v1/messages', next, onDemand)
      expect(server.asked.at(-1)!.body.messages).toEqual(next.messages)
    },
    native,
  ))

test('a summary that was made here is told as a text to every vendor, also to one that has its own', async () => {
  let made: unknown
  await before('gemini', async (server) => {
    const own = { compaction: { type: 'summarize', instructions: 'Tell me all.' } }
    const answer = await jsonOf(await server.post('/v1/messages', asked(own), onDemand))
    expect(server.asked.at(-1)!.text).toContain('Tell me all.')
    expect(server.asked.at(-1)!.text).not.toContain('Write the summary')
    expect([answer.stop_reason, answer.content[0].content]).toEqual(['compaction', 'hello'])
    made = answer.content
  })
  const conversation = [
    { role: 'user', content: 'forgotten' },
    { role: 'assistant', content: made },
    { role: 'user', content: 'go on' },
  ]
  for (const [speaks, more] of [
    ['messages', native],
    ['chat', {}],
    ['converse', {}],
  ] as const)
    await before(
      speaks,
      async (server) => {
        expect((await server.post('/v1/messages', asked({ messages: conversation }))).status).toBe(200)
        const { text } = server.asked.at(-1)!
        expect([
          text.includes('forgotten'),
          text.includes('"compaction"'),
          /Continue from it:\\n\\nhello/.test(text),
        ]).toEqual([false, false, true])
      },
      more,
    )
})

test('what it is must be said, and a count takes the request without it', () =>
  before('messages', async (server) => {
    const wrong = await server.post('/v1/messages', asked({ compaction: { type: 'shorten' } }))
    expect([wrong.status, (await jsonOf(wrong)).error.param]).toEqual([400, 'compaction.type'])
    server.answerWith(() => Response.json({ input_tokens: 7 }))
    const { max_tokens: _bound, ...counted } = asked(summarize)
    const count = await server.post('/v1/messages/count_tokens', counted)
    expect(await jsonOf(count)).toEqual({ input_tokens: 7 })
    expect(server.asked.at(-1)!.body.compaction).toBeUndefined()
  }))
