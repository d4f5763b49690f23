/**
 * Interactions that end badly, on both engines: stopped, deleted while they are made, given up by a process that died or
 * by a vendor that broke off; charged once, and kept for their key alone.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { completion, jsonOf, startTestServer, streamEvents, streaming, type TestServer } from './harness.ts'

const HOUR = 3_600_000
const path = '/v1beta/interactions'
const asked = { model: 'mock/small', input: 'hi', background: true }

const eventsIn = (text: string): any[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))

describe.each(serverEngines)('on $name', ({ fresh }) => {
  let database: Awaited<ReturnType<typeof fresh>>
  let server: TestServer
  let key: { id: string; token: string }

  beforeAll(async () => {
    database = await fresh()
    server = await startTestServer({ url: database.url, options: { responsesKeptMs: HOUR } })
    key = await server.newKey()
  })
  afterAll(async () => {
    expect(await brokenLaws(server.store)).toEqual([])
    await server.stop()
    await database.stop()
  })

  const send = (method: string, at: string, body?: object) => server.send(method, at, body, key.token)
  const begun = async (more: object = {}) => jsonOf(await send('POST', path, { ...asked, ...more }))
  const read = async (id: string) => jsonOf(await send('GET', `${path}/${id}`))
  const ended = async (id: string) => {
    await until(async () => !/queued|in_progress/.test((await read(id)).status))
    return read(id)
  }

  test('stopped: the vendor is left, and it says so whoever asks', async () => {
    server.answerWith(() => new Promise<Response>(() => undefined))
    const before = server.asked.length
    const { id, status } = await begun()
    expect([status, id]).toEqual(['queued', expect.stringMatching(/^int_/)])
    await until(() => server.asked.length > before)
    expect(await jsonOf(await send('POST', `${path}/${id}/cancel`))).toMatchObject({
      id,
      status: 'cancelled',
      steps: [],
    })
    await until(() => server.openCalls() === 0)
    expect(server.asked.at(-1)?.signal?.aborted).toBe(true)
    const next = await send('POST', path, { ...asked, background: false, previous_interaction_id: id })
    expect(next.status).toBe(400)
  })

  test('deleted while it is made: it stays away', async () => {
    server.answerWith(() => new Promise<Response>(() => undefined))
    const before = server.asked.length
    const { id } = await begun()
    await until(() => server.asked.length > before)
    expect(await jsonOf(await send('DELETE', `${path}/${id}`))).toEqual({})
    await until(() => server.openCalls() === 0 && server.gateway.memory.jobs.responses.size === 0)
    expect((await send('GET', `${path}/${id}`)).status).toBe(404)
  })

  test('a vendor that fails, before and in mid-stream: told with its reason, and the stream has an end', async () => {
    server.answerWith(() => new Response('{"error":{"message":"no"}}', { status: 500 }))
    const failed = await ended((await begun()).id)
    expect([failed.status, failed.errors]).toEqual([
      'failed',
      [{ code: 'upstream_error', message: expect.any(String) }],
    ])
    server.answerWith(() => streaming(streamEvents(['one ', 'two ']).slice(0, 2)))
    const events = eventsIn(await (await send('POST', path, { ...asked, stream: true })).text())
    expect(events.map(({ event_id }) => Number(event_id))).toEqual(events.map((_, at) => at))
    expect(events.at(-1)).toMatchObject({
      event_type: 'interaction.completed',
      interaction: { status: 'failed' },
    })
    const kept = await read(events[0].interaction.id)
    expect([kept.status, kept.errors.length]).toEqual(['failed', 1])
  })

  test('a process that dies: another one says so, and the stream is taken up to its end', async () => {
    const lost = { keyId: key.id, id: 'int_lost' }
    const head = {
      id: lost.id,
      object: 'interaction',
      created: '2026-01-01T00:00:00Z',
      model: 'm',
      status: 'in_progress',
    }
    await server.store.background.begin(
      {
        ...lost,
        callId: 'lost',
        owner: 'gone',
        previousId: undefined,
        input: '[]',
        body: JSON.stringify(head),
        events: [JSON.stringify({ event_type: 'interaction.created', event_id: '0' })],
      },
      HOUR,
    )
    const failed = await ended(lost.id)
    expect([failed.status, failed.errors[0].message]).toEqual(['failed', expect.stringContaining('process')])
    const rest = await (await send('GET', `${path}/${lost.id}?stream=true&last_event_id=0`)).text()
    expect(rest).toStartWith('event: interaction.completed\n')
    expect(eventsIn(rest)).toEqual([
      {
        event_type: 'interaction.completed',
        event_id: '1',
        interaction: expect.objectContaining({ id: lost.id, status: 'failed' }),
      },
    ])
  })

  test('an Idempotency-Key names the interaction: two at once are one, charged once', async () => {
    const answers = Promise.withResolvers<void>()
    server.answerWith(async () => {
      await answers.promise
      return completion('hello')
    })
    const before = [server.asked.length, await server.balance()] as const
    const once = () => server.post(path, asked, { 'idempotency-key': 'once' }, key.token)
    const [first, second] = await Promise.all([once(), once()].map(async (one) => jsonOf(await one)))
    expect(second.id).toBe(first.id)
    answers.resolve()
    await ended(first.id)
    expect((await jsonOf(await once())).steps).toEqual([
      { type: 'model_output', content: [{ type: 'text', text: 'hello' }] },
    ])
    expect([server.asked.length - before[0], before[1] - (await server.balance())]).toEqual([1, 60_000n])
  })

  test('whole answers and streams cost the same, and say so; the cap of the call binds', async () => {
    server.answerWith(() => completion('hello'))
    const whole = await jsonOf(await send('POST', path, { ...asked, background: false, store: false }))
    expect(whole.usage).toMatchObject({ total_input_tokens: 10, total_output_tokens: 5, cost: 0.00006 })
    server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
    const stream = await (
      await send('POST', path, { ...asked, background: false, stream: true, store: false })
    ).text()
    expect(stream).toEndWith('event: done\ndata: [DONE]\n\n')
    const last = eventsIn(stream).at(-1)
    expect(last.interaction.usage).toMatchObject({
      total_input_tokens: 10,
      total_output_tokens: 5,
      cost: 0.00006,
    })
    expect(last.interaction.steps).toEqual([
      { type: 'model_output', content: [{ type: 'text', text: 'hello' }] },
    ])
    const poor = await server.post(
      path,
      { ...asked, background: false },
      { 'x-max-cost-usd': '0.000001' },
      key.token,
    )
    expect(poor.status).toBe(402)
  })

  test('bad input is refused by name, and nothing breaks', async () => {
    const wrong: readonly (readonly [object, string])[] = [
      [{ input: '' }, 'input'],
      [{ input: [] }, 'input'],
      [{ input: 3 }, 'input'],
      [{ input: [null] }, 'input[0].type'],
      [{ input: [{ type: 'user_input', content: 'x' }] }, 'input[0].content'],
      [{ input: [{ type: 'user_input', content: [{ text: 'x' }] }] }, 'input[0].content[0].type'],
      [{ tools: [{ type: 'google_search', search_types: ['image_search'] }] }, 'tools[0].search_types'],
      [{ generation_config: { temperature: 9 } }, 'generation_config.temperature'],
      [{ generation_config: { max_output_tokens: 0 } }, 'generation_config.max_output_tokens'],
      [{ previous_interaction_id: 'int_nobody' }, 'previous_interaction_id'],
      [{ previous_interaction_id: 'resp_x' }, 'previous_interaction_id'],
      [{ background: true, store: false }, 'background'],
      [{ stream: 'yes' }, 'stream'],
      [{ model: undefined }, 'model'],
    ]
    for (const [more, param] of wrong) {
      const response = await send('POST', path, { model: 'mock/small', input: 'hi', ...more })
      const { error } = await jsonOf(response)
      expect([response.status, error.param]).toEqual([400, param])
    }
    expect((await send('GET', `${path}/int_x?stream=maybe`)).status).toBe(400)
    expect((await send('PUT', `${path}/int_x`, {})).status).toBe(405)
  })
})
