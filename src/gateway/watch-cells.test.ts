/** What other cells say of organisations, and what a server makes of it: in its status, and in its log. */
import { afterAll, expect, test } from 'bun:test'
import { byTest } from '../../test/by-test.ts'
import { openTestStore } from '../../test/memory-ledger.ts'
import { callsOf } from '../../test/store/audit-scene.ts'
import { createOneKey } from '../../test/store/world.ts'
import { CELLS_PROOF } from '../cells/ask-cell.ts'
import { readDirectory } from '../cells/directory.ts'
import { Places } from '../cells/places.ts'
import { createLog } from '../core/log.ts'
import { systemClock } from '../core/time.ts'
import { watchCells } from './watch-cells.ts'

const stops: (() => unknown)[] = []
afterAll(() => {
  for (const stop of stops) stop()
})
const hash = (text: string) => new Bun.CryptoHasher('sha256', 'secret').update(text).digest('hex')

/** A server of `a`, and the cell `b` that tells these moves to who shows the secret. */
const watching = async (moves: readonly object[], secret = hash(CELLS_PROOF)) => {
  const other = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ headers }) =>
      headers.get('authorization') === `Bearer ${secret}`
        ? Response.json({ moves })
        : Response.json({ error: {} }, { status: 401 }),
  })
  stops.push(() => other.stop(true))
  const store = await openTestStore()
  await createOneKey(store)
  const lines: string[] = []
  const directory = readDirectory(
    `first: a\ncells: { a: { addresses: ['http://127.0.0.1:1'] }, b: { addresses: ['http://127.0.0.1:${other.port}'] } }`,
    'cells.yaml',
  )
  const watch = () =>
    watchCells({
      others: {
        own: 'a',
        directory: { now: () => directory },
        places: new Places(performance.now.bind(performance)),
      },
      ...{ store, hash, clock: systemClock, random: Math.random },
      log: createLog('warn', Date.now, (line) => void lines.push(JSON.parse(line).event)),
    }).then((watched) => {
      watched.stop()
      return watched.trouble()
    })
  return { store, watch, lines }
}

test('what is elsewhere is let go when its calls have ended, and its status says what it waits for', async () => {
  const { store, watch, lines } = await watching([{ organisation: 'o', number: 1, move: 'm' }])
  const leaseId = await callsOf(store).open({ keyId: 'k', leaseId: 'i:1' }, 'c1')
  expect(await watch()).toBe('o is in the cell b, and has not left this one: calls of its keys are open')
  await callsOf(store).settle({ keyId: 'k', leaseId }, 'c1', 'w')
  expect([await watch(), lines]).toEqual([
    undefined,
    ['an organisation is in another cell: this ledger, of before its move, has let it go again'],
  ])
  expect([await watch(), lines.length]).toEqual([undefined, 1])
  const change = store.keys.changeKey('k', { label: 'l', byCreator: true }, byTest)
  expect(await change.catch((error: Error) => error.message)).toBe('k is not here: b')
})

test('what should be here and is not is told in the status', async () => {
  const { watch, lines } = await watching([{ organisation: 'x', cell: 'a', number: 2, move: 'm' }])
  expect(await watch()).toBe('x should be here, and this ledger is of before it came: restore a later backup')
  expect(lines).toEqual(['an organisation should be here: this ledger is of before it came'])
})

test('a cell with another secret tells nothing, which the log says', async () => {
  const { watch, lines } = await watching([{ organisation: 'o', number: 1, move: 'm' }], 'other')
  expect([await watch(), lines]).toEqual([undefined, ['a cell does not say which organisations it has']])
})
