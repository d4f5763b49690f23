/** A hold with something more to do when it grows, is settled or voided. */
import type { Hold } from '../../book/contract.ts'

/** The same hold with other ways to grow or end. A plain copy would lose the methods of its class. */
export const holdWith = (hold: Hold, ends: Partial<Pick<Hold, 'extend' | 'settle' | 'void'>>): Hold => ({
  callId: hold.callId,
  get opened() {
    return hold.opened
  },
  amount: () => hold.amount(),
  estimate: () => hold.estimate?.() ?? 0n,
  extend: (to, spent, waits, list) => hold.extend(to, spent, waits, list),
  checkpoint: (spent, list) => hold.checkpoint(spent, list),
  settle: (cost, detail, answer) => hold.settle(cost, detail, answer),
  void: () => hold.void(),
  ...ends,
})
