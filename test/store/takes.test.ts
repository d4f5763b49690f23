/**
 * Who takes at most n rows gets at most n, however PostgreSQL plans it: a plan that reads the limited list again for each row of
 * the table would lock the next rows each time, because those that it has taken are no longer in the list.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { engines } from './engines.ts'
import { CENT, createOneKey } from './world.ts'

/** Without these a list in a statement is read again for each row, if the statement lets the planner do so. */
const ONCE_ONLY = ['enable_hashagg', 'enable_sort', 'enable_material']

const planBadly = async (url: string): Promise<void> => {
  const engine = openEngine({ url })
  const name = new URL(url).pathname.slice(1)
  for (const setting of ONCE_ONLY)
    await engine.batch('control', [{ text: `alter database ${name} set ${setting} = off`, params: [] }])
  await engine.close()
}

for (const engine of engines)
  describe(`rows are taken, ${engine.name}`, () => {
    const now = Date.UTC(2026, 10, 21, 20)
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeAll(async () => {
      database = await engine.fresh()
      if (engine.name === 'PostgreSQL') await planBadly(database.url)
      store = await openTestStore({ url: database.url, now: () => now })
      await createOneKey(store)
    })
    afterAll(async () => {
      await store.close()
      await database.stop()
    })

    /** What four turns get. */
    const turns = async (take: () => Promise<readonly { readonly id: string }[]>) => {
      const taken: (readonly string[])[] = []
      for (let turn = 0; turn < 4; turn++) taken.push((await take()).map(({ id }) => id))
      return { counts: taken.map(({ length }) => length), ids: taken.flat().toSorted() }
    }
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    const inTwos = { counts: [2, 2, 2, 0], ids }

    test('rules of alerts that are due', async () => {
      for (const id of ids)
        await store.alerts.putRule(
          { id, orgId: 'o', name: id, kind: 'wallet', amount: CENT, steps: [50], channels: [] },
          byTest,
        )
      expect(await turns(() => store.alerts.takeRules(2))).toEqual(inTwos)
    })

    test('payments whose outcome is not known', async () => {
      for (const id of ids)
        await store.payments.beginPayment({
          id,
          callId: `call ${id}`,
          fingerprint: id,
          account: `x402_${id}`,
          amount: CENT,
          payer: '0xpayer',
          sent: '{}',
          firstTryMs: -1,
        })
      expect(await turns(() => store.payments.unsettledPayments(2))).toEqual(inTwos)
    })
  })
