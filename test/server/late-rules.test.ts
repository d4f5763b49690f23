/** Rules that change while a call waits: it is admitted by those of the moment at which its money is held, or refused. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { changeRules } from '../../src/control/money/rules.ts'
import { byTest } from '../by-test.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

const cheaper = { tier: 'flex', price: testModel('small').price } as const

let server: TestServer
let release: PromiseWithResolvers<void>
beforeEach(async () => {
  release = Promise.withResolvers()
  server = await startTestServer({
    models: [testModel('small'), testModel('small', { id: 'mock/smalll', cheaper })],
    options: { discountOpenMax: 1 },
  })
})
afterEach(() => server.stop())

/** A discounted call that waits until another one has ended. */
const waitingCall = async () => {
  server.answerWith(async () => {
    if (server.asked.length === 1) await release.promise
    return completion('ok')
  })
  const first = server.post('/v1/chat/completions', chat())
  while (server.asked.length === 0) await Bun.sleep(1)
  const waiting = server.post('/v1/chat/completions', chat({ model: 'mock/smalll' }))
  await Bun.sleep(20)
  return {
    ended: async () => {
      release.resolve()
      await first
      const { status } = await waiting
      return [status, (await jsonOf(await waiting)).error?.code]
    },
  }
}

const change = (rules: object) => server.send('PUT', '/api/wallet/rules', rules)

test('a model that was blocked meanwhile is not asked', async () => {
  const { ended } = await waitingCall()
  expect((await change({ blocked_models: ['mock/small'] })).status).toBe(200)
  expect(await ended()).toEqual([403, 'model_not_allowed'])
  expect(server.asked).toHaveLength(1)
})

test('an account that was suspended meanwhile calls nothing', async () => {
  const { ended } = await waitingCall()
  await changeRules(server.gateway, { walletId: server.wallet, change: { suspended: 'abuse' }, by: byTest })
  expect(await ended()).toEqual([403, 'account_suspended'])
  expect(server.asked).toHaveLength(1)
})

test('what a call may cost binds it, if it was lowered meanwhile', async () => {
  const { ended } = await waitingCall()
  expect((await change({ per_call_max_usd: 0.000001 })).status).toBe(200)
  expect(await ended()).toEqual([402, 'max_cost_exceeded'])
  expect(server.asked).toHaveLength(1)
})
