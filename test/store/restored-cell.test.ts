/** A ledger that was restored from a backup of before a move: what other cells say of it, and that it lets go what is theirs. */
import { expect, test } from 'bun:test'
import type { Whereabouts } from '../../src/store/move/cell-port.ts'
import { type MoveOrganisation, moveOrganisation } from '../../src/store/move/move-organisation.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { COST, callsOf } from './audit-scene.ts'
import { brokenLaws, engines } from './engines.ts'
import { CENT, createOneKey } from './world.ts'

const PAID_LATER = CENT

/** A ledger with the organisation, its backup of before, and two others. */
const cellsOn = async (fresh: (typeof engines)[number]['fresh']) => {
  const databases = await Promise.all([fresh(), fresh(), fresh(), fresh()])
  // A backup has the same rows, to the millisecond.
  const at = Date.now()
  for (const { url } of databases.slice(0, 2)) {
    const store = await openStore({ url, now: () => at })
    await createOneKey(store)
    const lease = await callsOf(store).call({ keyId: 'k', leaseId: 'i:1' }, 'c1', 'w')
    await store.ledger.release('i', [lease])
    const { left: _, arrived: __, ...sums } = await store.cells.sums()
    const [balance, none] = [100n * CENT - COST, 0n]
    expect(sums).toEqual({ organisations: 1, balance, held: none, owed: none, today: COST, between: none })
    await store.close()
  }
  const stores = await Promise.all(databases.map(({ url }) => openStore({ url })))
  const [a, backup, b, c] = stores as [Store, Store, Store, Store]
  const urlOf = (store: Store) => databases[stores.indexOf(store)]?.url ?? ''
  const names = new Map([
    [a, 'a'],
    [backup, 'a'],
    [b, 'b'],
    [c, 'c'],
  ])
  await a.ledger.post({ kind: 'topup', ref: 'later', debit: 'cash', credit: 'w', amount: PAID_LATER })
  const move = (from: Store, to: Store, more: Partial<MoveOrganisation> = {}) =>
    moveOrganisation({
      orgId: 'o',
      from: { url: urlOf(from), cell: names.get(from) ?? '' },
      to: { url: urlOf(to), cell: names.get(to) ?? '' },
      ...{ by: byTest, waitMs: 10_000, tell: () => undefined, ...more },
    })
  /** What it says of where organisations are. */
  const told = async (store: Store): Promise<readonly Whereabouts[]> =>
    (await store.cells.lastMoves()).map((one) => ({ ...one, cell: one.cell ?? names.get(store) ?? '' }))
  const between = async () => {
    let sum = 0n
    for (const store of [backup, b, c]) sum += (await store.cells.sums()).between
    return sum
  }
  const stop = async (...lost: readonly Store[]) => {
    for (const store of stores) {
      if (!lost.includes(store)) expect(await brokenLaws(store)).toEqual([])
      await store.close()
    }
    for (const database of databases) await database.stop()
  }
  return { a, backup, b, c, move, told, between, stop }
}

const spends = async (store: Store): Promise<string> => {
  const ask = { instance: 'j', keyId: 'k', leaseId: 'j:1', need: 1n, want: 1n, useful: 1n, ttlMs: 1e9 }
  const { outcome } = await store.ledger.lend(ask)
  if (outcome === 'lent') await store.ledger.release('j', ['j:1'])
  return outcome
}

const lasting = engines.filter((engine) => engine.lasting)
const [file] = lasting as [(typeof engines)[number]]

for (const { name, fresh } of lasting) {
  test(`what it has and another cell has too leaves it, when its calls have ended, on ${name}`, async () => {
    const { a, backup, b, move, told, between, stop } = await cellsOn(fresh)
    expect(await told(a)).toEqual([])
    await move(a, b)
    expect(await told(a)).toEqual(await told(b))
    expect(await a.cells.unheardOf('a', await told(b))).toEqual({ elsewhere: [], missing: [] })
    const stranger = { organisation: 'another', cell: 'b', number: 7, move: 'm' }
    expect(await backup.cells.unheardOf('a', [stranger])).toEqual({ elsewhere: [], missing: [] })
    const leaseId = await callsOf(backup).open({ keyId: 'k', leaseId: 'i:2' }, 'again')
    const { elsewhere } = await backup.cells.unheardOf('a', await told(b))
    expect(elsewhere).toEqual([{ organisation: 'o', cell: 'b', number: 1, move: expect.any(String) }])
    const [one] = elsewhere as [Whereabouts]
    expect(await backup.cells.leaveAgain(one)).toEqual({
      outcome: 'waits',
      why: 'calls of its keys are open',
    })
    expect([await spends(backup), (await backup.keys.key('k'))?.cell]).toEqual(['disabled', 'leaving b'])
    await callsOf(backup).settle({ keyId: 'k', leaseId }, 'again', 'w')
    expect(await backup.cells.leaveAgain(one)).toEqual({ outcome: 'left' })
    expect([await spends(backup), (await backup.keys.key('k'))?.cell]).toEqual(['disabled', 'b'])
    expect((await backup.wallets.wallet('w'))?.balance).toBe(0n)
    expect(await backup.cells.unheardOf('a', await told(b))).toEqual({ elsewhere: [], missing: [] })
    // What stands between the cells is what the backup did not know, and what it charged afterwards.
    expect(await between()).toBe(-PAID_LATER - COST)
    await stop()
  })

  test(`the last of its moves counts, whichever cell tells it, on ${name}`, async () => {
    const { a, backup, b, c, move, told, stop } = await cellsOn(fresh)
    await move(a, b)
    await move(b, c)
    expect((await told(c)).map(({ cell, number }) => [cell, number])).toEqual([['c', 2]])
    expect(await told(b)).toEqual(await told(c))
    const { elsewhere } = await backup.cells.unheardOf('a', await told(b))
    expect(await backup.cells.leaveAgain(elsewhere[0] as Whereabouts)).toEqual({ outcome: 'left' })
    expect((await backup.keys.key('k'))?.cell).toBe('c')
    // From there it may come back, as from everywhere.
    await move(c, backup)
    expect([await spends(backup), await spends(c)]).toEqual(['lent', 'disabled'])
    expect((await told(backup)).map(({ cell, number }) => [cell, number])).toEqual([['a', 3]])
    await stop()
  })
}

test('one that came after the backup is missing', async () => {
  const { a, b, c, move, told, stop } = await cellsOn(file.fresh)
  await move(a, b)
  // The ledger of `b` is lost, and the empty one of `c` is its backup.
  const missing = await c.cells.unheardOf('b', await told(a))
  expect(missing).toEqual({ elsewhere: [], missing: await told(a) })
  await stop()
})

test('a command that was killed after the arrival is finished; one that lives is not disturbed', async () => {
  const { a, b, move, told, stop } = await cellsOn(file.fresh)
  const outcomes: unknown[] = []
  const before = async (step: string) => {
    if (step !== 'finish') return
    const { elsewhere } = await a.cells.unheardOf('a', await told(b))
    outcomes.push(await a.cells.leaveAgain(elsewhere[0] as Whereabouts))
    throw new Error('killed')
  }
  const killed = move(a, b, { before }).catch((error: Error) => error.message)
  expect([await killed, outcomes]).toEqual(['killed', [{ outcome: 'moving' }]])
  expect((await a.keys.key('k'))?.cell).toBe('leaving b')
  const { elsewhere } = await a.cells.unheardOf('a', await told(b))
  expect(await a.cells.leaveAgain(elsewhere[0] as Whereabouts)).toEqual({ outcome: 'left' })
  expect((await a.keys.key('k'))?.cell).toBe('b')
  await stop()
})
