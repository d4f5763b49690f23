/** What still comes to the cell that an organisation has left: acts of operators, and events of Stripe for all cells. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readDirectory } from '../../src/cells/directory.ts'
import { Places } from '../../src/cells/places.ts'
import { newGathering } from '../../src/http/cells/gathered.ts'
import { moveOrganisation } from '../../src/store/move/move-organisation.ts'
import { byTest } from '../by-test.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { machineOn } from './admin-rig.ts'
import { jsonOf, startTestServer, type TestServer, USD } from './harness.ts'
import { eventOf, paidSession, paymentOf, refundOf, signatureOf, startFakeStripe } from './stripe-fake.ts'

const [file] = engines.filter(({ lasting }) => lasting)
if (file === undefined) throw new Error('there is an engine')
const ORG = { orgId: 'org_away', walletId: 'wal_away' }
const CENT = USD / 100n

const stripe = startFakeStripe()
const stops: (() => unknown)[] = [() => stripe.stop()]
let cells: Readonly<Record<'a' | 'b', TestServer>>
/** An event as the router gives it to all cells. */
let deliver: (payload: string) => Promise<Response>
/** A checkout that was opened before the move, and a payment that arrived before it. */
let checkout: string

beforeAll(async () => {
  const [one, other] = [await file.fresh(), await file.fresh()]
  const start = (url: string) => startTestServer({ url, fund: 0n, stripe: stripe.settings })
  cells = { a: await start(one.url), b: await start(other.url) }
  for (const cell of Object.values(cells)) stops.unshift(() => cell.stop())
  stops.push(one.stop, other.stop)
  const { a, b } = cells
  const listening = [a, b].map((cell) => Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: cell.fetch }))
  for (const server of listening) stops.unshift(() => server.stop(true))
  const [first, second] = listening.map(({ port }) => `{ addresses: ['http://127.0.0.1:${port}'] }`)
  const directory = readDirectory(`first: a\ncells: { a: ${first}, b: ${second} }`, 'cells.yaml')
  const gathered = newGathering()
  const passed = { directory, places: new Places(() => performance.now()), peer: undefined }
  deliver = async (payload) => {
    const length = String(Buffer.byteLength(payload))
    const type = { 'content-type': 'application/json', 'content-length': length }
    const headers = { ...type, 'stripe-signature': await signatureOf(payload) }
    const path = '/api/webhooks/stripe'
    const event = new Request(`http://turnpike.test${path}`, { method: 'POST', headers, body: payload })
    return (await gathered(path, event, passed)) ?? new Response(null, { status: 404 })
  }
  await a.store.wallets.createWallet({ id: ORG.walletId, orgId: ORG.orgId, name: 'away' }, byTest)
  const { token } = await a.newKey({}, ORG)
  const opened = async (usd: number) =>
    (await jsonOf(await a.post('/api/wallet/checkout', { amount_usd: usd }, {}, token))).id
  checkout = await opened(5)
  const before = await opened(10)
  const paid = eventOf('checkout.session.completed', paidSession(before, 'pi_before', 1_000))
  expect((await deliver(paid)).status).toBe(200)
  await moveOrganisation({
    orgId: ORG.orgId,
    from: { url: one.url, cell: 'a' },
    to: { url: other.url, cell: 'b' },
    by: byTest,
    waitMs: 60_000,
    tell: () => undefined,
  })
})
afterAll(async () => {
  const broken = [...(await brokenLaws(cells.a.store)), ...(await brokenLaws(cells.b.store))]
  for (const stop of stops) await stop()
  expect(broken).toEqual([])
})

const balance = async () => (await cells.b.store.wallets.wallet(ORG.walletId))?.balance

test('events of Stripe are taken where it is, by all cells together, so that Stripe does not repeat them for ever', async () => {
  const paid = eventOf('checkout.session.completed', paidSession(checkout, 'pi_after', 500))
  expect((await deliver(paid)).status).toBe(200)
  expect(await balance()).toBe(1_500n * CENT)
  stripe.payments.set('pi_before', paymentOf(checkout, 'pi_before', 1_000).metadata)
  expect((await deliver(eventOf('refund.created', refundOf('pi_before', 're_1', 300)))).status).toBe(200)
  expect(await balance()).toBe(1_200n * CENT)
})

test('what an operator would change where it was is refused by name, and changes nothing', async () => {
  const { a } = cells
  const { ask } = await machineOn(a, [
    'accounts',
    'credit',
    'fund',
    'rules',
    'team',
    'sub_wallets',
    'wallet',
    'keys',
  ])
  const of = `/organisations/${ORG.orgId}`
  const asked: readonly (readonly [string, string, object?])[] = [
    ['POST', `${of}/gifts`, { amount_usd: 1, ref: 'r', note: 'n' }],
    ['PUT', `${of}/credit`, { limit_usd: 1 }],
    ['PATCH', `${of}/rules`, { daily_limit_usd: 1 }],
    ['POST', `${of}/teams`, { name: 'n', budget_usd: 1 }],
    ['POST', `${of}/sub-wallets`, { label: 'n', budget_usd: 1 }],
    ['DELETE', `${of}/card`],
    ['POST', '/keys', { wallet: ORG.walletId, label: 'l' }],
  ]
  for (const [method, path, body] of asked) {
    const answer = await ask(method, path, body)
    const { error } = await jsonOf(answer)
    expect([path, answer.status, error.code, error.cell, error.param]).toEqual([
      path,
      421,
      'moved',
      'b',
      undefined,
    ])
    // The other cell does not know the machine: nothing is passed on.
    expect(answer.headers.get('x-turnpike-cell')).toBeNull()
  }
  expect(await a.store.credit.creditLine(ORG.walletId)).toBeUndefined()
  expect((await a.store.wallets.walletRules(ORG.walletId)).rules).toEqual({})
})

test('what is still there of it can be forgotten, while its keys work where it is', async () => {
  const { a, b } = cells
  const { ask } = await machineOn(a, ['people', 'accounts'])
  const answer = await ask('DELETE', `/organisations/${ORG.orgId}`)
  expect([answer.status, (await jsonOf(answer)).removed.wallets]).toEqual([200, 1])
  const [here, there] = await Promise.all([a, b].map(({ store }) => store.keys.list({})))
  const ofIt = (keys: typeof here) => keys?.filter(({ orgId }) => orgId === ORG.orgId)
  expect(ofIt(here)).toMatchObject([{ label: 'removed', cell: 'b' }])
  expect(ofIt(there)).toMatchObject([{ deleted: false }])
  expect(ofIt(there)?.[0]?.label).not.toBe('removed')
})
