/** Shares, compared with a plain list of who holds what. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { newShares } from './capacity.ts'

test('whatever is taken and given back: never more than all, never more than a share, and all comes back', () => {
  const step = fc.record({
    owner: fc.constantFrom('a', 'b', 'c'),
    amount: fc.integer({ min: 1, max: 60 }),
    back: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 100 }), (steps, percent) => {
      const shares = newShares(100, percent)
      const held: { owner: string; amount: number }[] = []
      const of = (owner: string) => held.reduce((sum, one) => sum + (one.owner === owner ? one.amount : 0), 0)
      const all = () => held.reduce((sum, one) => sum + one.amount, 0)
      for (const { owner, amount, back } of steps) {
        if (back) {
          const one = held.pop()
          if (one !== undefined) shares.giveBack(one.owner, one.amount)
          continue
        }
        const fits = all() + amount <= 100
        const fitsOwn = of(owner) + amount <= percent
        const taken = shares.take(owner, amount)
        expect(taken).toBe(fits ? (fitsOwn ? 'taken' : 'own share used') : 'none left')
        if (taken === 'taken') held.push({ owner, amount })
        expect(shares.used()).toBe(all())
      }
      for (const { owner, amount } of held) shares.giveBack(owner, amount)
      expect(shares.used()).toBe(0)
    }),
  )
})
