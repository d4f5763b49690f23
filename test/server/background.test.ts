/**
 * Responses in the background (`background: true`), asked for by the official client: they are made while nobody waits,
 * read at any process, taken up in mid-stream, stopped, and charged once.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { messageItem, response, responseEvents } from '../dialects/responses-vendor.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { completion, jsonOf, startTestServer, streamEvents, streaming, type TestServer } from './harness.ts'
import { clientOf } from './official-client.ts'

const HOUR = 3_600_000
const asked = { model: 'mock/small', input: 'hi', background: true } as const

for (const engine of serverEngines)
  describe(engine.name, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    beforeAll(async () => {
      database = await engine.fresh()
    })
    afterAll(() => database.stop())

    type Pair = {
      readonly one: TestServer
      readonly client: OpenAI
      readonly token: string
      readonly keyId: string
      /** The same key at another process on the same ledger; at this one where the ledger has room for one alone. */
      readonly elsewhere: OpenAI
      readonly spent: () => Promise<bigint>
    }
    const withPair = async (
      setup: Parameters<typeof startTestServer>[0],
      work: (pair: Pair) => Promise<void>,
    ) => {
      const options = { responsesKeptMs: HOUR, ...setup?.options }
      const one = await startTestServer({ url: database.url, ...setup, options })
      const other = engine.lasting
        ? await startTestServer({ url: database.url, ...setup, options })
        : undefined
      const before = await one.balance()
      const { token, id: keyId } = await one.newKey()
      try {
        await work({
          one,
          token,
          keyId,
          client: clientOf(one, token),
          elsewhere: clientOf(other ?? one, token),
          spent: async () => before - (await one.balance()),
        })
      } finally {
        await other?.stop()
        const broken = await brokenLaws(one.store)
        await one.stop()
        expect(broken).toEqual([])
      }
    }
    /** What a client does that polls. */
    const ended = async (client: OpenAI, id: string) => {
      let now = await client.responses.retrieve(id)
      await until(async () => {
        now = await client.responses.retrieve(id)
        return now.status !== 'queued' && now.status !== 'in_progress'
      })
      return now
    }

    test('created, polled at another process, and continued; charged once, as when its caller waits', () =>
      withPair({}, async ({ one, client, elsewhere, spent, token }) => {
        const answers = Promise.withResolvers<void>()
        one.answerWith(async () => {
          await answers.promise
          return completion('hello')
        })
        const { data: created, response: told } = await client.responses.create(asked).withResponse()
        expect([created.status, created.background, created.output]).toEqual(['queued', true, []])
        const during = await elsewhere.responses.retrieve(created.id)
        expect([during.status, during.background]).toEqual(['in_progress', true])
        const early = client.responses.create({ ...asked, previous_response_id: created.id })
        expect(await early.catch(({ message }) => message)).toContain('is not kept here')
        answers.resolve()
        const done = await ended(elsewhere, created.id)
        expect([done.status, done.output_text, done.created_at]).toEqual([
          'completed',
          'hello',
          created.created_at,
        ])
        // 10 tokens in and 5 out, as `completion` says.
        await until(async () => (await spent()) === 60_000n)
        const receipt = await one.get(`/v1/receipts/${told.headers.get('x-request-id')}`, token)
        expect((await jsonOf(receipt)).receipt).toMatch(/^eyJ/)
        const next = await client.responses.create({ ...asked, previous_response_id: created.id })
        await ended(elsewhere, next.id)
        expect(one.asked.at(-1)?.body.messages).toHaveLength(3)
        await until(async () => (await spent()) === 120_000n)
        await until(() => one.openCalls() === 0)
      }))

    test.each([
      ['a vendor of another dialect', {}],
      ['a vendor of the same dialect', { vendor: { speaks: 'responses' as const } }],
    ])('%s: a stream that breaks off is taken up where it was, at another process', (_name, setup) =>
      withPair(setup, async ({ one, client, elsewhere, spent }) => {
        const rest = Promise.withResolvers<void>()
        const whole = response([messageItem('one two three', 'msg_1')], { id: 'resp_of_vendor' })
        const events = 'vendor' in setup ? responseEvents(whole) : streamEvents(['one ', 'two ', 'three'])
        one.answerWith(() => {
          const all = new TextEncoder()
          return new Response(
            new ReadableStream({
              start: async (controller) => {
                for (const [at, event] of events.entries()) {
                  if (at === events.length - 2) await rest.promise
                  controller.enqueue(all.encode(event))
                }
                controller.close()
              },
            }),
            { headers: { 'content-type': 'text/event-stream' } },
          )
        })
        const stream = await client.responses.create({ ...asked, stream: true })
        let id = ''
        let text = ''
        const numbers: number[] = []
        const take = (event: OpenAI.Responses.ResponseStreamEvent) => {
          numbers.push(event.sequence_number)
          if (event.type === 'response.created') id = event.response.id
          if (event.type === 'response.output_text.delta') text += event.delta
          return event
        }
        for await (const event of stream) if (take(event).type === 'response.output_text.delta') break
        rest.resolve()
        const after = numbers.at(-1) ?? 0
        const again = await elsewhere.responses.retrieve(id, { stream: true, starting_after: after })
        let last: OpenAI.Responses.ResponseStreamEvent | undefined
        for await (const event of again) last = take(event)
        expect(text).toBe('one two three')
        expect(numbers).toEqual(numbers.map((_number, at) => at))
        if (last?.type !== 'response.completed') throw new Error(`it ended with ${last?.type}`)
        expect([last.response.id, last.response.background]).toEqual([id, true])
        const kept = await ended(elsewhere, id)
        expect([kept.id, kept.status, kept.output_text]).toEqual([id, 'completed', 'one two three'])
        expect(Number((kept.usage as any).cost)).toBeGreaterThan(0)
        expect(await spent()).toBe(BigInt(Math.round(Number((kept.usage as any).cost) * 1e9)))
      }),
    )

    test('stopped at another process: the vendor is left, and only what it read is charged', () =>
      withPair({}, async ({ one, client, elsewhere, spent }) => {
        one.answerWith(() => new Promise<Response>(() => undefined))
        const { id } = await client.responses.create(asked)
        await until(() => one.asked.length > 0)
        const stopped = await elsewhere.responses.cancel(id)
        expect([stopped.id, stopped.status, stopped.output]).toEqual([id, 'cancelled', []])
        expect((await elsewhere.responses.cancel(id)).status).toBe('cancelled')
        await until(() => one.openCalls() === 0)
        expect(one.asked[0]?.signal?.aborted).toBe(true)
        expect(await spent()).toBeLessThan(60_000n)
      }))

    test('a vendor that fails, before and in mid-stream: told with its reason', () =>
      withPair({}, async ({ one, client, spent }) => {
        one.answerWith(() => new Response('{"error":{"message":"no"}}', { status: 500 }))
        const { id } = await client.responses.create(asked)
        const failed = await ended(client, id)
        expect([failed.status, failed.error?.code as string]).toEqual(['failed', 'upstream_error'])
        expect(await spent()).toBe(0n)
        one.answerWith(() => streaming(streamEvents(['one ', 'two ']).slice(0, 2)))
        const types: string[] = []
        const stream = await client.responses.create({ ...asked, stream: true })
        const broken = async () => {
          for await (const event of stream) types.push(event.type)
        }
        await broken().catch(() => types.push('error'))
        expect(types.at(-1)).toMatch(/response.failed|error/)
      }))

    test('deleted while it is made: it is stopped, and stays away', () =>
      withPair({}, async ({ one, client, elsewhere }) => {
        one.answerWith(() => new Promise<Response>(() => undefined))
        const { id } = await client.responses.create(asked)
        await until(() => one.asked.length > 0)
        await elsewhere.responses.delete(id)
        await until(() => one.openCalls() === 0)
        await until(() => one.gateway.memory.jobs.responses.size === 0)
        expect(await elsewhere.responses.retrieve(id).catch(({ status }) => status)).toBe(404)
      }))

    test('an Idempotency-Key names the response: a repeat reads it as it is then, at any process', () =>
      withPair({}, async ({ one, client, elsewhere, spent }) => {
        const answers = Promise.withResolvers<void>()
        one.answerWith(async () => {
          await answers.promise
          return completion('hello')
        })
        const headers = { headers: { 'idempotency-key': 'once' } }
        const { id } = await client.responses.create(asked, headers)
        const repeated = await elsewhere.responses.create(asked, headers)
        expect([repeated.id, repeated.status]).toEqual([id, 'in_progress'])
        answers.resolve()
        await ended(client, id)
        expect((await elsewhere.responses.create(asked, headers)).output_text).toBe('hello')
        expect([one.asked.length, await spent()]).toEqual([1, 60_000n])
      }))

    test('its key, cap and ceiling bind at once; others do not see it', () =>
      withPair({}, async ({ one, client, token }) => {
        const poor = await one.post('/v1/responses', asked, { 'x-max-cost-usd': '0.000001' }, token)
        expect(poor.status).toBe(402)
        const { id } = await client.responses.create(asked)
        await ended(client, id)
        const stranger = clientOf(one, (await one.newKey()).token)
        for (const act of ['retrieve', 'cancel', 'delete'] as const)
          expect(await stranger.responses[act](id).catch(({ status }) => status)).toBe(404)
        const whole = await client.responses.create({ model: 'mock/small', input: 'hi' })
        expect(await client.responses.cancel(whole.id).catch(({ status }) => status)).toBe(400)
        expect(await client.responses.retrieve(id, { stream: true }).catch(({ status }) => status)).toBe(400)
      }))

    test('a process that dies: another one says so, and what it held is free', () =>
      withPair({}, async ({ one, elsewhere, keyId }) => {
        const lost = { keyId, id: 'resp_lost' }
        await one.store.background.begin(
          {
            ...lost,
            callId: 'lost',
            owner: 'gone',
            previousId: undefined,
            input: '[]',
            body: JSON.stringify({
              id: lost.id,
              object: 'response',
              created_at: 1,
              model: 'm',
              status: 'in_progress',
              background: true,
              usage: null,
            }),
            events: [JSON.stringify({ type: 'response.created', sequence_number: 0 })],
          },
          HOUR,
        )
        const failed = await ended(elsewhere, lost.id)
        expect([failed.status, failed.error?.message]).toEqual([
          'failed',
          'The process that made the response ended. What it had said until then is charged.',
        ])
        const events: OpenAI.Responses.ResponseStreamEvent[] = []
        for await (const event of await elsewhere.responses.retrieve(lost.id, { stream: true }))
          events.push(event)
        expect(events.map(({ type, sequence_number: at }) => [type, at])).toEqual([
          ['response.created', 0],
          ['response.failed', 1],
        ])
      }))
  })

test('where nothing is kept, the refusal names the setting', async () => {
  const server = await startTestServer({ options: { responsesKeptMs: 0 } })
  try {
    const { error } = await jsonOf(await server.post('/v1/responses', asked))
    expect([error.param, error.message.includes('RESPONSES_STORE')]).toEqual(['background', true])
  } finally {
    await server.stop()
  }
})
