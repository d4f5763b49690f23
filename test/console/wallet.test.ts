/** Money in the console: a top-up through Stripe, credit by an operator once, and a key that is rotated. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { jsonOf } from '../server/harness.ts'
import { type FakeStripe, startFakeStripe } from '../server/stripe-fake.ts'
import { startConsole, type Visitor } from './rig.ts'

let stripe: FakeStripe
let it: Awaited<ReturnType<typeof startConsole>>
let owner: Visitor
beforeAll(async () => {
  stripe = startFakeStripe()
  it = await startConsole({ stripe: stripe.settings })
  owner = await it.visit('owner@example.com', 'owner', 'org_test', true)
})
afterAll(async () => {
  await it.stop()
  await stripe.stop()
})

test('a top-up opens a checkout of the amount for the wallet of the organisation', async () => {
  const response = await owner.ask('POST', '/wallet/top-up', { amount_usd: 25.5 })
  expect(response.status).toBe(201)
  const { url } = await jsonOf(response)
  const session = stripe.sessions.at(-1)
  expect(url).toContain(session?.id ?? 'none')
  expect(session?.form.get('line_items[0][price_data][unit_amount]')).toBe('2550')
  expect((await jsonOf(await owner.ask('GET', '/events'))).data[0].what).toBe('wallet.checkout_opened')
  expect((await owner.ask('POST', '/wallet/top-up', { amount_usd: 0.1 })).status).toBe(400)
})

test('credit is given once, however often it is asked for, and recorded with it', async () => {
  const before = await it.balance()
  const gifts = `/operator/accounts/${it.wallet}/gifts`
  const credit = { amount_usd: 7, note: 'sorry', ref: 'incident-42' }
  for (let n = 0; n < 3; n++) expect((await owner.ask('POST', gifts, credit)).status).toBe(200)
  expect(await it.balance()).toBe(before + 7_000_000_000n)
  const { data } = await jsonOf(await owner.ask('GET', '/events'))
  expect(data.filter(({ what }: { what: string }) => what === 'wallet.credited').length).toBe(1)
  expect((await owner.ask('POST', gifts, { ...credit, amount_usd: 8 })).status).toBe(409)
})

test('a rotated key has the same limits, and the old one works until it is deleted', async () => {
  const ask = (token: string) =>
    it.post(
      '/v1/chat/completions',
      { model: 'mock/small', messages: [{ role: 'user', content: 'hi' }] },
      {},
      token,
    )
  const old = await jsonOf(
    await owner.ask('POST', '/keys', { label: 'rotated', monthly_cap_usd: 3, rpm_limit: 50 }),
  )
  const next = await jsonOf(await owner.ask('POST', `/keys/${old.id}/rotate`))
  expect(next).toMatchObject({ label: 'rotated', monthly_cap_usd: '3', rpm_limit: 50 })
  expect(next.key).not.toBe(old.key)
  // Each leads to the next and to the one before, also when it is rotated once more.
  const last = await jsonOf(await owner.ask('POST', `/keys/${next.id}/rotate`))
  const around = async (id: string) => {
    const { replaces, replaced_by } = await jsonOf(await owner.ask('GET', `/keys/${id}`))
    return [replaces, replaced_by]
  }
  const reference = ({ id, prefix }: { id: string; prefix: string }) => ({ id, prefix })
  expect(await around(old.id)).toEqual([null, reference(next)])
  expect(await around(next.id)).toEqual([reference(old), reference(last)])
  expect(await around(last.id)).toEqual([reference(next), null])
  expect([(await ask(old.key)).status, (await ask(next.key)).status]).toEqual([200, 200])
  expect((await owner.ask('DELETE', `/keys/${old.id}`)).status).toBe(200)
  expect([(await ask(old.key)).status, (await ask(next.key)).status]).toEqual([401, 200])
})
