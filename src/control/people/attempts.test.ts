/** A code of the second factor works once, however those who bring it at the same time are interleaved. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import '../../../test/seed.ts'
import { takeCode } from './attempts.ts'

const START = 1_800_000_000_000
const SLOT_MS = 5 * 60_000

test('of those who bring one code at the same time exactly one gets in', async () => {
  const moments = fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 2, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), moments, async (scheduler, offsets) => {
      const counts = new Map<string, number>()
      // Each asks over a connection of its own, so the store may count them in any order.
      const brought = async (what: string) => {
        await scheduler.schedule(Promise.resolve(), what)
        const count = (counts.get(what) ?? 0) + 1
        counts.set(what, count)
        return count
      }
      // The slots of the counters turn at offset zero.
      const takers = offsets.map((offset) => {
        const now = () => START + offset * 1_000
        const gateway = { store: { members: { brought } }, hash: (text: string) => text, clock: { now } }
        return takeCode({ gateway } as unknown as Parameters<typeof takeCode>[0], 'person', '123456')
      })
      const all = await scheduler.waitFor(Promise.all(takers))
      expect(all.filter((won) => won)).toHaveLength(1)
    }),
  )
  expect(START % SLOT_MS).toBe(0)
})
