/**
 * Jobs over HTTP: held, submitted once, waited for or polled later, charged when they deliver, free when they do not.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import { withRules } from './guard-rig.ts'
import { jsonOf } from './harness.ts'
import { CENT, type JobServer, newVendor, startJobServer } from './job-rig.ts'

const noModel = () => undefined

for (const engine of serverEngines)
  describe(engine.name, () => {
    let server: JobServer
    let database: Awaited<ReturnType<typeof engine.fresh>>

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startJobServer({ url: database.url })
    })
    afterAll(() => stopSound(server, database))

    const run = (inputs: object = {}, headers: Record<string, string> = {}, more: object = {}) =>
      server.post('/v1/run', { model: 'mock/film', inputs: { prompt: 'a fox', ...inputs }, ...more }, headers)
    const begin = async (inputs: object = {}, headers: Record<string, string> = {}, more: object = {}) => {
      const response = await run(inputs, { prefer: 'respond-async', ...headers }, more)
      return { response, body: await jsonOf(response) }
    }
    const shown = async (id: string) => jsonOf(await server.get(`/v1/run/${id}`))
    const ended = async (id: string) => {
      await until(async () => (await shown(id)).ended_at !== undefined)
      return shown(id)
    }
    const held = async () => (await server.store.wallets.wallet(server.wallet))?.held

    test('who waits gets the results, which are charged and stored', async () => {
      server.says(2)
      const before = await server.balance()
      const response = await run({ n: 3 })
      const body = await jsonOf(response)
      expect([response.status, response.headers.get('x-cost-usd')]).toEqual([200, '0.02'])
      expect(body).toMatchObject({ object: 'run', status: 'succeeded', seed: 7, usage: { cost: 0.02 } })
      expect(body.pictures).toEqual(body.outputs.map(({ url }: { url: string }) => url))
      expect((await server.fetchUrl(body.outputs[1].url)).status).toBe(200)
      expect(before - (await server.balance())).toBe(2n * CENT)
      expect(await held()).toBe(0n)
      expect(await shown(body.id)).toMatchObject({
        status: 'succeeded',
        ended_at: body.ended_at,
        outputs: [{ width: 3 }, { width: 3 }],
      })
      expect(response.headers.get('x-receipt')).toBeTruthy()
    })

    test('a caller who does not wait asks later; the answer gives the state, and the job holds its bound', async () => {
      server.says('pending')
      const { response, body } = await begin({ n: 4 })
      expect([response.status, response.headers.get('preference-applied')]).toEqual([202, 'respond-async'])
      expect(response.headers.get('location')).toBe(`http://turnpike.test/v1/run/${body.id}`)
      expect(response.headers.get('retry-after')).toBe('1')
      expect(body).toMatchObject({ status: 'running', max_cost_usd: 0.04, model: 'mock/film' })
      expect(await held()).toBe(4n * CENT)
      await until(async () => (await server.gateway.memory.jobs.open.get(body.id)?.progress) === 250)
      server.says(1)
      const end = await ended(body.id)
      expect(end).toMatchObject({ status: 'succeeded', usage: { cost: 0.01 } })
      expect(await held()).toBe(0n)
      const list = await jsonOf(await server.get('/v1/run?status=succeeded&limit=1'))
      expect(list.data).toMatchObject([{ id: body.id, status: 'succeeded', ended_at: end.ended_at }])
      expect(Date.parse(end.ended_at)).toBeGreaterThanOrEqual(Date.parse(end.created_at))
    })

    test('a job counts for what it is for, and tells what guardrails found in it, as any call does', async () => {
      await withRules(server, [{ detect: ['email'], action: 'mask', on: 'input' }])
      const inputs = { prompt: 'a fox of ann.o@example.com' }
      const headers = { 'x-turnpike-tags': 'team=red' }
      const told = { tags: { team: 'red' }, guardrails: { 'input.email': 'mask 1' } }
      for (const is of [1, 'failed'] as const) {
        server.says(is)
        const { body } = await begin(inputs, headers)
        await ended(body.id)
        await until(async () => (await server.get(`/v1/calls/${body.id}`)).status === 200)
        expect(await jsonOf(await server.get(`/v1/calls/${body.id}`))).toMatchObject(told)
      }
      const usage = await jsonOf(await server.get('/v1/usage?group_by=tag&tag=team'))
      expect(usage.data.rows).toContainEqual(expect.objectContaining({ tag: 'red', cost_usd: 0.01 }))
      await withRules(server, null)
    })

    test('a job whose vendor is no longer sold goes on where it was submitted, at the price it began with', async () => {
      const { catalogue, vendors, failover } = server.gateway.offering
      server.says('pending')
      const { body } = await begin({ n: 3 })
      const { jobs } = server.gateway.memory
      await until(() => jobs.open.get(body.id)?.progress === 250)
      const before = await server.balance()
      server.sell({
        catalogue: { find: noModel, list: () => [], ended: noModel },
        vendors: new Map(),
        failover,
      })
      try {
        expect((await run()).ok).toBe(false)
        server.says(2)
        expect(await ended(body.id)).toMatchObject({ status: 'succeeded', usage: { cost: 0.02 } })
        expect(before - (await server.balance())).toBe(2n * CENT)
      } finally {
        server.sell({ catalogue, vendors, failover })
      }
      expect((await run()).status).toBe(200)
    })

    test.each([
      ['blocked', 400, 'content_policy_violation'],
      ['failed', 503, 'upstream_error'],
      ['gone', 503, 'upstream_error'],
    ])('what ends %s is free, and says why', async (is, status, code) => {
      server.says(is)
      const before = await server.balance()
      const response = await run()
      const { error } = await jsonOf(response)
      expect([response.status, error.code]).toEqual([status, code])
      expect(await shown(error.run_id)).toMatchObject({ status: 'failed', error: { code } })
      expect([await server.balance(), await held()]).toEqual([before, 0n])
    })

    test('a job is cancelled, free where its vendor says so', async () => {
      server.says('pending')
      const before = await server.balance()
      const { body } = await begin()
      const response = await server.send('DELETE', `/v1/run/${body.id}`)
      expect((await jsonOf(response)).status).toMatch(/running|cancelled/)
      const error = { code: 'run_cancelled', message: 'The job was cancelled. Nothing was charged.' }
      expect(await ended(body.id)).toMatchObject({ status: 'cancelled', error })
      expect([await server.balance(), await held()]).toEqual([before, 0n])
      expect((await jsonOf(await server.send('DELETE', `/v1/run/${body.id}`))).status).toBe('cancelled')
    })

    test('a job is cancelled for what was asked for where its vendor bills it all the same, and its run tells so before', async () => {
      server.says('pending')
      const before = await server.balance()
      const begun = await server.post(
        '/v1/run',
        { model: 'mock/billed', inputs: { prompt: 'a', n: 2 } },
        { prefer: 'wait=0' },
      )
      const { id, cancel_cost_usd: told } = await jsonOf(begun)
      expect([told, (await jsonOf(await server.get(`/v1/run/${id}`))).cancel_cost_usd]).toEqual([0.02, 0.02])
      await server.send('DELETE', `/v1/run/${id}`)
      const message = 'The job was cancelled; its vendor bills that, so 0.02 USD were charged.'
      expect(await ended(id)).toMatchObject({
        status: 'cancelled',
        error: { code: 'run_cancelled', message, cost_usd: 0.02 },
      })
      expect([before - (await server.balance()), await held()]).toEqual([2n * CENT, 0n])
    })

    test('what does not end in time is cancelled and free', async () => {
      server.says('pending')
      const cancels = server.count('DELETE')
      const before = await server.balance()
      const response = await server.post('/v1/run', { model: 'mock/hasty', inputs: { prompt: 'a' } })
      expect((await jsonOf(response)).error.message).toMatch(/cancelled|in time/)
      expect(server.count('DELETE')).toBe(cancels + 1)
      expect([await server.balance(), await held()]).toEqual([before, 0n])
    })

    test('the vendor’s refusal of a submission leaves nothing', async () => {
      server.answerWith(() => Response.json({ wrong: 'no such size' }, { status: 422 }))
      const response = await run()
      expect([response.status, (await jsonOf(response)).error.message]).toEqual([400, 'no such size'])
      await until(async () => (await held()) === 0n)
      // A fault behind the vendor's entrance may have taken the job, so it is not submitted again.
      let asked = 0
      server.answerWith(() => {
        asked++
        return Response.json({}, { status: 500 })
      })
      expect((await run()).status).toBe(503)
      expect(asked).toBe(1)
      await until(async () => (await held()) === 0n)
    })

    test('runs of others are not there', async () => {
      const vendor = newVendor()
      server.answerWith(vendor.answer)
      vendor.says('pending')
      const { body } = await begin()
      const other = await server.newKey()
      expect((await server.get(`/v1/run/${body.id}`, other.token)).status).toBe(404)
      expect((await server.send('DELETE', `/v1/run/${body.id}`, undefined, other.token)).status).toBe(404)
      expect((await jsonOf(await server.get('/v1/run', other.token))).data).toEqual([])
      expect((await server.get(`/v1/run/${body.id}?token=forged`, '')).status).toBe(404)
      await server.send('DELETE', `/v1/run/${body.id}`)
      await ended(body.id)
    })

    test('a list goes on after the last run of the page before', async () => {
      const vendor = newVendor()
      server.answerWith(vendor.answer)
      vendor.says(1)
      const { token } = await server.newKey()
      const list = async (query: string) => jsonOf(await server.get(`/v1/run?${query}`, token))
      const body = { model: 'mock/film', inputs: { prompt: 'a' } }
      const ids: string[] = []
      for (let at = 0; at < 3; at++)
        ids.unshift((await jsonOf(await server.post('/v1/run', body, {}, token))).id)
      const idsIn = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)
      const first = await list('limit=2')
      expect([idsIn(first), first.has_more]).toEqual([ids.slice(0, 2), true])
      const rest = await list(`limit=2&status=succeeded&after=${ids[1]}`)
      expect([idsIn(rest), rest.has_more]).toEqual([ids.slice(2), false])
      const { body: strange } = await begin()
      expect((await list(`after=${strange.id}`)).error.param).toBe('after')
      await ended(strange.id)
    })

    test('a cancel that its vendor is too busy for is sent again', async () => {
      const vendor = newVendor()
      vendor.says('pending')
      let busy = 2
      server.answerWith((request) =>
        request.method === 'DELETE' && busy-- > 0
          ? new Response('', { status: busy === 1 ? 429 : 503 })
          : vendor.answer(request),
      )
      const { body } = await begin()
      await server.send('DELETE', `/v1/run/${body.id}`)
      expect(await ended(body.id)).toMatchObject({ status: 'cancelled' })
      expect(await held()).toBe(0n)
    })

    test('what its vendor made in time is delivered, although we ask too late', async () => {
      const vendor = newVendor()
      vendor.says(2)
      server.answerWith(vendor.answer)
      const before = await server.balance()
      const response = await server.post('/v1/run', { model: 'mock/hasty', inputs: { prompt: 'a', n: 2 } })
      expect([response.status, (await jsonOf(response)).outputs?.length]).toEqual([200, 2])
      expect([before - (await server.balance()), vendor.calls.map(({ method }) => method)]).toEqual([
        2n * CENT,
        ['POST', 'GET'],
      ])
    })
  })
