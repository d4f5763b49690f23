/** A hold of which one end does something more. */
import type { Hold } from '../book/words.ts'

/** The same hold with other ends; a copy of its members would lose those of its class. */
export const holdWith = (hold: Hold, ends: Partial<Pick<Hold, 'settle' | 'void'>>): Hold => ({
  callId: hold.callId,
  opened: hold.opened,
  amount: () => hold.amount(),
  extend: (to, spent, waits) => hold.extend(to, spent, waits),
  checkpoint: (spent) => hold.checkpoint(spent),
  settle: (cost, detail, answer) => hold.settle(cost, detail, answer),
  void: () => hold.void(),
  ...ends,
})
