/** A key under an id that its maker chose: put once or twice, alone or at once, from one process or two. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chat, completion, jsonOf, startTestServer, type TestServer } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { machineOf, type TestMachine } from './machine-rig.ts'

const ROUNDS = 5

for (const engine of serverEngines)
  describe(`putting a key on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    /** On PostgreSQL a second process shares the ledger. */
    let other: TestServer
    let machine: TestMachine
    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
      other = engine.name === 'PostgreSQL' ? await startTestServer({ url: database.url }) : server
      machine = await machineOf(server)
    })
    afterAll(async () => {
      if (other !== server) await other.stop()
      await server.stop()
      await database.stop()
    })

    const put = (id: string, body: object, more: Parameters<TestMachine['ask']>[3] = {}) =>
      machine.ask('PUT', `/keys/${id}`, { label: 'k', wallet: server.wallet, ...body }, more)
    const newId = () => `key_${crypto.randomUUID()}`
    /** What the machine has done to the key, newest first. */
    const events = async (subject: string) =>
      (await server.store.events.list({ most: 500 }))
        .filter((event) => event.subject === subject)
        .map(({ what }) => what)
    const looks = async () => (await events(machine.id)).filter((what) => what === 'key.put').length

    test('twice the same makes one key and changes nothing: the second is a look', async () => {
      const id = newId()
      const body = { monthly_cap_usd: '12.5', aliases: { fast: 'mock/small' }, can_manage: true }
      const before = await looks()
      const first = await jsonOf(await put(id, body))
      const second = await put(id, body)
      expect(first.key).toStartWith('sk-')
      expect(await jsonOf(second)).toEqual({ ...first, key: null })
      expect(second.headers.get('etag')).toBe(`"${first.version}"`)
      expect([await events(id), (await looks()) - before]).toEqual([['key.created'], 1])
    })

    test('each member that differs is changed, and what is left out binds no more', async () => {
      const id = newId()
      await put(id, { monthly_cap_usd: 1, rpm_limit: 5, aliases: { fast: 'mock/small' } })
      const changes = [
        [{ monthly_cap_usd: 2 }, { monthly_cap_usd: '2', rpm_limit: null, aliases: null }],
        [{ aliases: { slow: 'mock/small' } }, { monthly_cap_usd: null, aliases: { slow: 'mock/small' } }],
        [{ aliases: { slow: 'mock/embed' } }, { aliases: { slow: 'mock/embed' } }],
        [{}, { aliases: null }],
        [{ disabled: true }, { disabled: true }],
        [{ disabled: false }, { disabled: false }],
        [{ can_manage: true }, { can_manage: true }],
        [{ label: 'another' }, { label: 'another' }],
      ] as const
      for (const [body, shown] of changes) {
        const answer = await put(id, body)
        expect([answer.status, await jsonOf(answer)]).toEqual([200, expect.objectContaining(shown)])
      }
      expect((await events(id)).length).toBe(1 + changes.length)
    })

    test('a key that is not there is not made disabled, nor for an If-Match; a deleted one stays deleted', async () => {
      const id = newId()
      const refusal = async (answer: Response) => [answer.status, (await jsonOf(answer)).error.param]
      expect(await refusal(await put(id, { disabled: true }))).toEqual([400, 'disabled'])
      expect(await refusal(await put(id, {}, { headers: { 'if-match': '"1"' } }))).toEqual([412, undefined])
      expect(await events(id)).toEqual([])
      await put(id, {})
      expect((await machine.ask('DELETE', `/keys/${id}`)).status).toBe(200)
      expect((await put(id, {})).status).toBe(404)
      expect((await put(id, { rpm_limit: 1 })).status).toBe(404)
    })

    test('twice at once: one key, one value, and that value works', async () => {
      server.answerWith(() => completion('x'))
      for (let round = 0; round < ROUNDS; round++) {
        const id = newId()
        const answers = await Promise.all([server, other].map((at) => put(id, { rpm_limit: 9 }, { at })))
        expect(answers.map(({ status }) => status)).toEqual([200, 200])
        const value_sha256 = new Bun.CryptoHasher('sha256').update(crypto.randomUUID()).digest('hex')
        const valued = newId()
        const known = [server, other, server].map((at) => put(valued, { value_sha256 }, { at }))
        expect((await Promise.all(known)).map(({ status }) => status)).toEqual([200, 200, 200])
        const made = (await Promise.all(answers.map(jsonOf)))
          .map(({ key }) => key)
          .filter((key) => key !== null)
        expect([made.length, await events(id)]).toEqual([1, ['key.created']])
        expect((await server.post('/v1/chat/completions', chat(), {}, made[0])).status).toBe(200)
      }
    })

    test('a value that was made elsewhere goes on working, on every process, and moves to the hash of this server', async () => {
      server.answerWith(() => completion('x'))
      other.answerWith(() => completion('x'))
      const value = `sk-${crypto.randomUUID().replaceAll('-', '').slice(0, 22)}`
      const value_sha256 = new Bun.CryptoHasher('sha256').update(value).digest('hex')
      const body = { value_sha256, value_prefix: 'sk-...wxyz', rpm_limit: 90 }
      const id = newId()
      const calls = () =>
        Promise.all([server, other].map((at) => at.post('/v1/chat/completions', chat(), {}, value)))
      const made = await jsonOf(await put(id, body))
      expect([made.id, made.key, made.prefix]).toEqual([id, null, 'sk-...wxyz'])
      for (let round = 0; round < ROUNDS; round++)
        expect((await calls()).map(({ status }) => status)).toEqual([200, 200])
      const { hash } = server.gateway
      await until(async () => (await server.store.keys.keyByHash(hash(value)))?.id === id)
      expect(await server.store.keys.keyByHash(`sha256:${value_sha256}`)).toBeUndefined()
      expect((await jsonOf(await put(id, body))).version).toBe(made.version)
      // What is known of a value that did not call yet, and what is no hash.
      const another = { value_sha256: 'ab'.repeat(32) }
      expect((await put(newId(), another)).status).toBe(200)
      for (const wrong of [another, { value_sha256: value }]) {
        const answer = await put(newId(), wrong)
        expect([answer.status, (await jsonOf(answer)).error.param]).toEqual([400, 'value_sha256'])
      }
    })

    test('what was spent elsewhere counts against each cap, goes on in a rotated key, and the audit knows it', async () => {
      server.answerWith(() => completion('x'))
      const [above, id, full] = [newId(), newId(), newId()]
      const spent_before = { spent_usd: '7.5', spent_this_month_usd: 2.25 }
      const left = { spend_cap_usd: 8.5, monthly_cap_usd: 3, weekly_cap_usd: 1 }
      await put(above, { spend_cap_usd: 10, spent_before: { spent_usd: 9 } })
      const made = await jsonOf(await put(id, { ...left, parent: above, spent_before }))
      const shown = { spent_usd: '7.5', spent_this_month_usd: '2.25', spent_this_week_usd: '0' }
      expect(made).toMatchObject({ ...shown, spent_today_usd: '0' })
      const used = async () =>
        (await jsonOf(await put(id, { ...left, parent: above, spent_before }))).spent_usd
      expect([(await server.post('/v1/chat/completions', chat(), {}, made.key)).status]).toEqual([200])
      await until(async () => (await used()) === '7.50006')
      // More than its cap, and exactly it.
      for (const spent_today_usd of ['1.5', 1]) {
        const { key } = await jsonOf(
          await put(newId(), { daily_cap_usd: 1, spent_before: { spent_today_usd } }),
        )
        expect((await server.post('/v1/chat/completions', chat(), {}, key)).status).toBe(402)
      }
      const rotated = await jsonOf(await machine.ask('POST', `/keys/${id}/rotate`))
      expect(rotated).toMatchObject({ spent_usd: '7.50006', spent_this_month_usd: '2.25006' })
      const [event] = (await server.store.events.list({ most: 500 })).filter(({ subject }) => subject === id)
      expect(event?.after).toMatchObject({ spent: '7.5', spentThisMonth: '2.25' })
      const wrong = await put(full, { spent_before: { spent_usd: -1 } })
      expect([wrong.status, (await jsonOf(wrong)).error.param]).toEqual([400, 'spent_before.spent_usd'])
      expect((await server.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
    })

    test('two changes of one version: one is made, the other is refused and leaves no event', async () => {
      const id = newId()
      for (let round = 0; round < ROUNDS; round++) {
        const { version } = await jsonOf(await put(id, {}))
        const headers = { 'if-match': `"${version}"` }
        const answers = await Promise.all([
          put(id, { rpm_limit: 10 + round }, { headers }),
          machine.ask('PATCH', `/keys/${id}`, { rpm_limit: 50 + round }, { headers, at: other }),
        ])
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
        await put(id, {})
      }
      // Made once; each round one change, and the one that takes the limit away again.
      expect((await events(id)).length).toBe(1 + 2 * ROUNDS)
    })

    test('the same Idempotency-Key twice at once makes one key, in both answers', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const before = (await events(machine.id)).length
        const headers = { 'idempotency-key': `round-${round}` }
        const body = { label: 'once', wallet: server.wallet }
        const answers = await Promise.all(
          [server, other].map((at) => machine.ask('POST', '/keys', body, { headers, at })),
        )
        expect(answers.map(({ status }) => status)).toEqual([201, 201])
        const [one, two] = await Promise.all(answers.map(jsonOf))
        expect(one).toEqual(two)
        expect([await events(one.id), (await events(machine.id)).length - before]).toEqual([
          ['key.created'],
          1,
        ])
      }
    })
  })
