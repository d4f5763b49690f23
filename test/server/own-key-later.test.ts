/** Caps count what vendors bill for own keys where the money outlives a process: of jobs, and of lines of batches. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { VENDORS } from '../../src/ledger/estimates.ts'
import { ownKeySettings } from '../../src/settings/own-keys.ts'
import { readSettings } from '../../src/settings/setting.ts'
import type { Limits } from '../../src/tenancy/limits.ts'
import { brokenLaws, serverEngines, stopSound, type TestEngine } from '../store/engines.ts'
import { until } from '../until.ts'
import { type BatchServer, chatLine, startBatchServer } from './batch-rig.ts'
import { completion, jsonOf, type TestServer, testModel, USD } from './harness.ts'
import { CENT, type JobServer, jobRecord, startJobServer } from './job-rig.ts'

/** A tenth of the list price, which is a cent for a picture and for a line. */
const ownKeys = readSettings(ownKeySettings, { OWN_KEY_FEE_BASIS_POINTS: '1000' })
const FEE = CENT / 10n

const withOwnKey = async (server: TestServer): Promise<void> => {
  const body = { vendor: 'mock', value: 'sk-own-0123456789abcdef-tail', untested: true }
  expect((await server.send('POST', '/v1/own-keys', body)).status).toBe(201)
}

const spentBy = async ({ store }: TestServer, id: string) => {
  const { spent, estimated, held, requests } = await store.keys.spend(id)
  return { fees: spent - estimated.spent, estimated: estimated.spent, held, requests }
}

const nothing = { fees: 0n, estimated: 0n, held: 0n, requests: 0 }

for (const kind of serverEngines)
  describe(`jobs by own keys under caps, ${kind.name}`, () => {
    let database: Awaited<ReturnType<TestEngine['fresh']>>
    let server: JobServer

    beforeAll(async () => {
      database = await kind.fresh()
      server = await startJobServer({
        url: database.url,
        sells: [jobRecord(), jobRecord({ onCancel: 'billed' }, 'billed')],
        server: { fund: USD, options: { ownKeys } },
      })
      await withOwnKey(server)
    })
    afterAll(() => stopSound(server, database))

    const begin = async (token: string, model = 'film', n = 1) =>
      server.post(
        '/v1/run',
        { model: `mock/${model}`, inputs: { prompt: 'a fox', n } },
        { prefer: 'respond-async' },
        token,
      )
    const begun = async (token: string, model?: string, n?: number): Promise<string> => {
      const answer = await begin(token, model, n)
      expect(answer.status).toBe(202)
      return (await jsonOf(answer)).id
    }
    const ended = (token: string, ids: readonly string[], as: string) =>
      until(async () => {
        const shown = await Promise.all(
          ids.map(async (id) => jsonOf(await server.get(`/v1/run/${id}`, token))),
        )
        return shown.every(({ status }) => status === as)
      })

    test.each<keyof Limits>(['spendCap', 'monthlyCap', 'dailyCap'])(
      '%s counts fee and estimate of those that run, also for a key above',
      async (cap) => {
        server.says('pending')
        const maker = await server.newKey({ [cap]: 4n * CENT })
        const below = await server.newKey({}, { parentId: maker.id })
        const before = {
          balance: await server.balance(),
          counted: await server.store.ledger.balance(VENDORS),
        }
        const answers = await Promise.all(
          [maker, below, maker, below, maker].map(({ token }) => begin(token)),
        )
        const refused = answers.filter(({ status }) => status !== 202)
        expect(refused.map(({ status }) => status)).toEqual([429, 429])
        expect((await server.store.keys.spend(maker.id)).held).toBe(3n * (CENT + FEE))
        server.says(1)
        await until(async () => (await server.store.keys.spend(maker.id)).held === 0n)
        expect(await spentBy(server, maker.id)).toEqual({
          ...{ fees: 3n * FEE, estimated: 3n * CENT, held: 0n, requests: 3 },
        })
        expect(before.balance - (await server.balance())).toBe(3n * FEE)
        expect((await server.store.ledger.balance(VENDORS)) - before.counted).toBe(3n * CENT)
        // 0.7 of a cent are left: the fee fits, and what the vendor bills does not.
        const { error } = await jsonOf(await begin(below.token))
        expect([error.code, error.limit_owner, error.estimated, error.required_credits]).toEqual([
          ...['insufficient_balance', 'parent', true, 1],
        ])
        expect((await server.store.keys.spend(maker.id)).held).toBe(0n)
      },
    )

    test('one that delivers less than it may is counted for that', async () => {
      server.says('pending')
      const { token, id } = await server.newKey({ spendCap: 5n * CENT })
      const job = await begun(token, 'film', 4)
      expect((await server.store.keys.spend(id)).held).toBe(4n * (CENT + FEE))
      server.says(2)
      await ended(token, [job], 'succeeded')
      expect(await spentBy(server, id)).toEqual({
        ...nothing,
        fees: 2n * FEE,
        estimated: 2n * CENT,
        requests: 1,
      })
    })

    test.each<[string, string, (token: string, job: string) => Promise<unknown>, object]>([
      ['fails', 'film', async () => server.says('failed'), nothing],
      [
        'is cancelled',
        'film',
        (token, job) => server.send('DELETE', `/v1/run/${job}`, undefined, token),
        nothing,
      ],
      [
        'is cancelled where its vendor bills that',
        'billed',
        (token, job) => server.send('DELETE', `/v1/run/${job}`, undefined, token),
        { fees: FEE, estimated: CENT, held: 0n, requests: 1 },
      ],
    ])('one that %s holds nothing', async (_, model, then, left) => {
      server.says('pending')
      const { token, id } = await server.newKey({ spendCap: 5n * CENT })
      const job = await begun(token, model)
      await then(token, job)
      await until(async () => (await server.store.keys.spend(id)).held === 0n)
      expect(await spentBy(server, id)).toEqual(left as typeof nothing)
    })

    test('one that its vendor refuses to begin holds nothing', async () => {
      const { token, id } = await server.newKey({ spendCap: 5n * CENT })
      server.answerWith(() => Response.json({ id: 'x', wrong: 'prompt' }))
      expect((await begin(token)).status).toBeGreaterThan(399)
      await until(async () => (await server.store.keys.spend(id)).held === 0n)
      expect(await spentBy(server, id)).toEqual(nothing)
    })
  })

for (const kind of serverEngines)
  describe(`lines of batches by own keys under caps, ${kind.name}`, () => {
    let database: Awaited<ReturnType<TestEngine['fresh']>>
    let server: BatchServer
    const used = { prompt_tokens: 0, completion_tokens: 100, total_tokens: 100 }

    beforeAll(async () => {
      database = await kind.fresh()
      const price = { rates: { input: 0, output: 100_000_000 }, tiers: [], version: 't' }
      const models = [testModel('small', { maxOutputTokens: 1_000, price })]
      server = await startBatchServer({
        url: database.url,
        server: { fund: USD, models, options: { ownKeys } },
      })
      server.answerWith(() => completion('x', used))
      await withOwnKey(server)
    })
    afterAll(() => stopSound(server, database))

    const run = async (token: string, lines: number) => {
      const file = await server.upload(
        token,
        Array.from({ length: lines }, (_, n) => chatLine(n)),
      )
      const { id } = await server.client(token).batches.create({
        ...{ input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' },
      })
      const { output_file_id, error_file_id } = await server.ended(token, id)
      const [good, bad] = [
        await server.results(token, output_file_id),
        await server.results(token, error_file_id),
      ]
      return { served: good.size, errors: [...bad.values()].map(({ response }) => response) }
    }

    test('no more are sent than fit; the others say which limit binds, and that the amount is estimated', async () => {
      const { token, id } = await server.newKey({ spendCap: 6n * CENT })
      const [before, asked] = [await server.balance(), server.asked.length]
      const { served, errors } = await run(token, 8)
      // The fees of all eight are held when the batch begins: 0.8 of the six cents.
      expect([served, server.asked.length - asked]).toEqual([5, 5])
      for (const { status_code, body } of errors)
        expect([status_code, body.error.limit, body.error.estimated]).toEqual([402, 'spend_cap_usd', true])
      expect(await spentBy(server, id)).toEqual({
        fees: 5n * FEE,
        estimated: 5n * CENT,
        held: 0n,
        requests: 5,
      })
      expect(before - (await server.balance())).toBe(5n * FEE)
    })

    test('a line whose room an open call holds is sent again once that has ended', async () => {
      const { token, id } = await server.newKey({ spendCap: 2n * CENT })
      const open = Promise.withResolvers<void>()
      let waits = true
      server.answerWith(async () => {
        if (waits) await open.promise
        return completion('x', { prompt_tokens: 0, completion_tokens: 10, total_tokens: 10 })
      })
      const asked = server.asked.length
      const body = { ...chatLine(0).body }
      const call = server.post('/v1/chat/completions', body, {}, token)
      await until(() => server.asked.length > asked)
      waits = false
      const { book } = server.gateway
      const { holdBeside } = book
      let short = 0
      book.holdBeside = async (...it) => {
        const held = await holdBeside(...it)
        if ('outcome' in held && ++short === 1) open.resolve()
        return held
      }
      const ran = await run(token, 1)
      book.holdBeside = holdBeside
      expect([(await call).status, ran, short > 0]).toEqual([200, { served: 1, errors: [] }, true])
      const tenth = CENT / 10n
      expect(await spentBy(server, id)).toEqual({
        ...{ fees: (2n * FEE) / 10n, estimated: 2n * tenth, held: 0n, requests: 2 },
      })
      server.answerWith(() => completion('x', used))
    })

    test('a line that its vendor refuses is not counted', async () => {
      const { token, id } = await server.newKey({ spendCap: 6n * CENT })
      server.answerWith(() => Response.json({ error: { message: 'no' } }, { status: 400 }))
      expect((await run(token, 2)).errors.map(({ status_code }) => status_code)).toEqual([400, 400])
      server.answerWith(() => completion('x', used))
      expect(await spentBy(server, id)).toEqual(nothing)
      expect(await brokenLaws(server.store)).toEqual([])
    })
  })
