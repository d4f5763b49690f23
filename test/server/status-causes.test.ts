/** The law that every cause that turns calls into 5xx stands in /api/status: by each code there is, and by real causes. */
import { expect, test } from 'bun:test'
import { rename, rm, writeFile } from 'node:fs/promises'
import { type RefusalCode, refuse } from '../../src/core/refusal.ts'
import { refusalTable } from '../../src/core/refusal-table.ts'
import { until } from '../until.ts'
import { ASSET_SETTINGS, IN_FILES } from './asset-rig.ts'
import { chat, jsonOf, startTestServer, USD } from './harness.ts'
import { startJobServer } from './job-rig.ts'
import { startFakeStripe } from './stripe-fake.ts'

type Server = Pick<Awaited<ReturnType<typeof startTestServer>>, 'get' | 'gateway' | 'post' | 'answerWith'>

const troubled = async (server: Server): Promise<string[]> => {
  const { status, services } = await jsonOf(await server.get('/api/status', ''))
  const names = Object.keys(services).filter((name) => services[name].status !== 'ok')
  expect(status).toBe(names.length === 0 ? 'ok' : 'degraded')
  return names
}

const codes = Object.entries(refusalTable)
  .filter(([, { status }]) => status >= 500)
  .map(([code]) => code as RefusalCode)

test.each(codes)('%s: the status tells of it, and not whose call it was', async (code) => {
  const server = await startTestServer()
  Object.assign(server.gateway.offering.catalogue, {
    find: () => {
      throw refuse(code, 'Something is wrong. It concerns call 4711.')
    },
  })
  expect((await server.post('/v1/chat/completions', chat())).status).toBe(refusalTable[code].status)
  expect(await troubled(server)).toEqual(['api'])
  expect(await (await server.get('/api/status', '')).text()).not.toContain('4711')
  await server.stop()
})

const failing = (server: Server) =>
  server.answerWith(() => {
    throw new Error('connect ECONNREFUSED')
  })

/** What is wrong, with which options or by which act, and the service that tells of it. */
const causes: [
  what: string,
  service: string,
  options: NonNullable<Parameters<typeof startTestServer>[0]>,
  act?: (server: Server) => unknown,
][] = [
  ['a vendor is down', 'vendors.mock', {}, failing],
  ['all places for calls are taken', 'api', { options: { openCallsMax: 0 } }],
  ['the memory for bodies is full', 'api', { options: { bufferBytesMax: 1 } }],
  ['the process drains', 'api', {}, (server) => void server.gateway.book.drain(0)],
]

test.each(causes.map(([what, service, ...rest]) => ({ what, service, rest })))(
  '$what: $service',
  async ({ service, rest: [given, act] }) => {
    const server = await startTestServer(given)
    expect(await troubled(server)).toEqual(given.options?.openCallsMax === 0 ? ['api'] : [])
    await act?.(server)
    expect((await server.post('/v1/chat/completions', chat())).status).toBe(503)
    expect(await troubled(server)).toContain(service)
    await server.stop()
  },
)

const run = { model: 'mock/film', inputs: { prompt: 'a fox' } }

test('the place of results is full: assets, and jobs are refused', async () => {
  const server = await startJobServer({ change: { settings: { ...ASSET_SETTINGS, freeBytesMin: 1e18 } } })
  expect((await server.post('/v1/run', run)).status).toBe(503)
  expect(await troubled(server)).toEqual(['api', 'assets'])
  await server.stop()
})

test('the place of results breaks while a job runs: api, and the job goes on once it is mended', async () => {
  const server = await startJobServer({ change: { settings: IN_FILES } })
  await server.post('/v1/run', run, { prefer: 'respond-async' })
  expect(await troubled(server)).toEqual([])
  await rename(server.folder, `${server.folder}-away`)
  await writeFile(server.folder, 'no folder')
  server.says(1)
  await until(async () => (await troubled(server)).includes('api'))
  await rm(server.folder)
  await rename(`${server.folder}-away`, server.folder)
  await until(async () => (await server.balance()) < 100n * USD)
  await server.stop()
})

test('Stripe is away: api', async () => {
  const stripe = startFakeStripe()
  const server = await startTestServer({ stripe: stripe.settings })
  await stripe.stop()
  expect((await server.post('/api/wallet/checkout', { amount_usd: 5 })).status).toBe(503)
  expect(await troubled(server)).toEqual(['api'])
  await server.stop()
})

test('no key of receipts can be read: receipts', async () => {
  const server = await startTestServer()
  const keys = server.gateway.receipts?.keys
  if (keys === undefined) throw new Error('the server signs nothing')
  Object.assign(keys, { signer: () => undefined, published: async () => [] })
  expect((await server.post('/api/receipts/verify', { receipt: 'a.b.c' })).status).toBe(503)
  expect(await troubled(server)).toEqual(['receipts'])
  await server.stop()
})
