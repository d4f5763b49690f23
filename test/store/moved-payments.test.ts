/**
 * Events of Stripe reach all cells. Those about an organisation that has moved are its new cell's; the old one ignores them, since
 * Stripe repeats what any cell refuses. On both engines.
 */
import { expect, test } from 'bun:test'
import { moveOrganisation } from '../../src/store/move/move-organisation.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { brokenLaws, engines } from './engines.ts'
import { CENT, createOneKey } from './world.ts'

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`payments of an organisation that has moved, on ${engine.name}`, async () => {
    const databases = [await engine.fresh(), await engine.fresh()] as const
    const [a, b] = [await openStore(databases[0]), await openStore(databases[1])]
    await createOneKey(a)
    for (const id of ['early', 'late'])
      await a.funding.openCheckout({ id, walletId: 'w', amount: CENT }, byTest)
    const paid = (id: string) => ({ checkoutId: id, payment: `pi_${id}`, amount: CENT })
    const refunded = (id: string) => ({ id: `re_${id}`, payment: `pi_${id}`, outstanding: CENT })
    expect(await a.funding.creditPayment(paid('early'))).toBe('posted')
    await moveOrganisation({
      ...{ orgId: 'o', by: byTest, waitMs: 60_000, tell: () => undefined },
      from: { url: databases[0].url, cell: 'a' },
      to: { url: databases[1].url, cell: 'b' },
      // On its way it is nobody's yet: Stripe is to send the event again.
      before: async () => {
        for (const it of [
          () => a.funding.creditPayment(paid('late')),
          () => a.funding.takeBack(refunded('early')),
        ])
          await expect(it()).rejects.toThrow('is not here: leaving b')
      },
    })
    for (const id of ['early', 'late']) {
      expect([await a.funding.creditPayment(paid(id)), await a.funding.checkout(id)]).toEqual([
        'unknown',
        undefined,
      ])
      expect(await b.funding.creditPayment(paid(id))).toBe(id === 'early' ? 'replayed' : 'posted')
      expect(await a.funding.takeBack(refunded(id))).toBe('unknown')
      expect(await b.funding.takeBack(refunded(id))).toBe('posted')
    }
    for (const [at, store] of [a, b].entries()) {
      expect(await brokenLaws(store)).toEqual([])
      await store.close()
      await databases[at]?.stop()
    }
  })
