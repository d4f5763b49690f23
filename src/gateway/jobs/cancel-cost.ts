/** What cancelling a job costs, which its run tells before. */
import { least, type Nano } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'
import type { JobShape } from '../../media/shape.ts'
import { chargeFor, withCall } from '../../pricing/charge.ts'
import type { Run, RunFacts } from '../../store/calls/run-port.ts'

/** The units that a cancelled job is charged for where its vendor does not say what it bills. */
export const unitsIfCancelled = ({ asked, most }: RunFacts): Usage => asked ?? most

/**
 * The most that cancelling costs, in nano-USD: nothing where the vendor does not bill it, else what was asked for, which
 * a finished job costs too. Of a job that is still being submitted only the hold is known.
 */
export const cancelCost = ({ hold, facts }: Run, { onCancel }: Pick<JobShape, 'onCancel'>): Nano => {
  if (onCancel === 'free') return 0n
  if (facts === undefined) return hold
  const { price } = facts
  return least(hold, chargeFor(price, withCall(price, unitsIfCancelled(facts))))
}
