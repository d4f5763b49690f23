/**
 * Responses that are kept where the operator says so: later requests of the same key name them, with every kind of
 * vendor.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { messageItem, reasoningItem, response, responseEvents } from '../dialects/responses-vendor.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import {
  completion,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
} from './harness.ts'

const HOUR = 3_600_000
const said = (text: string) => ({ type: 'message', role: 'user', content: text })

for (const engine of serverEngines)
  describe(engine.name, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    beforeAll(async () => {
      database = await engine.fresh()
    })
    afterAll(() => database.stop())

    const withServer = async (
      setup: Parameters<typeof startTestServer>[0],
      work: (server: TestServer) => Promise<void>,
    ) => {
      const server = await startTestServer({
        url: database.url,
        models: [testModel('small', { capabilities: ['streaming', 'function_calling', 'reasoning'] })],
        options: { responsesKeptMs: HOUR },
        ...setup,
      })
      try {
        await work(server)
      } finally {
        const broken = await brokenLaws(server.store)
        await server.stop()
        expect(broken).toEqual([])
      }
    }
    const ask = async (server: TestServer, body: object, token?: string): Promise<any> => {
      const answer = await server.post('/v1/responses', { model: 'mock/small', ...body }, {}, token)
      if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return jsonOf(answer)
      const text = await answer.text()
      return JSON.parse(text.trimEnd().split('\n\n').at(-1)?.split('\ndata: ')[1] ?? '').response
    }
    const forwarded = { vendor: { speaks: 'responses' as const } }

    test('what is not offered beside it is refused with what is so', () =>
      withServer(forwarded, async (server) => {
        const told = async (more: object) => (await ask(server, { input: 'hi', ...more })).error.message
        expect(await told({ background: true, store: false })).toStartWith(
          "An answer in the background must be kept: that needs a key, 'store' that is not false, and RESPONSES_STORE",
        )
        expect(await told({ conversation: 'conv_1' })).toStartWith('There is no conversation of this id')
      }))

    test('three turns by the id of the one before: the vendor is asked the whole conversation, and stores nothing', () =>
      withServer(forwarded, async (server) => {
        let turn = 0
        server.answerWith(({ body }) => {
          const whole = response(
            [reasoningItem('', `sealed ${turn}`, `rs_${turn}`), messageItem(`answer ${turn}`, `msg_${turn}`)],
            { id: `resp_${turn++}` },
          )
          return body.stream === true ? streaming(responseEvents(whole)) : Response.json(whole)
        })
        const first = await ask(server, { input: 'one', instructions: 'Be brief.' })
        expect([first.id, first.store, first.previous_response_id]).toEqual(['resp_0', true, null])
        const second = await ask(server, {
          input: [said('two')],
          previous_response_id: 'resp_0',
          stream: true,
        })
        expect([second.id, second.store, second.previous_response_id]).toEqual(['resp_1', true, 'resp_0'])
        await ask(server, { input: 'three', previous_response_id: 'resp_1', store: false })
        const items: any[][] = [0, 1].map((at) => [
          reasoningItem('', `sealed ${at}`, `rs_${at}`),
          messageItem(`answer ${at}`, `msg_${at}`),
        ])
        expect<unknown>(server.asked.at(-1)?.body).toEqual({
          model: 'small',
          input: [said('one'), ...(items[0] ?? []), said('two'), ...(items[1] ?? []), said('three')],
          store: false,
          include: ['reasoning.encrypted_content'],
        })
        // Nothing is kept for a caller who did not ask for it.
        const gone = await ask(server, { input: 'x', previous_response_id: 'resp_2' })
        expect([gone.error.param, gone.error.message.includes("'resp_2'")]).toEqual([
          'previous_response_id',
          true,
        ])
      }))

    test('a vendor of another dialect: turns go on by the id, and by the names of items', () =>
      withServer({}, async (server) => {
        server.answerWith(({ body }) =>
          body.stream === true ? streaming(streamEvents(['hel', 'lo'])) : completion('hello'),
        )
        const first = await ask(server, { input: 'one' })
        const second = await ask(server, { input: 'two', previous_response_id: first.id, stream: true })
        expect([second.status, second.store, second.previous_response_id]).toEqual([
          'completed',
          true,
          first.id,
        ])
        const messages = [
          { role: 'user', content: 'one' },
          { role: 'assistant', content: 'hello' },
          { role: 'user', content: 'two' },
        ]
        expect(server.asked.at(-1)?.body.messages).toEqual(messages)
        const reference = { type: 'item_reference', id: second.output[0].id }
        await ask(server, { input: [said('two'), reference, said('three')] })
        expect(server.asked.at(-1)?.body.messages).toEqual([
          ...messages.slice(2),
          { role: 'assistant', content: 'hello' },
          { role: 'user', content: 'three' },
        ])
      }))

    test('a vendor that names all its answers the same: two conversations of a key stay apart', () =>
      withServer({}, async (server) => {
        server.answerWith(({ body }) =>
          body.stream === true ? streaming(streamEvents(['hel', 'lo'])) : completion('hello'),
        )
        const red = await ask(server, { input: 'red' })
        const blue = await ask(server, { input: 'blue', stream: true })
        const more = await ask(server, { input: 'more red', previous_response_id: red.id })
        const names = [red, blue, more].flatMap(({ id, output }) => [
          id,
          ...output.map((item: any) => item.id),
        ])
        expect(new Set(names).size).toBe(6)
        await ask(server, { input: 'end', previous_response_id: more.id })
        expect(server.asked.at(-1)?.body.messages).toEqual([
          { role: 'user', content: 'red' },
          { role: 'assistant', content: 'hello' },
          { role: 'user', content: 'more red' },
          { role: 'assistant', content: 'hello' },
          { role: 'user', content: 'end' },
        ])
      }))

    test('what is charged counts the whole conversation', () =>
      withServer(forwarded, async (server) => {
        const whole = response([messageItem('x'.repeat(30_000))], { id: 'resp_long' })
        server.answerWith(() => Response.json(whole))
        await ask(server, { input: 'one' })
        const ceiling = { 'x-max-cost-usd': '0.001' }
        const body = { model: 'mock/small', input: 'two', max_output_tokens: 16 }
        expect((await server.post('/v1/responses', body, ceiling)).status).toBe(200)
        const more = { ...body, previous_response_id: 'resp_long' }
        expect((await server.post('/v1/responses', more, ceiling)).status).toBe(402)
      }))

    test('another key finds nothing, by any way; its own it sees and deletes', () =>
      withServer(forwarded, async (server) => {
        server.answerWith(() => Response.json(response([messageItem('secret', 'msg_s')], { id: 'resp_s' })))
        const told = await ask(server, { input: 'one', metadata: { a: 'b' } })
        const { token } = await server.newKey()
        const naming = [
          { input: 'x', previous_response_id: 'resp_s' },
          { input: [{ type: 'item_reference', id: 'msg_s' }] },
          { input: [{ id: 'msg_s' }] },
        ]
        const count = server.asked.length
        for (const body of naming)
          expect((await ask(server, body, token)).error.code).toBe('invalid_parameter')
        expect(server.asked.length).toBe(count)
        for (const method of ['GET', 'DELETE'])
          expect((await server.send(method, '/v1/responses/resp_s', undefined, token)).status).toBe(404)
        const { _remaining_credits: _left, _balance_warning: _low, ...kept } = told
        expect(await jsonOf(await server.get('/v1/responses/resp_s'))).toEqual(kept)
        expect(await jsonOf(await server.send('DELETE', '/v1/responses/resp_s'))).toEqual({
          id: 'resp_s',
          object: 'response',
          deleted: true,
        })
        for (const body of naming) expect((await ask(server, body)).error.code).toBe('invalid_parameter')
        for (const method of ['GET', 'DELETE'])
          expect((await server.send(method, '/v1/responses/resp_s')).status).toBe(404)
      }))

    test('an answer that broke off is not kept, one that a bound of money ended is', () =>
      withServer(forwarded, async (server) => {
        const events = responseEvents(response([messageItem('hello there '.repeat(300))], { id: 'resp_b' }))
        server.answerWith(() => streaming(events.slice(0, 20)))
        const body = { model: 'mock/small', input: 'one', stream: true }
        await (await server.post('/v1/responses', body)).text()
        expect((await server.get('/v1/responses/resp_b')).status).toBe(404)
        server.answerWith(() => streaming(events.slice(0, -3)))
        const cut = await (await server.post('/v1/responses', body, { 'x-max-cost-usd': '0.002' })).text()
        const told = cut.split('\ndata: ').slice(1)
        const sent = told.map((one) => JSON.parse(one.split('\n')[0] ?? ''))
        const heard = sent.flatMap(({ type, delta }) =>
          type === 'response.output_text.delta' ? [delta] : [],
        )
        expect(heard.length).toBeGreaterThan(10)
        expect(sent.slice(-4).map(({ type }) => type)).toEqual([
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.incomplete',
        ])
        expect(sent.map(({ sequence_number }) => sequence_number)).toEqual(sent.map((_, at) => at))
        const kept = await jsonOf(await server.get('/v1/responses/resp_b'))
        const { status, content } = kept.output[0]
        expect([kept.status, status, content[0].text]).toEqual(['incomplete', 'incomplete', heard.join('')])
        server.answerWith(() => Response.json(response([messageItem('more')])))
        await ask(server, { input: 'go on', previous_response_id: 'resp_b' })
        expect(server.asked.at(-1)?.text).toContain(heard.join(''))
      }))

    test('the same under an Idempotency-Key', () =>
      withServer(forwarded, async (server) => {
        let calls = 0
        server.answerWith(() => Response.json(response([messageItem('hello')], { id: `resp_${calls++}` })))
        const body = { model: 'mock/small', input: 'one' }
        const once = () => server.post('/v1/responses', body, { 'idempotency-key': 'k1' })
        expect(await (await once()).text()).toBe(await (await once()).text())
        expect(calls).toBe(1)
        expect((await server.get('/v1/responses/resp_0')).status).toBe(200)
      }))
  })

test('where nothing is kept the refusal says what would keep it, and a caller who asked for it learns that it was not', async () => {
  const server = await startTestServer({ vendor: { speaks: 'responses' }, options: { responsesKeptMs: 0 } })
  try {
    server.answerWith(() => Response.json(response([messageItem('hello')], { id: 'resp_0' })))
    const body = { model: 'mock/small', input: 'one', store: true }
    const answer = await server.post('/v1/responses', body)
    expect(answer.headers.get('x-not-carried')).toBe('store')
    expect((await jsonOf(answer)).store).toBe(false)
    expect((await server.get('/v1/responses/resp_0')).status).toBe(404)
    const next = await jsonOf(await server.post('/v1/responses', { ...body, previous_response_id: 'resp_0' }))
    expect(next.error.message).toContain('RESPONSES_STORE')
    expect(next.error.message).toContain("leave 'previous_response_id' out and send in 'input' the whole")
  } finally {
    await server.stop()
  }
})

test('a response that could not be kept costs neither its answer nor its charge; the next turn says that it is gone', async () => {
  const server = await startTestServer({
    vendor: { speaks: 'responses' },
    options: { responsesKeptMs: HOUR },
  })
  try {
    server.answerWith(() => Response.json(response([messageItem('hello')], { id: 'resp_0' })))
    const { keepResponse } = server.store.responses
    Object.assign(server.store.responses, {
      keepResponse: () => Promise.reject(new Error('the disk is full')),
    })
    const before = await server.balance()
    const body = { model: 'mock/small', input: 'one' }
    const answer = await server.post('/v1/responses', body)
    expect([answer.status, before - (await server.balance())]).toEqual([200, 60_000n])
    Object.assign(server.store.responses, { keepResponse })
    const next = await server.post('/v1/responses', { ...body, previous_response_id: 'resp_0' })
    expect([next.status, (await jsonOf(next)).error.param]).toEqual([400, 'previous_response_id'])
  } finally {
    await server.stop()
  }
})
