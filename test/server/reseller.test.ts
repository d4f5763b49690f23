/** A reseller and its tenants over HTTP: keys made, limited, disabled and deleted on three levels, and their sums. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { serverEngines, stopSound } from '../store/engines.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

const KEYS = '/v1/key/wholesale'

for (const engine of serverEngines)
  describe(`resellers on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    /** Another process on the same ledger, where there can be one. */
    let other: TestServer

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url, options: { planRpm: 60 } })
      other =
        engine.name === 'PostgreSQL'
          ? await startTestServer({ url: database.url, options: { planRpm: 60 } })
          : server
    })
    afterAll(async () => {
      if (other !== server) await other.stop()
      await stopSound(server, database)
    })

    type Made = { readonly id: string; readonly token: string }
    const make = async (maker: Made, body: object = {}): Promise<Made> => {
      const made = await server.post(KEYS, { label: 'tenant', ...body }, {}, maker.token)
      const { data } = await jsonOf(made)
      expect([made.status, data.parent]).toEqual([201, maker.id])
      return { id: data.id, token: data.key }
    }
    const reseller = (limits = {}): Promise<Made> => server.newKey(limits, { canManage: true })
    const call = (key: Made, where = server) =>
      where.post('/v1/chat/completions', chat({ max_tokens: 90 }), {}, key.token)
    const put = (by: Made, whose: Made | 'me', body: object) =>
      server.send('PUT', `${KEYS}/${whose === 'me' ? 'me' : whose.id}/limits`, body, by.token)
    const show = async (by: Made, whose: Made) =>
      (await jsonOf(await server.get(`${KEYS}/${whose.id}`, by.token))).data
    const total = async (by: Made, query = '') =>
      (await jsonOf(await server.get(`/v1/usage?${query}`, by.token))).data.total.cost_usd
    const errorOf = async (answer: Response) => [answer.status, (await jsonOf(answer)).error.code]
    /** 10 tokens in and 90 out. */
    const COST = 0.00091
    const big = () => completion('x', { prompt_tokens: 10, completion_tokens: 90, total_tokens: 100 })

    test('a reseller of three levels needs no shell: keys, caps, roll-up, one level off, deletion, sums', async () => {
      server.answerWith(big)
      other.answerWith(big)
      const before = await server.balance()
      const top = await reseller()
      const middle = await make(top, { label: 'region', can_manage: true, spend_cap_usd: 0.005 })
      const [left, right] = [await make(middle, { label: 'left', spend_cap_usd: 0.002 }), await make(middle)]
      for (const key of [top, middle, left, left, right]) expect((await call(key)).status).toBe(200)
      // Its own cap of two calls, and its maker's of five.
      const capped = await jsonOf(await call(left))
      expect([capped.error.code, capped.error.limit]).toEqual(['insufficient_balance', 'spend_cap_usd'])
      expect((await call(right)).status).toBe(200)
      expect((await call(right)).status).toBe(402)
      expect([await total(top), await total(middle), await total(left), await total(right)]).toEqual(
        [6, 5, 2, 2].map((calls) => Number((calls * COST).toFixed(9))),
      )
      expect([await total(top, 'own=true'), await total(middle, 'own=true')]).toEqual([COST, COST])

      // The level below is off at once, on every process, and comes back as it was.
      expect(
        (await put(top, middle, { spend_cap_usd: 0.01, disabled: true, with_children: true })).status,
      ).toBe(200)
      for (const key of [middle, left, right])
        for (const where of [server, other])
          expect(await errorOf(await call(key, where))).toEqual([403, 'key_disabled'])
      expect(await errorOf(await put(right, 'me', { disabled: false }))).toEqual([403, 'forbidden'])
      expect((await put(top, middle, { disabled: false, with_children: true })).status).toBe(200)
      expect((await call(right, other)).status).toBe(200)

      // Deleted with all below it: unknown everywhere, and still in the sums.
      const gone = await server.send(
        'DELETE',
        `${KEYS}/${middle.token}?with_children=true`,
        undefined,
        top.token,
      )
      expect(await jsonOf(gone)).toMatchObject({ id: middle.id, deleted: true, with_children: true })
      for (const key of [middle, left, right])
        for (const where of [server, other])
          expect(await errorOf(await call(key, where))).toEqual([401, 'invalid_api_key'])
      const report = (await jsonOf(await server.get('/v1/usage?group_by=key', top.token))).data
      const rows = report.rows.map((row: any) => [row.key, row.parent, row.requests, row.deleted]).sort()
      expect(rows).toEqual(
        [
          [top.id, null, 1, false],
          [middle.id, top.id, 1, true],
          [left.id, middle.id, 2, true],
          [right.id, middle.id, 3, true],
        ].sort(),
      )
      expect(report.total.cost_usd).toBe(Number((7 * COST).toFixed(9)))
      expect(before - (await server.balance())).toBe(7n * 910_000n)
      const history = (await jsonOf(await server.get(`${KEYS}/${middle.id}/usage`, top.token))).data
      expect(history).toMatchObject({ deleted: true, requests: 6, spent_usd: Number((6 * COST).toFixed(9)) })
      expect((await put(top, middle, { disabled: false })).status).toBe(404)
    })

    test('keys are listed in pages, and deleted ones on request', async () => {
      const top = await reseller()
      const made: string[] = []
      for (let count = 0; count < 5; count++) made.unshift((await make(top)).id)
      const region = await make(top, { can_manage: true })
      made.unshift((await make(region)).id, region.id)
      const list = async (query: string) => jsonOf(await server.get(`${KEYS}?${query}`, top.token))
      const ids = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id)
      expect(ids(await list(''))).toEqual(made)
      const first = await list('limit=3')
      expect([ids(first), first.has_more]).toEqual([made.slice(0, 3), true])
      const second = await list(`limit=4&after=${made[2]}`)
      expect([ids(second), second.has_more]).toEqual([made.slice(3), false])
      await server.send('DELETE', `${KEYS}/${made[6]}`, undefined, top.token)
      expect(ids(await list(''))).toEqual(made.slice(0, 6))
      const all = await list('deleted=true')
      expect(all.data.map(({ deleted }: { deleted: boolean }) => deleted)).toEqual([
        ...Array(6).fill(false),
        true,
      ])
      expect(JSON.stringify(all)).not.toContain('sk-test')
      for (const query of [
        'limit=0',
        'limit=1001',
        'after=key_nobody',
        `after=${top.id}`,
        'deleted=yes',
        'page=2',
      ])
        expect([query, (await server.get(`${KEYS}?${query}`, top.token)).status]).toEqual([query, 400])
    })

    test('a report is of days that there are: a bill of February takes none of March', async () => {
      const days = ['2026-02-29', '2026-02-30', '2026-04-31', '2026-13-01', '2026-11-01 10:00']
      for (const day of [...days, '2026-02-30T10:00Z', '2026-11-01T24:30Z', '2026-11-01T10:00:00+02:00']) {
        expect([day, (await server.get(`/v1/usage?to=${day}`)).status]).toEqual([day, 400])
      }
      const { error } = await jsonOf(await server.get('/v1/usage?to=2026-02-30'))
      expect([error.param, error.message]).toEqual(['to', expect.stringContaining('that there is')])
      const spans = {
        'from=2024-02-29&to=2024-03-01': ['2024-02-29T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
        'from=2026-11-01T10:00&to=2026-11-01T13:00:00%2B02:00': [
          '2026-11-01T10:00:00.000Z',
          '2026-11-01T11:00:00.000Z',
        ],
        // What lies before an old day is not empty.
        'to=2024-03-31': ['2024-03-01T00:00:00.000Z', '2024-03-31T00:00:00.000Z'],
      }
      for (const [query, span] of Object.entries(spans)) {
        const { data } = await jsonOf(await server.get(`/v1/usage?${query}`))
        expect([data.from, data.to]).toEqual(span)
      }
    })

    test('an unknown parameter of /v1/usage is a 400 that names the known ones', async () => {
      const refused = await jsonOf(await server.get('/v1/usage?form=2026-01-01'))
      expect(refused.error).toMatchObject({ code: 'invalid_parameter', param: 'form' })
      const turned = await server.get('/v1/usage?from=2026-11-02&to=2026-11-01')
      expect([turned.status, (await jsonOf(turned)).error.param]).toEqual([400, 'from'])
      expect(refused.error.message).toContain('from, to, group_by, own')
      for (const query of ['own=1', 'own=true&own=false', 'group_by=day&limit=5'])
        expect([query, (await server.get(`/v1/usage?${query}`)).status]).toEqual([query, 400])
    })

    test('a key is made within the limits of its maker, and a repeat gets the same key', async () => {
      const top = await reseller({ spendCap: 5_000_000_000n, rpm: 30, stopAt: 1_000_000_000n })
      const tries = [
        [{ label: 'a', spend_cap_usd: 6 }, 'spend_cap_usd'],
        [{ label: 'a', rpm_limit: 31 }, 'rpm_limit'],
        [{ label: 'a', stop_at_remaining_usd: 0.5 }, 'stop_at_remaining_usd'],
      ] as const
      for (const [body, param] of tries) {
        const { error } = await jsonOf(await server.post(KEYS, body, {}, top.token))
        expect([error.code, error.param]).toEqual(['forbidden', param])
      }
      for (const body of [
        {},
        { label: ' ' },
        { label: 5 },
        { label: 'a', spend_cap: 5 },
        { label: 'a', disabled: true },
      ])
        expect([body, (await server.post(KEYS, body, {}, top.token)).status]).toEqual([body, 400])
      const child = await make(top, { spend_cap_usd: 5, rpm_limit: 30, monthly_cap_usd: 7 })
      expect(await show(child, child)).toMatchObject({ spend_cap_usd: 5, rpm_limit: 30, can_manage: false })
      expect(await errorOf(await put(top, child, { rpm_limit: 40 }))).toEqual([403, 'forbidden'])
      // Without a rate of its own a maker has the plan's.
      const free = await reseller()
      expect(await errorOf(await server.post(KEYS, { label: 'a', rpm_limit: 61 }, {}, free.token))).toEqual([
        403,
        'forbidden',
      ])

      const once = { 'idempotency-key': 'make-1' }
      const [one, two] = await Promise.all(
        [1, 2].map(async () => (await jsonOf(await server.post(KEYS, { label: 'b' }, once, top.token))).data),
      )
      expect([two.id, two.key]).toEqual([one.id, one.key])
      expect((await call({ id: one.id, token: one.key })).status).toBe(200)
      expect(await errorOf(await server.post(KEYS, { label: 'c' }, once, top.token))).toEqual([
        409,
        'idempotency_key_reused',
      ])
      expect((await jsonOf(await server.post(KEYS, { label: 'c' }, once, free.token))).data.id).not.toBe(
        one.id,
      )
      // Not the value of a key that is there no more.
      expect((await server.send('DELETE', `${KEYS}/${one.id}`, undefined, top.token)).status).toBe(200)
      expect(await errorOf(await server.post(KEYS, { label: 'b' }, once, top.token))).toEqual([
        409,
        'idempotency_key_reused',
      ])
    })

    test('each key sees the rate that binds it', async () => {
      const top = await reseller({ rpm: 5 })
      const [one, two] = [await make(top, { rpm_limit: 4 }), await make(top)]
      expect(await show(one, one)).toMatchObject({ rpm_limit: 4, effective_rpm_limit: 4 })
      expect(await show(two, two)).toMatchObject({ rpm_limit: null, effective_rpm_limit: 5 })
      const free = await reseller()
      expect(await show(free, free)).toMatchObject({ rpm_limit: null, effective_rpm_limit: 60 })
      expect((await show(top, one)).effective_rpm_limit).toBe(4)
    })
  })

test('the rate of a key is shared by all below it, and a request over its own takes nothing from the others', async () => {
  // The ledger's minute does not end.
  const now = Date.now()
  const server = await startTestServer({ now: () => now, options: { planRpm: 60 } })
  const top = await server.newKey({ rpm: 5 }, { canManage: true })
  const below = (rpm?: number) => server.newKey(rpm === undefined ? {} : { rpm }, { parentId: top.id })
  const [one, two] = [await below(2), await below()]
  const call = async ({ token }: { token: string }) => {
    const answer = await server.post('/v1/chat/completions', chat(), {}, token)
    const { error } = await jsonOf(answer)
    return [answer.status, answer.headers.get('x-ratelimit-limit'), error?.message.split(';')[0] ?? '']
  }
  expect([await call(one), await call(one)]).toEqual([
    [200, '2', ''],
    [200, '2', ''],
  ])
  const spent = 'The key has used its 2 requests of this minute'
  for (let tries = 0; tries < 5; tries++) expect(await call(one)).toEqual([429, '2', spent])
  expect([await call(two), await call(top), await call(two)]).toEqual(Array(3).fill([200, '5', '']))
  const all = 'The key above this one and all below it have used their 5 requests of this minute'
  expect(await call(two)).toEqual([429, '5', all])
  expect((await call(top))[0]).toBe(429)
  await server.stop()
})

describe('the tokens of a minute of a key', () => {
  // The ledger's minute does not end.
  const now = Date.now()
  const turned = { now: () => now, models: [testModel('small')] }
  const using = async (server: TestServer, { token }: { token: string }, maxTokens?: number) => {
    const answer = await server.post('/v1/chat/completions', chat({ max_tokens: maxTokens }), {}, token)
    return { answer, said: await jsonOf(answer) }
  }

  test('are shared by all below it, whatever they have themselves', async () => {
    const server = await startTestServer(turned)
    server.answerWith(() => completion('x', { prompt_tokens: 10, completion_tokens: 590, total_tokens: 600 }))
    const top = await server.newKey({ tpm: 1_500 }, { canManage: true })
    const below = (limits = {}, parentId = top.id) => server.newKey(limits, { parentId, canManage: true })
    const [one, two] = [await below(), await below({ tpm: 1_000 })]
    const deep = await below({}, two.id)
    const first = await using(server, one, 700)
    expect([first.answer.status, first.answer.headers.get('x-ratelimit-limit-tokens')]).toEqual([200, '1500'])
    expect((await using(server, deep, 700)).answer.status).toBe(200)
    for (const key of [one, two, deep, top])
      expect((await using(server, key, 700)).said.error?.limit).toBe('tpm_limit')
    const { answer, said } = await using(server, one, 700)
    expect(said.error.message).toContain('The key above this one and all below it')
    expect(answer.headers.get('x-ratelimit-window')).toBe('tpm_limit')
    expect(server.asked).toHaveLength(2)
    await server.stop()
  })

  test('bound what is sent for a key below without max_tokens, and come back when a call fails', async () => {
    const server = await startTestServer(turned)
    const top = await server.newKey({ tpm: 1_500 }, { canManage: true })
    const one = await server.newKey({}, { parentId: top.id })
    server.answerWith(() => new Response('{"error":{"message":"no"}}', { status: 400 }))
    for (let tries = 0; tries < 4; tries++) expect((await using(server, one, 700)).answer.status).toBe(400)
    server.answerWith(() => completion('x'))
    const { answer } = await using(server, one)
    expect(answer.status).toBe(200)
    expect(Number(server.asked.at(-1)?.body.max_tokens)).toBeLessThan(1_500)
    expect((await using(server, one, 1_500)).said.error?.message).toContain('tpm_limit')
    await server.stop()
  })

  test('bind all values of a rotated key, whose present value has the limit', async () => {
    const server = await startTestServer(turned)
    const old = await server.newKey()
    const now = await server.newKey({ tpm: 1_000 }, { replaces: old.id })
    const spent = { prompt_tokens: 10, completion_tokens: 590, total_tokens: 600 }
    server.answerWith(() => completion('x', spent))
    expect((await using(server, old, 700)).answer.status).toBe(200)
    for (const key of [old, now]) expect((await using(server, key, 700)).said.error?.limit).toBe('tpm_limit')
    await server.stop()
  })
})
