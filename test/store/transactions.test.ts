/** A failed transaction leaves nothing, not even of branches that had not reached their statement. */
import { expect, test } from 'bun:test'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { openTestStore } from '../memory-ledger.ts'
import { postgresForTests } from '../postgres.ts'
import { engines } from './engines.ts'

for (const { name, fresh } of engines.filter(({ lasting }) => lasting))
  test(`${name}: what a branch sends after another one failed is refused`, async () => {
    const database = await fresh()
    await (await openTestStore(database)).close()
    const engine = openEngine(database)
    const failed = Promise.withResolvers<void>()
    const late = Promise.withResolvers<unknown>()
    const rejection = late.promise.then(
      () => 'written',
      (error: Error) => error.message,
    )
    const outcome = await engine
      .transaction('control', (run) =>
        Promise.all([
          run('select * from nowhere').catch((error: unknown) => {
            failed.resolve()
            throw error
          }),
          failed.promise
            .then(() => Bun.sleep(0))
            .then(() =>
              run(
                `insert into account (id, bounded, org_id, name, created_at) values ('late', 0, 'o', '', 0)`,
              ),
            )
            .then(late.resolve, late.reject),
        ]),
      )
      .catch(() => 'failed')
    expect(outcome).toBe('failed')
    expect(await rejection).toBe('the transaction has ended')
    const rows = await engine.transaction('control', (run) => run(`select id from account where id = 'late'`))
    expect(rows).toEqual([])
    await engine.close()
    await database.stop()
  })

test('a transaction that touches very many rows may take longer than others', async () => {
  const database = await postgresForTests()
  const engine = openEngine(database)
  const work = engine.transaction('control', (run) => run('select pg_sleep(3.5)'), 60_000)
  expect(await work).toHaveLength(1)
  await engine.close()
  await database.stop()
})
