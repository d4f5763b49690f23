/**
 * Jobs beyond one process: taken up when theirs is silent, never submitted twice, repeated under a key, reported by
 * webhook.
 */

import { afterEach, describe, expect, test } from 'bun:test'
import { webhookSecret } from '../../src/gateway/jobs/signed-webhook.ts'
import { stepJob } from '../../src/gateway/jobs/step-job.ts'
import type { PublicParts } from '../../src/transport/public-address.ts'
import { byTest } from '../by-test.ts'
import { engines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import { jsonOf } from './harness.ts'
import { CENT, type JobServer, jobRecord, newVendor, startJobServer } from './job-rig.ts'

for (const engine of engines.filter(({ lasting }) => lasting))
  describe(engine.name, () => {
    let stops: (() => Promise<void>)[] = []
    afterEach(async () => {
      for (const stop of stops.reverse()) await stop()
      stops = []
    })

    const pair = async () => {
      const database = await engine.fresh()
      const vendor = newVendor()
      const [one, other] = [
        await startJobServer({ url: database.url, vendor }),
        await startJobServer({ url: database.url, vendor }),
      ]
      stops.push(() => stopSound(one, database), other.stop)
      return { one, other, vendor }
    }
    const begin = (
      server: JobServer,
      headers: Record<string, string> = {},
      model = 'mock/film',
      key?: string,
    ) =>
      server.post(
        '/v1/run',
        { model, inputs: { prompt: 'a fox', n: 2 } },
        { prefer: 'wait=0', ...headers },
        key,
      )
    const held = async (server: JobServer) => (await server.store.wallets.wallet(server.wallet))?.held

    test('another process takes a silent one’s job up and charges it once', async () => {
      const { one, other, vendor } = await pair()
      vendor.says('pending')
      const key = await one.newKey()
      const before = await one.balance()
      const { id } = await jsonOf(await begin(one, {}, 'mock/film', key.token))
      await one.crash()
      await until(() => other.gateway.memory.jobs.open.has(id))
      vendor.says(2)
      await until(async () => (await other.store.runs.run(id))?.state === 'done')
      expect(one.count('POST')).toBe(1)
      expect([before - (await one.balance()), await held(one)]).toEqual([2n * CENT, 0n])
      expect(await jsonOf(await other.get(`/v1/run/${id}`, key.token))).toMatchObject({
        status: 'succeeded',
        usage: { cost: 0.02 },
      })
    })

    test('a process that does not sell a job’s model leaves it to one that does', async () => {
      const database = await engine.fresh()
      const vendor = newVendor()
      const one = await startJobServer({ url: database.url, vendor })
      const bare = await startJobServer({ url: database.url, vendor, sells: [jobRecord({}, 'other')] })
      stops.push(() => stopSound(one, database), bare.stop)
      vendor.says('pending')
      const { id } = await jsonOf(await begin(one))
      await one.crash()
      await until(async () => (await bare.store.runs.run(id))?.owner === bare.gateway.instance)
      vendor.says(2)
      const other = await startJobServer({ url: database.url, vendor })
      stops.push(other.stop)
      await until(async () => (await other.store.runs.run(id))?.state === 'done')
    })

    test('two that go on with one job charge it once', async () => {
      const { one, other, vendor } = await pair()
      vendor.says('pending')
      const before = await one.balance()
      const { id } = await jsonOf(await begin(one))
      const job = one.gateway.memory.jobs.open.get(id)
      await one.crash()
      await until(() => other.gateway.memory.jobs.open.has(id))
      vendor.says(2)
      // It was only silent, and goes on.
      if (job !== undefined) await stepJob(one.gateway, job)
      await until(() => other.gateway.memory.jobs.open.size === 0)
      expect([before - (await one.balance()), await held(one)]).toEqual([2n * CENT, 0n])
    })

    test('what was being submitted by a silent process is never submitted again; a late answer is cancelled', async () => {
      const { one, other, vendor } = await pair()
      const { promise, resolve } = Promise.withResolvers<void>()
      one.answerWith(async (asked) => {
        if (asked.method === 'POST') await promise
        return vendor.answer(asked)
      })
      const key = await one.newKey()
      const waiting = begin(one, { 'idempotency-key': 'lost-1' }, 'mock/film', key.token)
      await until(() => one.gateway.memory.jobs.submitting.size === 1)
      const [id = ''] = one.gateway.memory.jobs.submitting.keys()
      await one.crash()
      await until(async () => (await other.store.runs.run(id))?.state === 'failed')
      expect(await held(one)).toBe(0n)
      resolve()
      expect((await waiting).status).toBe(503)
      expect([one.count('POST'), one.count('DELETE')]).toEqual([1, 1])
      expect((await jsonOf(await other.get(`/v1/run/${id}`, key.token))).error.message).toContain('lost')
    })

    test('a key names the run: as it stands while it runs, to the byte once it has delivered', async () => {
      const { one, other, vendor } = await pair()
      vendor.says('pending')
      const key = await one.newKey()
      const headers = { 'idempotency-key': 'fox' }
      const first = await jsonOf(await begin(one, headers, 'mock/film', key.token))
      const again = await begin(other, headers, 'mock/film', key.token)
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
      expect((await jsonOf(again)).id).toBe(first.id)
      const changed = await other.post(
        '/v1/run',
        { model: 'mock/film', inputs: { prompt: 'a hen' } },
        headers,
        key.token,
      )
      expect(changed.status).toBe(409)
      // It waits on another process than the one that goes on with it.
      const waiting = begin(other, { ...headers, prefer: 'wait=60' }, 'mock/film', key.token)
      vendor.says(2)
      const ended = await waiting
      expect([ended.status, ended.headers.get('x-cost-usd')]).toEqual([200, '0.02'])
      const bytes = await ended.text()
      const later = await begin(one, headers, 'mock/film', key.token)
      expect([later.status, await later.text()]).toEqual([200, bytes])
      expect(one.count('POST')).toBe(1)
    })

    test('a run that failed stays failed under its key', async () => {
      const { one, other, vendor } = await pair()
      vendor.says('failed')
      const key = await one.newKey()
      const headers = { 'idempotency-key': 'hen', prefer: 'wait=60' }
      for (const server of [one, other]) {
        const failed = await begin(server, headers, 'mock/film', key.token)
        expect(failed.status).toBe(503)
        expect((await jsonOf(failed)).error.message).toEndWith('Another Idempotency-Key begins another run.')
        vendor.says(2)
      }
      expect(one.count('POST')).toBe(1)
    })

    test('cancelled on another process than its own', async () => {
      const { one, other, vendor } = await pair()
      vendor.says('pending')
      const key = await one.newKey()
      const { id } = await jsonOf(await begin(one, {}, 'mock/film', key.token))
      await other.send('DELETE', `/v1/run/${id}`, undefined, key.token)
      await until(async () => (await other.store.runs.run(id))?.state === 'cancelled')
      expect(await held(one)).toBe(0n)
    })

    test('a disabled key’s job runs to its end and is charged', async () => {
      const { one, vendor } = await pair()
      vendor.says('pending')
      const key = await one.newKey()
      const before = await one.balance()
      const { id } = await jsonOf(await begin(one, {}, 'mock/film', key.token))
      await one.gateway.book.changeKey(key.id, { disabledReason: 'operator', byCreator: true }, byTest)
      expect((await begin(one, {}, 'mock/film', key.token)).status).toBe(403)
      vendor.says(1)
      await until(async () => (await one.store.runs.run(id))?.state === 'done')
      expect([before - (await one.balance()), await held(one)]).toEqual([CENT, 0n])
    })

    test('a signed webhook reports the end, until the receiver takes it', async () => {
      const database = await engine.fresh()
      const heard: { headers: Headers; body: string; url: string }[] = []
      const webhooks: PublicParts = {
        resolve: async () => ['1.1.1.1'],
        fetch: async (url, init) => {
          heard.push({ url, headers: new Headers(init.headers), body: String(init.body) })
          return new Response('', { status: heard.length === 1 ? 500 : 204 })
        },
      }
      const server = await startJobServer({ url: database.url, server: { webhooks } })
      stops.push(() => stopSound(server, database))
      server.says(1)
      const body = {
        model: 'mock/film',
        inputs: { prompt: 'a fox' },
        webhook: { url: 'https://agent.example/told' },
      }
      expect((await server.post('/v1/run', body)).status).toBe(200)
      await until(() => heard.length === 1)
      const [webhook] = heard
      const { type, data } = JSON.parse(webhook?.body ?? '')
      expect([type, data.status, data.outputs.length]).toEqual(['run.succeeded', 'succeeded', 1])
      const [id, at] = [webhook?.headers.get('webhook-id'), webhook?.headers.get('webhook-timestamp')]
      const key = Buffer.from(webhookSecret(server.gateway, server.wallet).slice('whsec_'.length), 'base64')
      const signature = new Bun.CryptoHasher('sha256', key)
        .update(`${id}.${at}.${webhook?.body}`)
        .digest('base64')
      expect(webhook?.headers.get('webhook-signature')).toBe(`v1,${signature}`)
      const inward = [
        'https://127.0.0.1/told',
        'https://localhost/told',
        'https://10.0.0.7/',
        'https://agent.example:81/',
      ]
      for (const url of ['http://agent.example/', 'https://a:b@agent.example/', 'nowhere', ...inward])
        expect((await server.post('/v1/run', { ...body, webhook: { url } })).status).toBe(400)
    })

    test('a receiver that never answers keeps nobody else waiting, however many webhooks are for it', async () => {
      const database = await engine.fresh()
      let told = 0
      const webhooks: PublicParts = {
        resolve: async () => ['1.1.1.1'],
        fetch: async (url) => {
          if (url.endsWith('/dead')) await new Promise(() => undefined)
          told++
          return new Response('', { status: 204 })
        },
      }
      const options = { runsOpenMax: 200 }
      const server = await startJobServer({ url: database.url, server: { webhooks, options } })
      stops.push(() => stopSound(server, database))
      const other = `${server.wallet}_other`
      await server.store.wallets.createWallet({ id: other, orgId: 'org_other', name: 'other' }, byTest)
      await server.store.ledger.post({
        kind: 'topup',
        ref: other,
        debit: 'cash',
        credit: other,
        amount: 100n * CENT,
      })
      const key = await server.newKey({}, { walletId: other, orgId: 'org_other' })
      const ask = (path: string, token?: string) =>
        server.post(
          '/v1/run',
          {
            model: 'mock/film',
            inputs: { prompt: 'a fox' },
            webhook: { url: `https://agent.example/${path}` },
          },
          { prefer: 'wait=0' },
          token,
        )
      const begun = await Promise.all(Array.from({ length: 150 }, () => ask('dead')))
      const refused = begun.filter(({ status }) => status !== 202)
      expect(await Promise.all(refused.map((answer) => answer.text()))).toEqual([])
      server.says(1)
      await until(() => server.gateway.memory.jobs.open.size === 0)
      const last = await ask('told', key.token)
      expect(`${last.status} ${await last.text()}`).toStartWith('202')
      await until(() => told === 1)
    })

    test('a vendor’s hook wakes the poll of its job and nothing else; a forged one does nothing', async () => {
      const { one, vendor } = await pair()
      vendor.says('pending')
      const { id } = await jsonOf(await begin(one))
      const hook = (token: string) => one.send('POST', `/hooks/mock/${token}`, { is: 'done' }, '')
      const polled = one.count('GET')
      expect((await hook(`${id}.${'0'.repeat(64)}`)).status).toBe(204)
      const job = one.gateway.memory.jobs.open.get(id)
      await until(() => one.count('GET') > polled)
      const due = job?.dueMs ?? 0
      expect((await hook('x')).status).toBe(204)
      expect(job?.dueMs).toBe(due)
      vendor.says(1)
      expect((await hook(`${id}.${one.hash(`hook mock ${id}`)}`)).status).toBe(204)
      await until(async () => (await one.store.runs.run(id))?.state === 'done')
    })

    test('no key has more open than it may', async () => {
      const database = await engine.fresh()
      const server = await startJobServer({ url: database.url, server: { options: { runsOpenMax: 2 } } })
      stops.push(() => stopSound(server, database))
      expect([(await begin(server)).status, (await begin(server)).status]).toEqual([202, 202])
      const third = await begin(server)
      expect([third.status, (await jsonOf(third)).error.code]).toEqual([429, 'too_many_runs'])
      expect(await held(server)).toBe(4n * CENT)
      server.says('failed')
      await until(async () => (await held(server)) === 0n)
    })
  })
