/** Ends of lines share their writes, and none waits long for another. */
import { expect, test } from 'bun:test'
import type { LineEnd } from '../../store/batches/batch-port.ts'
import type { Gateway } from '../parts/gateway.ts'
import { newEnds } from './line-ends.ts'

const rig = (most: number) => {
  const writes: number[] = []
  let wake = Promise.withResolvers<void>()
  const clock = { sleep: () => wake.promise }
  const write = async (ends: readonly LineEnd[]) => {
    writes.push(ends.length)
    return new Set(ends.map(({ callId }) => callId))
  }
  const behind = { step: async () => undefined, lines: () => most, writes: () => most, starts: () => 1 }
  const endLine = newEnds({ clock } as unknown as Gateway, { id: 'b', behind, write })
  const ends = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) =>
      endLine({ n: from + at, callId: `c${from + at}`, state: 'errored', result: '{}' }),
    )
  return {
    ...{ writes, ends },
    passes: () => {
      wake.resolve()
      wake = Promise.withResolvers()
    },
  }
}

test('as many as a write may have are written at once', async () => {
  const { writes, ends } = rig(4)
  await Promise.all(ends(0, 4))
  expect(writes).toEqual([4])
})

test('fewer wait for others, and are written when none came for a while', async () => {
  const { writes, ends, passes } = rig(4)
  const all = ends(0, 3)
  await new Promise((next) => setImmediate(next))
  expect(writes).toEqual([])
  passes()
  expect(await Promise.all(all)).toEqual([true, true, true])
  expect(writes).toEqual([3])
})

test('what is more than a write may have forms the next one', async () => {
  const { writes, ends, passes } = rig(4)
  const all = ends(0, 9)
  await Promise.all(all.slice(0, 8))
  expect(writes).toEqual([4, 4])
  passes()
  await Promise.all(all)
  expect(writes).toEqual([4, 4, 1])
})
