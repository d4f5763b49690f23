/** Which answers of a facilitator count as a no, when no node can show the chain. */
import { expect, test } from 'bun:test'
import { silentLog } from '../../src/core/log.ts'
import type { Chain } from '../../src/payment/x402/chain.ts'
import type { Facilitator, FacilitatorSettled } from '../../src/payment/x402/facilitator.ts'
import type { Presented } from '../../src/payment/x402/presented.ts'
import { collect, resolve } from '../../src/payment/x402/settlement.ts'
import { openTestStore } from '../memory-ledger.ts'

const presented: Presented = {
  version: 2,
  scheme: 'exact',
  offer: {
    network: 'eip155:1',
    asset: '0xa',
    name: 'USDC',
    version: '2',
    nanoPerUnit: 1_000n,
    payTo: '0xb',
  },
  id: 'eip155:1:0xa:0xf:0x1',
  payer: '0xf',
  nonce: '0x1',
  units: '5',
  validBefore: 4_000_000_000,
  quoteId: 'q',
  payload: {},
}

const PENDING = { outcome: 'unknown', reason: 'settlement_pending' } as const
const no = (reason: string): FacilitatorSettled => ({ outcome: 'refused', reason })

test.each([
  ['a first clear no', [no('insufficient_funds')], 'refused', 'failed'],
  ['a no that says the nonce was taken since', [no('invalid_nonce_already_used')], 'unknown', 'settling'],
  ['any no after the payment was under way', [PENDING, no('transaction_failed')], 'unknown', 'settling'],
  [
    'a yes after it was under way',
    [PENDING, { outcome: 'settled', transaction: '0xt' } as FacilitatorSettled],
    'settled',
    'settled',
  ],
] as const)('%s', async (_name, answers, outcome, state) => {
  const store = await openTestStore({ url: 'sqlite::memory:' })
  const left: FacilitatorSettled[] = [...answers]
  const facilitator: Facilitator = {
    supported: () => Promise.resolve(new Map()),
    verify: () => Promise.resolve({ outcome: 'valid' }),
    settle: () => Promise.resolve(left.shift() ?? PENDING),
  }
  const chain = { look: () => Promise.resolve({ state: 'unknown' as const }) }
  const parts = { store: store.payments, facilitator, chain, log: silentLog, firstTryMs: 0, now: Date.now }
  const asked = {
    presented,
    requirements: {},
    callId: 'c',
    fingerprint: 'f',
    account: 'x402:1',
    creditTo: undefined,
  }
  expect((await collect(parts, asked)).outcome).toBe(outcome)
  expect((await store.payments.payment(presented.id))?.state).toBe(state)
  await store.close()
})

test('what was sent to an address that has been changed since is looked for at that address', async () => {
  const store = await openTestStore({ url: 'sqlite::memory:' })
  const answers: FacilitatorSettled[] = [PENDING, PENDING, no('invalid_nonce_already_used')]
  const facilitator: Facilitator = {
    supported: () => Promise.resolve(new Map()),
    verify: () => Promise.resolve({ outcome: 'valid' }),
    settle: () => Promise.resolve(answers.shift() ?? PENDING),
  }
  const look: Chain['look'] = async ({ offer: { payTo } }) => {
    if (answers.length > 0) return { state: 'unknown' }
    return payTo === '0xb' ? { state: 'paid', transaction: '0xt' } : { state: 'spent' }
  }
  const parts = {
    store: store.payments,
    facilitator,
    chain: { look },
    log: silentLog,
    firstTryMs: 0,
    now: Date.now,
  }
  const requirements = { payTo: '0xb' }
  const asked = {
    presented,
    requirements,
    callId: 'c',
    fingerprint: 'f',
    account: 'x402:1',
    creditTo: undefined,
  }
  expect((await collect(parts, asked)).outcome).toBe('unknown')
  const [open] = await store.payments.unsettledPayments(1)
  if (open === undefined) throw new Error('nothing is open')
  const changed = { ...presented.offer, payTo: '0xc' }
  expect(await resolve(parts, open, changed)).toEqual({ outcome: 'settled', transaction: '0xt' })
  await store.close()
})
