/** How often the first call of a key goes to the database and back: each time costs PostgreSQL, the process and the caller. */
import { expect, test } from 'bun:test'
import type { Engine, Run } from '../../src/store/engine/engine.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { storeOver } from '../../src/store/open-store.ts'
import { engines } from './engines.ts'
import { CENT, createOneKey } from './world.ts'

/** The engine, which notes each time that somebody waits for the database. */
const counted = (engine: Engine, note: () => void): Engine => {
  const counting = (run: Run): Run => {
    let under = 0
    return async (text, params) => {
      if (under++ === 0) note()
      try {
        return await run(text, params)
      } finally {
        under--
      }
    }
  }
  return {
    ...engine,
    batch: (lane, statements) => {
      note()
      return engine.batch(lane, statements)
    },
    transaction: (lane, work, ms) =>
      engine
        .transaction(lane, (run, atEnd) => work(counting(run), atEnd), ms)
        // What ends the transaction goes with its commit.
        .finally(note),
  }
}

test.each(engines)(
  'a key that calls for its first time goes five times to the ledger on $name',
  async ({ fresh }) => {
    const database = await fresh()
    let trips = 0
    const store = await storeOver(counted(openEngine({ url: database.url }), () => void trips++))
    await createOneKey(store)
    const tripsOf = async <T>(asking: () => Promise<T>): Promise<readonly [T, number]> => {
      trips = 0
      return [await asking(), trips]
    }
    const [caller, looked] = await tripsOf(() => store.keys.callerByHash('h'))
    expect([caller?.key.id, looked]).toEqual(['k', 1])
    const share = { name: 'i:1', instance: 'i', size: 15 }
    const ask = { rate: 'rpm' as const, limit: 60, count: 15, share }
    const [[taken], took] = await tripsOf(() => store.rates.takeRates('k', [ask]))
    expect([taken?.share, took]).toEqual([15, 1])
    // Whose money it is; what limits it; what is lent, with the commit.
    const loan = {
      instance: 'i',
      keyId: 'k',
      leaseId: 'i:1',
      need: 1n,
      want: CENT,
      useful: 1n,
      ttlMs: 60_000,
    }
    const [answer, asked] = await tripsOf(() => store.ledger.lend(loan))
    expect([answer.outcome, asked]).toEqual(['lent', 3])
    await store.close()
    await database.stop()
  },
)
