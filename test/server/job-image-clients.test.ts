/**
 * Clients of the image styles whose job takes longer than their address waits: it is cancelled where that is free, else
 * named.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { until } from '../until.ts'
import { jsonOf } from './harness.ts'
import { CENT, type JobServer, startJobServer } from './job-rig.ts'

let server: JobServer
beforeAll(async () => {
  server = await startJobServer({
    server: { options: { timeouts: { firstByteMs: 60_000, idleMs: 60_000, totalMs: 300 } } },
  })
})
afterAll(() => server.stop())

const generate = (model: string) => server.post('/v1/image/generate', { model, prompt: 'a fox' })

test('what can be cancelled free is cancelled, and nothing is held or charged', async () => {
  server.says('pending')
  const before = await server.balance()
  const response = await generate('mock/film')
  const { error } = await jsonOf(response)
  expect([response.status, error.code]).toEqual([503, 'upstream_error'])
  expect(error.message).toContain('the job is cancelled')
  await until(async () => (await jsonOf(await server.get(`/v1/run/${error.run_id}`))).status === 'cancelled')
  expect(server.count('DELETE')).toBe(1)
  expect((await server.store.wallets.wallet(server.wallet))?.held).toBe(0n)
  expect(await server.balance()).toBe(before)
})

test('what its vendor bills all the same goes on: the answer names the run, which is charged when it delivers', async () => {
  server.says('pending')
  const before = await server.balance()
  const response = await generate('mock/billed')
  const { error } = await jsonOf(response)
  expect(response.status).toBe(503)
  expect(error.message).toContain(`GET /v1/run/${error.run_id} gives its result`)
  server.says(1)
  await until(async () => (await jsonOf(await server.get(`/v1/run/${error.run_id}`))).status === 'succeeded')
  expect(before - (await server.balance())).toBe(CENT)
})
