/** GET /api/status: always 200, degraded by what does not work, and silent about where things are. */
import { expect, test } from 'bun:test'
import { postgresForTests } from '../postgres.ts'
import { until } from '../until.ts'
import { chat, completion, jsonOf, METRICS_TOKEN, startTestServer } from './harness.ts'

const statusOf = async (server: Awaited<ReturnType<typeof startTestServer>>) => {
  const response = await server.get('/api/status', '')
  expect(response.status).toBe(200)
  return jsonOf(response)
}

test('the API itself is degraded when it takes no more calls', async () => {
  const server = await startTestServer({ options: { openCallsMax: 0 } })
  const { status, services } = await statusOf(server)
  expect([status, services.api.status]).toEqual(['degraded', 'degraded'])
  expect(services.api.error).toContain('reached its limit of open calls')
  await server.stop()
})

test('the API itself is degraded for a minute after a fault of its own', async () => {
  const server = await startTestServer()
  expect((await statusOf(server)).services.api).toEqual({ status: 'ok' })
  server.answerWith(() => completion('x'))
  const { find } = server.gateway.offering.catalogue
  Object.assign(server.gateway.offering.catalogue, {
    find: () => {
      throw new Error('secret-host.internal:5432 is wrong')
    },
  })
  const broken = await server.post('/v1/chat/completions', chat())
  expect([broken.status, (await jsonOf(broken)).error.code]).toEqual([500, 'internal_error'])
  Object.assign(server.gateway.offering.catalogue, { find })
  const status = await statusOf(server)
  expect([status.status, status.services.api.status]).toEqual(['degraded', 'degraded'])
  expect(JSON.stringify(status)).not.toContain('secret-host')
  await server.stop()
})

test('a database that is gone is degraded, without its name, its address or its words', async () => {
  const database = await postgresForTests()
  const url = new URL(database.url)
  const server = await startTestServer({ url: database.url, ledgerFails: true })
  expect((await statusOf(server)).status).toBe('ok')
  await database.stop()
  let status = await statusOf(server)
  await until(async () => {
    status = await statusOf(server)
    return status.services.database.status !== 'ok'
  })
  // A balancer sends calls elsewhere; nobody restarts a process for it, and the metrics say so.
  await until(async () => (await server.get('/readyz', '')).status === 503)
  expect((await jsonOf(await server.get('/readyz', ''))).status).toBe('out_of_touch')
  expect((await server.get('/livez', '')).status).toBe(200)
  expect(await (await server.get('/metrics', METRICS_TOKEN)).text()).toContain('turnpike_in_touch 0\n')
  await until(async () =>
    (await (await server.get('/metrics', METRICS_TOKEN)).text()).includes(
      'turnpike_ledger_outages_total 1\n',
    ),
  )
  expect(status.status).toBe('degraded')
  expect(Object.keys(status.services.database).sort()).toEqual(['error', 'latency_ms', 'status'])
  const text = JSON.stringify(status)
  for (const secret of [url.hostname, url.port, url.username, url.pathname.slice(1), 'ECONN', 'terminat'])
    expect([secret, secret !== '' && text.includes(secret)]).toEqual([secret, false])
  await server.stop().catch(() => undefined)
})

test('a vendor that cannot be reached is degraded, without its address', async () => {
  const server = await startTestServer({ secrets: ['one', 'two'] })
  server.answerWith(() => {
    throw new Error('connect ECONNREFUSED vendor-host.internal:443')
  })
  expect((await server.post('/v1/chat/completions', chat())).status).toBe(503)
  const told = await statusOf(server)
  expect(told.services['vendors.mock'].status).toBe('degraded')
  expect(JSON.stringify(told)).not.toMatch(/vendor-host|mock\.invalid|ECONN|http/)
  await server.stop()
})
