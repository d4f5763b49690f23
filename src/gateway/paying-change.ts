/** A hold on a payment: once the call is charged, what is left of the payment goes back, before the answer ends. */
import type { Hold } from '../book/words.ts'
import { holdWith } from './hold-with.ts'

export const payingChange = (hold: Hold, payChange: () => Promise<unknown>): Hold =>
  holdWith(hold, {
    settle: async (cost, detail, answer) => {
      const settled = await hold.settle(cost, detail, answer)
      // A charge that only the journal has is not in the ledger yet: the next round over due change pays it.
      if (settled.remaining !== undefined) await payChange()
      return settled
    },
  })
