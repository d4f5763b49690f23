/** A hold on a payment: once the call is charged, what is left of the payment goes back, before the answer ends. */
import type { Hold } from '../book/words.ts'

export const payingChange = (hold: Hold, payChange: () => Promise<unknown>): Hold => ({
  callId: hold.callId,
  opened: hold.opened,
  amount: () => hold.amount(),
  extend: (to, spent, waits) => hold.extend(to, spent, waits),
  checkpoint: (spent) => hold.checkpoint(spent),
  void: () => hold.void(),
  settle: async (cost, detail, answer) => {
    const settled = await hold.settle(cost, detail, answer)
    // A charge that only the journal has is not in the ledger yet: the next round over due change pays it.
    if (settled.remaining !== undefined) await payChange()
    return settled
  },
})
