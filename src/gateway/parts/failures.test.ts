/** Failed calls are noted beside their path: nothing waits for the store, and what it did not take is brought again. */
import { expect, test } from 'bun:test'
import { silentLog } from '../../core/log.ts'
import type { Failure, FailureStore } from '../../store/calls/failure-port.ts'
import { newFailures } from './failures.ts'

type Brought = Parameters<FailureStore['noteFailures']>[0]

const rowOf = (id: string): Failure => ({
  id,
  keyId: 'k',
  at: 1,
  code: 'c',
  status: 400,
  detail: { tookMs: 1 },
})

/** A store that answers as it is told, and a clock whose sleeps end when the test says so. */
const rig = (answer: () => Promise<Awaited<ReturnType<FailureStore['noteFailures']>>>) => {
  const brought: Brought[] = []
  const sleeps: (() => void)[] = []
  let now = Date.parse('2026-11-26T10:00:00Z')
  const failures = newFailures({
    store: {
      failures: {
        noteFailures: (it) => {
          brought.push(it)
          return answer()
        },
      },
    },
    clock: {
      now: () => now,
      monotonicMs: () => now,
      sleep: () => new Promise((resolve) => sleeps.push(resolve)),
      turn: async () => undefined,
    },
    log: silentLog,
    options: { keepFailuresDays: 30, failuresPerDay: 2 },
  })
  const wake = async () => {
    sleeps.shift()?.()
    for (let n = 0; n < 5; n++) await Promise.resolve()
  }
  return { failures, brought, sleeps, wake, later: (ms: number) => (now += ms) }
}

test('many failures are one write, and none of them waits for it', async () => {
  const { failures, brought, sleeps, wake } = rig(() => new Promise(() => undefined))
  for (const id of ['a', 'b', 'c']) failures.note('k', 'c', () => rowOf(id))
  failures.note('k', 'other', () => rowOf('d'))
  expect([brought.length, sleeps.length]).toEqual([0, 1])
  await wake()
  expect(brought[0]?.counts).toEqual([
    { keyId: 'k', code: 'c', calls: 3 },
    { keyId: 'k', code: 'other', calls: 1 },
  ])
  expect(brought[0]?.rows.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
  // The store hangs: the next failure is noted all the same.
  failures.note('k', 'c', () => rowOf('e'))
  expect(brought).toHaveLength(1)
})

test('what the store did not take is brought again, with what came since', async () => {
  let away = true
  const { failures, brought, wake } = rig(async () => {
    if (away) throw new Error('away')
    return []
  })
  failures.note('k', 'c', () => rowOf('a'))
  await wake()
  failures.note('k', 'c', () => rowOf('b'))
  away = false
  await wake()
  expect(brought.map(({ counts }) => counts[0]?.calls)).toEqual([1, 2])
  expect(brought[1]?.rows.map(({ id }) => id)).toEqual(['a', 'b'])
  await failures.end()
  expect(brought).toHaveLength(2)
})

test('once the rows of a key and code are used up, calls are counted and no row is made until the next day', async () => {
  const { failures, brought, wake, later } = rig(async () => [{ keyId: 'k', code: 'c' }])
  let made = 0
  const note = () =>
    failures.note('k', 'c', () => {
      made++
      return rowOf(String(made))
    })
  note()
  await wake()
  note()
  note()
  await wake()
  expect([made, brought[1]?.counts[0]?.calls, brought[1]?.rows.length]).toEqual([1, 2, 0])
  later(86_400_000)
  note()
  expect(made).toBe(2)
})

test('who ends waits for what is being written, and writes what came since', async () => {
  const takes: (() => void)[] = []
  const { failures, brought, wake } = rig(() => new Promise((resolve) => takes.push(() => resolve([]))))
  failures.note('k', 'c', () => rowOf('a'))
  await wake()
  failures.note('k', 'c', () => rowOf('b'))
  let hasEnded = false
  const ended = failures.end().then(() => {
    hasEnded = true
  })
  const turns = async () => {
    for (let n = 0; n < 20; n++) await Promise.resolve()
  }
  for (const left of [1, 2]) {
    await turns()
    expect([brought.length, hasEnded]).toEqual([left, false])
    takes.shift()?.()
  }
  await ended
  expect(brought.map(({ rows }) => rows.map(({ id }) => id))).toEqual([['a'], ['b']])
})
