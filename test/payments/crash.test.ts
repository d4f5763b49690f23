/**
 * A server is killed after a payment was settled and before its call was answered: the payment buys its answer from the
 * next server.
 */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { startProgram } from '../program.ts'
import { completion } from '../server/harness.ts'
import { brokenLaws } from '../store/engines.ts'
import { accountOf, hasChain, startChain } from './chain.ts'
import { startFacilitator } from './facilitator.ts'
import { mppPayer, receiptIn } from './mpp-payer.ts'
import { decoded, payerV2 } from './payers.ts'
import { installPermit2, newUptoPayer } from './permit2.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-x402-'))
afterAll(() => rmSync(folder, { recursive: true }))

const PAY_TO = accountOf(5).address

const start = (file: string, database: string) =>
  startProgram(folder, { DATABASE_URL: database, TURNPIKE_CONFIG: file })

test.skipIf(!hasChain).each(['exact', 'both', 'mpp'] as const)(
  'kill -9 while a paid call runs, payer of %s',
  async (schemes) => {
    const chain = await startChain()
    await installPermit2(chain)
    const facilitator = await startFacilitator(chain)
    const asked = Promise.withResolvers<void>()
    let calls = 0
    const vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: () => {
        if (++calls > 1) return completion('hello')
        asked.resolve()
        return new Promise(() => undefined)
      },
    })
    const file = join(folder, 'turnpike.yaml')
    writeFileSync(
      file,
      `vendors:
  mock:
    base_url: http://127.0.0.1:${vendor.port}/v1
    models:
      small: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }
x402:
  facilitator: ${facilitator.url}
  pay_to: "${PAY_TO}"
  accept: [{ token: base-sepolia, rpc_url: "${chain.url}" }]
  schemes: [exact, upto]
`,
    )
    const database = `sqlite:${join(folder, `${schemes}.db`)}`
    const first = await start(file, database)
    expect(first.greeting).toContain('x402 payments: USDC on eip155:84532')
    const payer = await newUptoPayer(chain, 1_000_000n)
    const send = (request: Request) => fetch(request)
    const { pay, sent } = schemes === 'mpp' ? mppPayer(payer, send) : payerV2(payer, send, schemes)
    const carrier = schemes === 'mpp' ? 'authorization' : 'payment-signature'
    const body = { model: 'mock/small', messages: [{ role: 'user', content: 'hi' }] }
    const ask = (address: string, headers = {}) =>
      new Request(`${address}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-payment-protocol': 'x402', ...headers },
        body: JSON.stringify(body),
      })
    const unanswered = pay(ask(first.address)).catch(() => 'broken off')
    await asked.promise
    first.child.kill('SIGKILL')
    await first.child.exited
    expect(await unanswered).toBe('broken off')
    const before = await chain.unitsOf(PAY_TO)
    if (schemes === 'both') expect(before).toBe(0n)
    else expect(before).toBeGreaterThan(0n)

    const second = await start(file, database)
    const payment = sent[1]?.headers.get(carrier) ?? ''
    const response = await fetch(ask(second.address, { [carrier]: payment }))
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('hello')
    if (schemes === 'mpp') expect(receiptIn(response)?.status).toBe('success')
    else expect(decoded(response.headers.get('payment-response')).success).toBe(true)
    const paid = await chain.unitsOf(PAY_TO)
    // Ten tokens in and five out, or what was paid for before the crash.
    expect(paid).toBe(schemes === 'both' ? 60n : before)
    expect(facilitator.asked.settle).toBe(1)
    second.child.kill('SIGTERM')
    await second.child.exited

    const store = await openStore({ url: database })
    expect(await store.ledger.balance('x402')).toBe(-paid * 1_000n)
    expect(await brokenLaws(store)).toEqual([])
    await store.close()
    await vendor.stop(true)
    await facilitator.stop()
    await chain.stop()
  },
)
