/** One key's calls for different things have leases of their own, each under its own budgets, and none ends another. */
import { expect, test } from 'bun:test'
import { tagPathOf } from '../../src/tenancy/tags.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { brokenLaws, engines } from './engines.ts'
import { CENT, createOneKey } from './world.ts'

test.each(engines)('a loan grows the lease of the same tags alone on $name', async ({ fresh }) => {
  const database = await fresh()
  const store = await openTestStore({ url: database.url })
  await createOneKey(store)
  const tag = 'team'
  for (const value of ['red', 'blue'])
    await store.tagBudgets.putTagBudget(
      { id: `bud_${value}`, walletId: 'w', tag, value, caps: { spendCap: 10n * CENT } },
      byTest,
    )
  let made = 0
  /** The lease that an instance gets that knows of none. */
  const leaseFor = async (value?: string): Promise<string> => {
    const tags = value === undefined ? undefined : tagPathOf({ team: value }, [tag])
    const answer = await store.ledger.lend({
      ...{ instance: 'i', keyId: 'k', leaseId: `lease ${++made}`, ttlMs: 60_000 },
      ...{ need: CENT, want: CENT, useful: 1n },
      ...(tags === undefined ? {} : { tags }),
    })
    if (answer.outcome !== 'lent') throw new Error(`nothing was lent for ${value}`)
    return answer.leaseId
  }
  const first = [await leaseFor('red'), await leaseFor('blue'), await leaseFor()]
  expect(new Set(first).size).toBe(3)
  expect([await leaseFor('red'), await leaseFor('blue'), await leaseFor()]).toEqual(first)
  for (const value of ['red', 'blue'])
    expect(await store.tagBudgets.tagBudget({ walletId: 'w', tag, value })).toMatchObject({ held: 0n })
  expect(await brokenLaws(store)).toEqual([])
  await store.close()
  await database.stop()
})
