/** Batches in OpenAI's form, with the official client: each line a call with its own charge, and nothing held at the end. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { webhookSecret } from '../../src/gateway/jobs/signed-webhook.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { SUB_TAG } from '../../src/tenancy/tags.ts'
import type { PublicParts } from '../../src/transport/public-address.ts'
import { byTest } from '../by-test.ts'
import { brokenLaws, serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import { type BatchServer, chatLine, startBatchServer } from './batch-rig.ts'
import { completion, hashOf, jsonOf, USD } from './harness.ts'

/** 10 tokens in and 5 out cost 10 × 1,000 and 5 × 10,000 nano-USD. */
const LINE = 60_000n

describe.each(serverEngines)('on $name', ({ fresh }) => {
  let database: { readonly url: string; readonly stop: () => Promise<void> }
  let server: BatchServer
  let skewMs = 0
  const told: { url: string; headers: Headers; body: string }[] = []
  const lines = (count: number) => Array.from({ length: count }, (_, n) => chatLine(n))

  beforeAll(async () => {
    database = await fresh()
    const webhooks: PublicParts = {
      resolve: async () => ['1.1.1.1'],
      fetch: async (url, init) => {
        told.push({ url, headers: new Headers(init.headers), body: String(init.body) })
        return new Response('', { status: 204 })
      },
    }
    const now = () => Date.now() + skewMs
    server = await startBatchServer({ url: database.url, now, server: { webhooks } })
  })
  afterAll(() => stopSound(server, database))

  const charged = () => server.store.ledger.balance('revenue')
  const held = async () => (await server.store.wallets.wallet(server.wallet))?.held
  const begin = async (token: string, all: readonly unknown[], more: object = {}) => {
    const input_file_id = await server.upload(token, all)
    return server.client(token).batches.create({
      input_file_id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      ...more,
    })
  }
  const answerEach = () =>
    server.answerWith(({ body }) => completion(`heard ${(body.messages as any)[0].content}`))

  test('1,000 lines: each answered once, each charged once with a receipt, and the sum is the ledger’s', async () => {
    answerEach()
    const { token } = await server.newKey()
    const [before, asked] = [await charged(), server.asked.length]
    const begun = await begin(token, lines(1_000), { metadata: { of: 'test' } })
    expect(begun).toMatchObject({ status: 'in_progress', metadata: { of: 'test' } })
    const batch = await server.ended(token, begun.id)
    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { total: 1_000, completed: 1_000, failed: 0 },
      usage: { input_tokens: 10_000, output_tokens: 5_000, total_tokens: 15_000 },
      cost_usd: 0.06,
    })
    expect(batch.error_file_id).toBeNull()
    const results = await server.results(token, batch.output_file_id)
    expect(results.size).toBe(1_000)
    expect(server.asked.length - asked).toBe(1_000)
    for (const [id, { response, error }] of results) {
      expect(error).toBeNull()
      expect(response.status_code).toBe(200)
      expect(response.body.choices[0].message.content).toBe(`heard say ${id.slice(5)}`)
      expect(response.body.usage.cost).toBe(0.00006)
    }
    expect((await charged()) - before).toBe(1_000n * LINE)
    await until(async () => (await held()) === 0n)
    const line = results.get('line-7')
    const receipt = await jsonOf(await server.get(`/v1/receipts/${line.response.request_id}`, token))
    const payment = { mode: 'wallet', batch: batch.id.slice('batch_'.length) }
    expect(receipt.claims).toMatchObject({ cost: { amount: '0.00006' }, payment })
    expect(line.receipt.split('.')[1]).toBe(receipt.receipt.split('.')[1])
    const calls: { id: string; cost_usd: number }[] = []
    for (let path: string | undefined = `/v1/calls?batch=${batch.id}&limit=300`; path !== undefined; ) {
      const page: any = await jsonOf(await server.get(path, token))
      calls.push(...page.data)
      path = page.next === null ? undefined : `/v1/calls?batch=${batch.id}&limit=300&before=${page.next}`
    }
    expect(new Set(calls.map(({ id }) => id))).toEqual(
      new Set([...results.values()].map(({ response }) => response.request_id)),
    )
    expect(calls.every(({ cost_usd }) => cost_usd === 0.00006)).toBe(true)
    expect((await server.get(`/v1/calls?batch=${batch.id}`, (await server.newKey()).token)).status).toBe(404)
  })

  test('its usage tells, as OpenAI’s does, what vendors read from caches and what their models thought', async () => {
    const counted = {
      ...{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    }
    server.answerWith(() => completion('thought', counted))
    const { token } = await server.newKey()
    const { usage } = await server.ended(token, (await begin(token, lines(3))).id)
    expect(usage).toEqual({
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 12 },
      output_tokens: 15,
      output_tokens_details: { reasoning_tokens: 6 },
      total_tokens: 45,
    })
  })

  test('each endpoint, and models of several kinds in one batch', async () => {
    const { token } = await server.newKey()
    server.answerWith(({ url }) =>
      url.endsWith('/embeddings')
        ? Response.json({
            object: 'list',
            model: 'embed',
            data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
            usage: { prompt_tokens: 3, total_tokens: 3 },
          })
        : completion('fine'),
    )
    const run = async (endpoint: '/v1/responses' | '/v1/embeddings', body: object) => {
      const line = { custom_id: 'only', method: 'POST', url: endpoint, body }
      const { id } = await begin(token, [line], { endpoint })
      const { output_file_id } = await server.ended(token, id)
      return (await server.results(token, output_file_id)).get('only').response.body
    }
    expect(await run('/v1/responses', { model: 'mock/small', input: 'hi' })).toMatchObject({
      object: 'response',
      status: 'completed',
    })
    const made = await run('/v1/embeddings', { model: 'mock/embed', input: 'hi' })
    expect(made.data[0].embedding).toEqual([0.5, 0.25])
  })

  test('what is wrong with a line is said with its number, and nothing begins', async () => {
    const { token } = await server.newKey()
    const asked = server.asked.length
    const wrong = async (all: readonly unknown[], more?: object) => {
      const thrown: any = await begin(token, all, more).catch((error) => error)
      return { status: thrown.status, code: thrown.code, line: thrown.error?.line, param: thrown.param }
    }
    const [one] = lines(1)
    const bad = (line: unknown) => wrong([one, '', line])
    const at3 = { status: 400, code: 'invalid_parameter', line: '3' }
    expect(await bad('{"custom_id": ')).toEqual({ ...at3, code: 'invalid_json', param: undefined })
    expect(await bad('[]')).toMatchObject({ ...at3, code: 'invalid_json' })
    expect(await bad(one)).toEqual({ ...at3, param: 'custom_id' })
    expect(await bad({ ...chatLine(1), custom_id: '' })).toEqual({ ...at3, param: 'custom_id' })
    expect(await bad({ ...chatLine(1), method: 'GET' })).toEqual({ ...at3, param: 'method' })
    expect(await bad({ ...chatLine(1), url: '/v1/embeddings' })).toEqual({ ...at3, param: 'url' })
    expect(await bad({ ...chatLine(1), body: 'hi' })).toEqual({ ...at3, param: 'body' })
    expect(await bad(chatLine(1, { stream: true }))).toEqual({ ...at3, param: 'stream' })
    expect(await bad(chatLine(1, { max_tokens: 'x' }))).toMatchObject({ ...at3, param: 'max_tokens' })
    expect(await bad(chatLine(1, {}, 'mock/nothing'))).toMatchObject({ ...at3, code: 'model_not_found' })
    expect(await bad(chatLine(1, {}, 'mock/embed'))).toMatchObject({ ...at3, code: 'model_not_found' })
    expect(await wrong([])).toMatchObject({ status: 400, param: 'file' })
    expect(await wrong([' ', ' '])).toMatchObject({ status: 400, param: 'input_file_id' })
    expect(await wrong([one], { endpoint: '/v1/moderations' })).toMatchObject({
      status: 400,
      param: 'endpoint',
    })
    expect(await wrong([one], { completion_window: '1h' })).toMatchObject({ param: 'completion_window' })
    const background = {
      ...chatLine(1),
      url: '/v1/responses',
      body: { model: 'mock/small', input: 'x', background: true },
    }
    expect(await wrong([background], { endpoint: '/v1/responses' })).toMatchObject({
      param: 'background',
      line: '1',
    })
    const other = await server.upload(token, [one], 'user_data')
    const create = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const
    const made = (input_file_id: string, by = token) =>
      server
        .client(by)
        .batches.create({ ...create, input_file_id })
        .catch((error: any) => error.status)
    expect(await made(other)).toBe(400)
    expect(await made('file-nothing')).toBe(404)
    const stranger = await server.newKey()
    expect(await made(await server.upload(token, [one]), stranger.token)).toBe(404)
    expect((await server.client(token).batches.list()).data).toEqual([])
    expect(server.asked.length).toBe(asked)
    expect(await held()).toBe(0n)
  })

  test('a line for a tag with a budget is refused by name; others tell what they were for', async () => {
    answerEach()
    const { token } = await server.newKey({}, { canManage: true })
    const put = await server.send('PUT', '/v1/budgets/user', { value: 'ann', daily_cap_usd: 1 }, token)
    expect(put.status).toBe(200)
    const of = (n: number, user: string) => {
      const line = chatLine(n)
      return { ...line, body: { ...line.body, user } }
    }
    await expect(begin(token, [of(1, 'bob'), of(2, 'ann')])).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('Line 2: The line is for user=ann, which has a budget'),
    })
    expect(await held()).toBe(0n)
    const dropped = await server.send('DELETE', '/v1/budgets/user?value=ann', undefined, token)
    expect(dropped.status).toBe(200)
    const { id } = await begin(token, [of(1, 'bob'), of(2, 'ann')])
    expect((await server.ended(token, id)).request_counts).toMatchObject({ completed: 2 })
    const { data }: any = await jsonOf(await server.get(`/v1/calls?batch=${id}&tag=user=ann`, token))
    expect(data.map((one: any) => one.tags)).toEqual([{ user: 'ann' }])
  })

  test('lines of a team count under its month, also under one that is set while they wait', async () => {
    const id = `sub_${crypto.randomUUID()}`
    const { teams, tagBudgets } = server.store
    const team = { id, orgId: 'org_test', walletId: server.wallet, label: 'ours', budget: 1_000n * USD }
    await teams.createTeam(team, byTest)
    const { token } = await server.newKey({}, { subWallet: id })
    const month = { walletId: server.wallet, tag: SUB_TAG, value: id }
    const set = async (monthlyCap: bigint) => {
      const its = { ...month, id: `bud_${crypto.randomUUID()}`, caps: { monthlyCap } }
      const made = await tagBudgets.putTagBudget(its, byTest)
      if (made === 'too_many') throw new Error(made)
      await server.gateway.book.untilKnown(made.at)
    }
    const spent = async () => (await tagBudgets.tagBudget(month))?.spent.spentThisMonth
    answerEach()
    await set(USD / 100n)
    const refused: any = await begin(token, lines(200)).catch((error) => error)
    expect(refused).toMatchObject({ status: 402, code: 'insufficient_balance' })
    expect(refused.error).toMatchObject({ limit: 'budget', budget: `${SUB_TAG}=${id}`, period: 'month' })
    const fits = { on_cap: 'run_what_fits' } as object
    const first = await server.ended(token, (await begin(token, lines(200), fits)).id)
    const done = first.request_counts?.completed ?? 0
    expect(done).toBeGreaterThan(100)
    expect(done).toBeLessThan(200)
    expect(await spent()).toBe(BigInt(done) * LINE)
    // Without a month all would run; it is set while some lines are sent and the others wait.
    await tagBudgets.removeTagBudget(month, byTest)
    const goOn = Promise.withResolvers<void>()
    server.answerWith(async () => {
      await goOn.promise
      return completion('late')
    })
    const { id: batch } = await begin(token, lines(400), fits)
    await until(() => server.gateway.capacity.calls.used() >= 32)
    await set(USD / 100n)
    goOn.resolve()
    const { completed = 0, failed = 0 } = (await server.ended(token, batch)).request_counts ?? {}
    expect([completed + failed, completed < 400]).toEqual([400, true])
    const counted = (await spent()) ?? 0n
    expect(counted).toBeGreaterThan(0n)
    expect(counted).toBeLessThanOrEqual(USD / 100n)
    // Those that were sent before count in no month.
    expect(BigInt(completed) * LINE).toBeGreaterThan(counted)
    await until(async () => (await held()) === 0n)
    expect(await brokenLaws(server.store)).toEqual([])
    await tagBudgets.removeTagBudget(month, byTest)
  })

  test('a batch that does not fit is refused with the sum it needs; or runs what fits, and tells the rest', async () => {
    answerEach()
    // Each line may cost 1,150,000 nano-USD and costs 60,000: with 0.01 USD there is room for eight, later for less.
    const { token } = await server.newKey({ spendCap: USD / 100n })
    const refused: any = await begin(token, lines(200)).catch((error) => error)
    expect(refused).toMatchObject({ status: 402, code: 'insufficient_balance' })
    expect(refused.error).toMatchObject({ limit: 'spend_cap_usd', required_usd: '0.23029' })
    expect(refused.message).toContain('run_what_fits')
    expect(await held()).toBe(0n)
    const before = await charged()
    const { id } = await begin(token, lines(200), { on_cap: 'run_what_fits' } as object)
    const batch = await server.ended(token, id)
    const { completed = 0, failed = 0 } = batch.request_counts ?? {}
    expect(completed + failed).toBe(200)
    expect(completed).toBeGreaterThan(100)
    expect(failed).toBeGreaterThan(10)
    const errors = await server.results(token, batch.error_file_id)
    expect(errors.size).toBe(failed)
    expect(
      [...errors.values()].every(
        ({ error, response }) => error.code === 'insufficient_credit' && response === null,
      ),
    ).toBe(true)
    expect((await server.results(token, batch.output_file_id)).size).toBe(completed)
    expect((await charged()) - before).toBe(BigInt(completed) * LINE)
    await until(async () => (await held()) === 0n)
  })

  test('cancel: lines that were sent end and are charged, others never are; only its own key sees it', async () => {
    const { token } = await server.newKey()
    const goOn = Promise.withResolvers<void>()
    server.answerWith(async ({ body }) => {
      await goOn.promise
      const busy = (body.messages as any)[0].content === 'say 3'
      return busy ? Response.json({ error: { message: 'busy' } }, { status: 429 }) : completion('late')
    })
    const before = await charged()
    const { id } = await begin(token, lines(100))
    const client = server.client(token)
    await until(() => server.gateway.capacity.calls.used() >= 32)
    // The books hold while lines wait and are sent.
    expect(await brokenLaws(server.store)).toEqual([])
    const stranger = server.client((await server.newKey()).token)
    expect(await stranger.batches.retrieve(id).catch((error) => error.status)).toBe(404)
    expect(await stranger.batches.cancel(id).catch((error) => error.status)).toBe(404)
    expect((await client.batches.cancel(id)).status).toBe('cancelling')
    goOn.resolve()
    const batch = await server.ended(token, id)
    expect(batch).toMatchObject({
      status: 'cancelled',
      request_counts: { total: 100, completed: 31, failed: 69 },
    })
    const errors = await server.results(token, batch.error_file_id)
    expect(errors.get('line-99').error.code).toBe('batch_cancelled')
    // It would have been sent again.
    expect(errors.get('line-3').error.code).toBe('batch_cancelled')
    expect((await charged()) - before).toBe(31n * LINE)
    expect(await client.batches.cancel(id)).toMatchObject({ status: 'cancelled' })
    const events = (await server.store.events.list({ most: 50 })).filter(({ subject }) => subject === id)
    expect(events.map(({ what }) => what)).toEqual(['batch.cancelled'])
    await until(async () => (await held()) === 0n)
  })

  test('a vendor that is busy is asked again, one that refuses is not, and neither is charged', async () => {
    const { token } = await server.newKey()
    const before = await charged()
    const tries = new Map<string, number>()
    server.answerWith(({ body }) => {
      const said = (body.messages as any)[0].content
      tries.set(said, (tries.get(said) ?? 0) + 1)
      if (said === 'say 1' && (tries.get(said) ?? 0) < 3)
        return Response.json({ error: { message: 'busy' } }, { status: 429, headers: { 'retry-after': '1' } })
      if (said === 'say 2')
        return Response.json({ error: { message: 'bad tool', param: 'tools' } }, { status: 400 })
      return completion('fine')
    })
    const { id } = await begin(token, lines(4))
    const batch = await server.ended(token, id)
    expect(batch.request_counts).toEqual({ total: 4, completed: 3, failed: 1 })
    const { response, error } = (await server.results(token, batch.error_file_id)).get('line-2')
    expect(error).toBeNull()
    expect(response.status_code).toBe(400)
    expect(response.body.error.message).toContain('bad tool')
    expect((await charged()) - before).toBe(3n * LINE)
  })

  test('a line that another process took over while its vendor answered is that process’s, and no fault of ours', async () => {
    const { token } = await server.newKey()
    const before = await charged()
    answerEach()
    const { batches } = server.gateway.store
    const { end, endAndTake } = batches
    Object.assign(batches, {
      endAndTake: async (...[id, ends, next]: Parameters<typeof endAndTake>) => {
        Object.assign(batches, { endAndTake })
        await end(
          id,
          ends.map(({ n, callId }) => ({ n, callId, state: 'waiting', pauseMs: 0 })),
        )
        return endAndTake(id, ends, next)
      },
    })
    const { id } = await begin(token, lines(4))
    expect((await server.ended(token, id)).request_counts).toEqual({ total: 4, completed: 4, failed: 0 })
    expect((await charged()) - before).toBe(4n * LINE)
    expect(JSON.stringify(await jsonOf(await server.get('/api/status')))).not.toContain(
      'fault of this server',
    )
  })

  test('a key that is disabled stops its batch; what was charged stays', async () => {
    const { token } = await server.newKey()
    const goOn = Promise.withResolvers<void>()
    server.answerWith(async () => {
      await goOn.promise
      return completion('late')
    })
    const { id } = await begin(token, lines(50))
    await until(() => server.gateway.capacity.calls.used() >= 32)
    expect((await server.send('PUT', '/v1/key/wholesale/me/limits', { disabled: true }, token)).status).toBe(
      200,
    )
    goOn.resolve()
    const batch = await server.ended(token, id)
    expect(batch.request_counts).toEqual({ total: 50, completed: 32, failed: 18 })
    const errors = await server.results(token, batch.error_file_id)
    expect(errors.get('line-49').error.code).toBe('key_disabled')
    await until(async () => (await held()) === 0n)
  })

  test('a key that is deleted sends no more lines either', async () => {
    const { token, id: keyId } = await server.newKey()
    const goOn = Promise.withResolvers<void>()
    server.answerWith(async () => {
      await goOn.promise
      return completion('late')
    })
    const { id } = await begin(token, lines(50))
    await until(() => server.gateway.capacity.calls.used() >= 32)
    await server.store.keys.deleteKey(keyId, false, byTest)
    goOn.resolve()
    const batch = () => server.store.batches.batchFor(id.replace('batch_', ''), keyId)
    await until(async () => (await batch())?.state === 'ended')
    expect(await batch()).toMatchObject({ succeeded: 32, stopped: 18, stop: 'invalid_api_key' })
    await until(async () => (await held()) === 0n)
  })

  test('lines that wait longer than a batch lives expire', async () => {
    answerEach()
    const { token } = await server.newKey()
    server.answerWith(() =>
      Response.json({ error: { message: 'busy' } }, { status: 429, headers: { 'retry-after': '60' } }),
    )
    const { id } = await begin(token, lines(3))
    await until(() => server.gateway.capacity.calls.used() === 0)
    skewMs += 25 * 3_600_000
    const batch = await server.ended(token, id)
    expect(batch).toMatchObject({ status: 'expired', request_counts: { total: 3, completed: 0, failed: 3 } })
    const errors = await server.results(token, batch.error_file_id)
    expect(errors.get('line-0').error.code).toBe('batch_expired')
    await until(async () => (await held()) === 0n)
  })

  test('the same Idempotency-Key begins one batch', async () => {
    const goOn = Promise.withResolvers<void>()
    server.answerWith(() => goOn.promise.then(() => completion('late')))
    const { token } = await server.newKey()
    const input_file_id = await server.upload(token, lines(2))
    const create = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
    const once = () => server.client(token).batches.create(create, { headers: { 'Idempotency-Key': 'one' } })
    const first = await once()
    expect((await once()).id).toBe(first.id)
    // Also while it is as many as its key may have open.
    const { options } = server.gateway
    const { batchesOpenMax } = options
    Object.assign(options, { batchesOpenMax: 1 })
    expect(await begin(token, lines(1)).catch((error) => error.code)).toBe('too_many_batches')
    expect((await once()).id).toBe(first.id)
    Object.assign(options, { batchesOpenMax })
    goOn.resolve()
    await server.ended(token, first.id)
    expect((await once()).id).toBe(first.id)
    const other = { ...create, endpoint: '/v1/responses' } as const
    const reused = server.client(token).batches.create(other, { headers: { 'Idempotency-Key': 'one' } })
    expect(await reused.catch((error) => error.code)).toBe('idempotency_key_reused')
    const all = []
    for await (const batch of server.client(token).batches.list({ limit: 1 })) all.push(batch.id)
    expect(all).toEqual([first.id])
  })

  test('a repeat that comes while the lines are read leaves them to the first request', async () => {
    answerEach()
    const { token } = await server.newKey()
    const input_file_id = await server.upload(token, lines(2))
    const create = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
    const once = () => server.client(token).batches.create(create, { headers: { 'Idempotency-Key': 'slow' } })
    const { store, assets, memory } = server.gateway
    const uploads = assets?.uploads
    if (uploads === undefined) throw new Error('there are no files')
    const { part } = uploads
    const { tend } = store.batches
    const goOn = Promise.withResolvers<void>()
    let looks = 0
    Object.assign(uploads, { part: (...of: Parameters<typeof part>) => goOn.promise.then(() => part(...of)) })
    Object.assign(store.batches, {
      tend: (...of: Parameters<typeof tend>) => {
        looks++
        return tend(...of)
      },
    })
    try {
      const first = once().catch((error) => error.message)
      await until(() => memory.jobs.newBatches.size === 1)
      expect(await once().catch((error) => error.code)).toBe('idempotency_in_progress')
      // The process looks after its batches meanwhile.
      const before = looks
      await until(() => looks > before + 1)
      goOn.resolve()
      const batch = await first
      expect(batch).toMatchObject({ status: 'in_progress' })
      await server.ended(token, batch.id)
    } finally {
      goOn.resolve()
      Object.assign(uploads, { part })
      Object.assign(store.batches, { tend })
    }
  })

  test('lines that come with a request are kept once, however often it is repeated or refused', async () => {
    const goOn = Promise.withResolvers<void>()
    server.answerWith(() => goOn.promise.then(() => completion('late')))
    const { token } = await server.newKey()
    const params = { model: 'mock/small', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
    const begun = async (name: string, custom: string) => {
      const body = { requests: [{ custom_id: custom, params }] }
      const answer = await server.post('/v1/messages/batches', body, { 'idempotency-key': name }, token)
      return { status: answer.status, body: await jsonOf(answer) }
    }
    const letGo = async () => (await server.store.assets.endedAssets(1_000)).length
    const first = await begun('inline', 'a')
    expect(first.status).toBe(200)
    const before = await letGo()
    expect((await begun('inline', 'a')).body.id).toBe(first.body.id)
    expect((await begun('inline', 'another')).status).toBe(409)
    const { options } = server.gateway
    const { batchesOpenMax } = options
    Object.assign(options, { batchesOpenMax: 1 })
    expect((await begun('more', 'a')).status).toBe(429)
    Object.assign(options, { batchesOpenMax })
    expect((await letGo()) - before).toBe(3)
    goOn.resolve()
    const ended = async () =>
      (await jsonOf(await server.get(`/v1/messages/batches/${first.body.id}`, token))).processing_status
    await until(async () => (await ended()) === 'ended')
  })

  test('a repeat finds its batch while the secret of the server changes', async () => {
    answerEach()
    const { token } = await server.newKey()
    const input_file_id = await server.upload(token, lines(2))
    const hash = hashOf('another-secret', server.gateway.hash)
    const { port, stop } = listen(
      { gateway: { ...server.gateway, hash } },
      { hostname: '127.0.0.1', port: 0, shared: false },
    )
    const create = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
    const across = { 'Idempotency-Key': 'across' }
    const made = await server.client(token).batches.create(create, { headers: across })
    const again = await fetch(`http://127.0.0.1:${port}/v1/batches`, {
      method: 'POST',
      headers: { ...across, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(create),
    })
    expect(await again.json()).toMatchObject({ id: made.id })
    stop()
    await server.ended(token, made.id)
  })

  test('a signed webhook reports the end', async () => {
    answerEach()
    const { token } = await server.newKey()
    const webhook = { url: 'https://agent.example/told' }
    const { id } = await begin(token, lines(3), { webhook } as object)
    await until(() => told.length > 0)
    const [{ url, headers, body } = { url: '', headers: new Headers(), body: '{}' }] = told
    const { type, data } = JSON.parse(body)
    expect([url, type, data.id]).toEqual(['https://1.1.1.1/told', 'batch.completed', id])
    expect(data).toMatchObject({
      status: 'completed',
      lines: { total: 3, succeeded: 3 },
      cost_usd: '0.00018',
    })
    const secret = webhookSecret(server.gateway, server.wallet).slice('whsec_'.length)
    const signature = new Bun.CryptoHasher('sha256', Buffer.from(secret, 'base64'))
      .update(`${headers.get('webhook-id')}.${headers.get('webhook-timestamp')}.${body}`)
      .digest('base64')
    expect(headers.get('webhook-signature')).toBe(`v1,${signature}`)
    const inward = begin(token, lines(1), { webhook: { url: 'https://10.0.0.7/' } } as object)
    expect(await inward.catch((error) => [error.status, error.param])).toEqual([400, 'webhook.url'])
  })
})
