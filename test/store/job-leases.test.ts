/** Nobody beats for a job: its money is its own until its deadline, whatever happens to silent processes. */
import { describe, expect, test } from 'bun:test'
import type { NewRun } from '../../src/store/calls/run-port.ts'
import { openTestStore } from '../memory-ledger.ts'
import { brokenLaws, engines } from './engines.ts'
import { CENT, createOneKey, detailFor } from './world.ts'

const MINUTE = 60_000
const chores = { graceMs: 0, longestCallMs: 0 }

describe.each(engines)('on $name', ({ fresh }) => {
  const opened = async () => {
    const database = await fresh()
    let nowMs = 1_800_000_000_000
    const store = await openTestStore({ url: database.url, now: () => nowMs })
    await createOneKey(store)
    return {
      store,
      passes: (ms: number) => {
        nowMs += ms
      },
      end: async () => {
        expect(await brokenLaws(store)).toEqual([])
        await store.close()
        await database.stop()
      },
    }
  }
  const begun = {
    keyId: 'k',
    walletId: 'w',
    model: 'mock/film',
    amount: CENT,
    useful: 1n,
    owner: 'gone',
    ownerMs: 1,
  }

  test.each<[string, Pick<NewRun, 'list'>]>([
    ['a job', {}],
    ['a job by an own key', { list: { amount: 3n * CENT, useful: 1n } }],
  ])('%s of an hour keeps its money while leases of processes are cut back and reaped', async (_, own) => {
    const { store, passes, end } = await opened()
    const counted = async () => (await store.keys.spend('k')).held
    const all = CENT + (own.list?.amount ?? 0n)
    await store.runs.begin({ ...begun, ...own, id: 'c1', deadlineMs: 60 * MINUTE })
    for (let minutes = 0; minutes < 60; minutes += 5) {
      await store.ledger.reap(chores)
      passes(5 * MINUTE)
    }
    expect([(await store.wallets.wallet('w'))?.held, await counted()]).toEqual([CENT, all])
    passes(30 * MINUTE)
    await store.ledger.reap(chores)
    expect([(await store.wallets.wallet('w'))?.held, await counted()]).toEqual([0n, 0n])
    await end()
  })

  test('a job keeps the payment it is paid with while that is freed from processes that died', async () => {
    const { store, passes, end } = await opened()
    const account = 'x402:a'
    await store.payments.beginPayment({
      id: 'chain:token:payer:1',
      callId: 'c2',
      fingerprint: 'f',
      account,
      amount: CENT,
      payer: 'payer',
      sent: '{}',
      firstTryMs: 1_000,
    })
    await store.payments.settlePayment('chain:token:payer:1', 'tx')
    const run = { ...begun, id: 'c2', payer: account, deadlineMs: 60 * MINUTE }
    expect(await store.runs.begin(run)).toEqual({ outcome: 'begun' })
    passes(MINUTE)
    await store.payments.freeAccount(account)
    const ended = await store.runs.end('c2', {
      state: 'done',
      result: { body: {}, outputs: [], usage: {}, bill: {} as never, charged: '4000000', headers: {} },
      settle: { charge: 4_000_000n, excess: 0n, detail: detailFor('k', { ended: 'ok' }) },
      keptMs: MINUTE,
    })
    expect(ended?.state).toBe('done')
    const change = await store.payments.payChange('chain:token:payer:1', 'w')
    expect(change).toMatchObject({ outcome: 'paid', amount: CENT - 4_000_000n })
    await end()
  })

  test('a job that was taken up while it was submitted is not begun again by who took it up', async () => {
    const { store, passes, end } = await opened()
    const by = (owner: string) =>
      store.runs.begin({ ...begun, id: 'c3', owner, ownerMs: MINUTE, deadlineMs: 60 * MINUTE })
    // An answer that was lost is asked for again; nobody else may begin it.
    expect(await Promise.all([await by('gone'), await by('gone'), await by('living')])).toEqual([
      { outcome: 'begun' },
      { outcome: 'begun' },
      { outcome: 'exists' },
    ])
    passes(2 * MINUTE)
    const taken = await store.runs.take('living', { lifeMs: MINUTE, most: 1 })
    expect(taken.map(({ id, state }) => [id, state])).toEqual([['c3', 'submitting']])
    expect(await by('living')).toEqual({ outcome: 'exists' })
    await store.runs.forget('c3')
    await end()
  })
})
