/** Books with a row of every kind: calls of a tenant, on credit, by x402; refunds, trials, invoices, payments taken back. */

import { generateKeyPairSync } from 'node:crypto'
import type { Nano } from '../../src/core/money.ts'
import { DAY_MS } from '../../src/core/time.ts'
import { estimateAccountOf, estimateOf } from '../../src/ledger/estimates.ts'
import { creditAccountOf, type UsageDetail } from '../../src/ledger/types.ts'
import { signLogHead } from '../../src/receipts/log-head.ts'
import { signingKey } from '../../src/receipts/token.ts'
import type { StoreAddress } from '../../src/store/engine/open-engine.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { batchOf, CENT, detailFor } from './world.ts'

const START = Date.UTC(2026, 10, 20, 12)
const DECEMBER = Date.UTC(2026, 11, 1, 2)

export const logSigner = signingKey('test', generateKeyPairSync('ed25519').privateKey)

/** 1,000 tokens in at 10 nano-USD, and 100 cached ones at 1, come to 10,100 nano-USD. */
export const COST = 10_100n
export const detail = (keyId: string): UsageDetail =>
  detailFor(keyId, {
    usage: { input: 1_000, cache_read: 100 },
    receipt: {
      prices: { input: 10_000, cache_read: 1_000 },
      authorized: CENT,
      payment: { mode: 'wallet' },
      requestHash: 'a',
      responseHash: 'b',
    },
  })

type Path = {
  readonly keyId: string
  readonly leaseId: string
  readonly payer?: string
  readonly sub?: string
}

export const callsOf = (store: Store) => {
  const open = async ({ keyId, leaseId, ...more }: Path, callId: string, hold: Nano = CENT) => {
    const ask = {
      instance: 'i',
      keyId,
      leaseId,
      need: hold,
      want: hold * 2n,
      useful: 1n,
      ttlMs: 1e9,
      ...more,
    }
    const lease = await store.ledger.lend(ask)
    if (lease.outcome !== 'lent') throw new Error(`${callId}: ${lease.outcome}`)
    await store.ledger.commit(batchOf('i', { intents: [{ callId, leaseId: lease.leaseId, hold }] }))
    return lease.leaseId
  }
  const settle = async ({ keyId, leaseId }: Path, callId: string, payer: string): Promise<void> => {
    const settled = { callId, leaseId, payer, charge: COST, excess: 0n, detail: detail(keyId) }
    await store.ledger.commit(batchOf('i', { settles: [settled] }))
  }
  return {
    open,
    settle,
    call: async (path: Path, callId: string, payer: string) => {
      const leaseId = await open(path, callId)
      await settle({ keyId: path.keyId, leaseId }, callId, payer)
      return leaseId
    },
  }
}

/** Two channels: one claimed in part and with a call under way, and one whose payer left. */
const vouchersOf = async (store: Store, call: ReturnType<typeof callsOf>['call']): Promise<void> => {
  const take = (name: string, channel: string, begins: Nano) =>
    store.channels.takeVoucher({
      id: name,
      callId: `call of ${name}`,
      fingerprint: 'f',
      amount: CENT,
      payer: 'payer',
      channel: { id: channel, asset: 'token', account: `x402:${channel}`, config: '{}', unit: 1_000n },
      most: begins + CENT,
      signature: 'signed',
      deposit: undefined,
      seen: { balance: 10n * CENT, claimed: CENT, leavingAt: undefined },
      transaction: undefined,
    })
  const pay = async (name: string, channel: string, begins: Nano): Promise<Nano> => {
    await take(name, channel, begins)
    const path = { keyId: 'maker', leaseId: `i:${name}`, payer: `x402:${channel}` }
    await store.ledger.giveBack(await call(path, `call of ${name}`, path.payer), 0n)
    return (await store.channels.chargeVoucher(name)).channel.charged
  }
  const first = await pay('v1', 'chain:1', CENT)
  await store.channels.claimChannel('chain:1', first, 'tx')
  await take('v3', 'chain:1', await pay('v2', 'chain:1', first))
  await pay('v4', 'chain:2', CENT)
  await store.channels.loseChannel('chain:2', CENT)
}

/** Makes the books in an empty database, at a time of their own. */
export const bookScene = async (database: {
  readonly url: string
}): Promise<{ store: Store; address: StoreAddress }> => {
  let now = START - DAY_MS
  const address: StoreAddress = { ...database, now: () => now }
  const store = await openTestStore(address)
  const growLog = async () => {
    while (await store.log.grow((end) => signLogHead(logSigner, end)));
  }
  await growLog()
  now = START
  const { call, open } = callsOf(store)
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.wallets.createWallet({ id: 'v', orgId: 'o2', name: 'v' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: 1_000n * CENT })
  await store.ledger.post({ kind: 'grant', ref: 'gift', debit: 'promo', credit: 'v', amount: CENT })
  const key = { orgId: 'o', walletId: 'w', label: 'l', prefix: 'p' }
  const limits = { spendCap: 500n * CENT, monthlyCap: 400n * CENT }
  await store.keys.createKey({ ...key, id: 'maker', hash: 'h1', limits }, byTest)
  await store.keys.createKey(
    {
      ...key,
      id: 'k',
      hash: 'h2',
      parentId: 'maker',
      limits: { spendCap: 300n * CENT },
    },
    byTest,
  )
  await store.subWallets.createSubWallet(
    {
      id: 's',
      walletId: 'w',
      makerId: 'k',
      label: 's',
      budget: 100n * CENT,
    },
    byTest,
  )
  await store.wallets.changeWalletRules('w', { dailyLimit: 200n * CENT }, byTest)
  const folded = await call({ keyId: 'k', leaseId: 'i:1', sub: 's' }, 'c1', 'w')
  await store.ledger.giveBack(folded, CENT)
  await store.ledger.post({ kind: 'refund', ref: 'c1', debit: 'revenue', credit: 'w', amount: 100n })
  const gone = {
    callId: 'late',
    leaseId: 'gone',
    payer: 'w',
    charge: COST,
    excess: 0n,
    detail: detail('k'),
  }
  await store.ledger.commit(batchOf('i', { settles: [gone] }))
  // What a vendor bills for an own key.
  const vendors = estimateAccountOf('w')
  const estimating = await open(
    { keyId: 'k', leaseId: 'i:e', sub: 's', payer: vendors },
    estimateOf('c1', 'i:1'),
  )
  const estimate = {
    callId: estimateOf('c1', 'i:1'),
    leaseId: estimating,
    payer: vendors,
    charge: COST,
    excess: 0n,
  }
  await store.ledger.commit(batchOf('i', { settles: [estimate] }))
  await store.ledger.giveBack(estimating, CENT)
  await store.credit.grantCredit({ walletId: 'w', limit: 50n * CENT, netDays: 14 }, byTest)
  await call({ keyId: 'maker', leaseId: 'i:2', payer: creditAccountOf('w') }, 'c2', creditAccountOf('w'))
  await store.funding.openCheckout({ id: 'o1', walletId: 'w', amount: 20n * CENT }, byTest)
  await store.funding.creditPayment({ checkoutId: 'o1', payment: 'pi_1', amount: 20n * CENT })
  await store.funding.takeBack({ id: 're_1', payment: 'pi_1', outstanding: 5n * CENT })
  await store.community.claimTrial({
    origin: 'x',
    key: { ...key, id: 'trial', hash: 'h3', walletId: 't', orgId: 'ot', limits: {} },
    amount: CENT,
    dailyAmount: 10n * CENT,
    lifeMs: 1e10,
    againMs: 1e10,
  })
  const code = await store.community.referralCode('w', 'CODE')
  await store.community.claimReferral({
    code,
    orgId: 'o2',
    walletId: 'v',
    referrerAmount: 7n,
    claimantAmount: 5n,
  })
  await store.payments.beginPayment({
    id: 'p1',
    callId: 'c3',
    fingerprint: 'f',
    account: 'x402:p1',
    amount: 3n * CENT,
    payer: 'payer',
    creditTo: 'w',
    sent: '{}',
    firstTryMs: 1e10,
  })
  await store.payments.settlePayment('p1', 'tx')
  await call({ keyId: 'maker', leaseId: 'i:3', payer: 'x402:p1' }, 'c3', 'x402:p1')
  await vouchersOf(store, call)
  now = DECEMBER
  await store.credit.closeMonths()
  await call({ keyId: 'k', leaseId: 'i:4', sub: 's' }, 'c4', 'w')
  await open({ keyId: 'k', leaseId: 'i:4', sub: 's' }, 'c5')
  // What was charged is in the log of receipts, and so are the sums of the days.
  now += 6 * 60_000
  await growLog()
  return { store, address }
}
