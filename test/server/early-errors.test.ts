/** Errors of vendors inside answers with status 200, before anything was said: they are what they say they are. */
import { expect, test } from 'bun:test'
import { eventsOf, jsonOf, streamEvents, streaming } from './harness.ts'
import { before } from './speaking.ts'

const hi = [{ role: 'user', content: 'hi' }]
const errors = {
  wrong: { type: 'invalid_request_error', message: 'top_p is not for this model', code: null },
  busy: { type: 'rate_limit_error', message: 'slow down' },
  broken: { type: 'server_error', message: 'oops' },
} as const
const expected = {
  wrong: [400, 'invalid_parameter', 'top_p is not for this model'],
  busy: [503, 'upstream_error', 'is over its rate limit'],
  broken: [503, 'upstream_error', 'failed'],
} as const
const names = ['wrong', 'busy', 'broken'] as const

const event = (speaks: 'chat' | 'messages', error: object): string =>
  speaks === 'chat'
    ? `data: ${JSON.stringify({ error })}\n\n`
    : `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`

test.each(names.flatMap((name) => (['chat', 'messages'] as const).map((speaks) => [name, speaks] as const)))(
  'an error that is %s, from a vendor of %s: as first event, as JSON in place of a stream or of an answer',
  (name, speaks) =>
    before(speaks, async (server) => {
      const [status, code, words] = expected[name]
      const ways = [
        [true, () => streaming([event(speaks, errors[name])])],
        [true, () => Response.json({ type: 'error', error: errors[name] })],
        [false, () => Response.json({ type: 'error', error: errors[name] })],
      ] as const
      for (const [stream, answer] of ways) {
        server.answerWith(answer)
        const response = await server.post('/v1/chat/completions', {
          model: 'mock/small',
          messages: hi,
          stream,
        })
        const { error } = await jsonOf(response)
        expect([response.status, error.code]).toEqual([status, code])
        expect(error.message).toContain(words)
        expect(error.message).not.toContain('did not answer')
      }
      expect(await server.heldAfterAll()).toBe(0n)
    }),
)

test("Azure's verdict on the prompt is no answer yet, and its last event is named as the others", () =>
  before('chat', async (server) => {
    const verdict = { prompt_index: 0, content_filter_results: { hate: { filtered: false } } }
    const first = {
      id: '',
      object: 'chat.completion.chunk',
      created: 0,
      model: '',
      choices: [],
      prompt_filter_results: [verdict],
    }
    const ask = () =>
      server.post('/v1/chat/completions', {
        model: 'mock/small',
        messages: hi,
        stream: true,
        stream_options: { include_usage: true },
      })
    const opening = `data: ${JSON.stringify(first)}\n\n`
    server.answerWith(() => streaming([opening, event('chat', errors.busy)]))
    expect((await ask()).status).toBe(503)
    server.answerWith(() => streaming([opening, ...streamEvents(['hello'])]))
    const told = eventsOf(await (await ask()).text()).flatMap((data) =>
      data === '[DONE]' ? [] : JSON.parse(data),
    )
    expect(told[0]).toEqual(first)
    const [{ id, model, created }, last] = [told[1], told.at(-1)]
    expect(last).toMatchObject({ id, model, created, choices: [], usage: { prompt_tokens: 10 } })
  }))
