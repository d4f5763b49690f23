/** Asks a vendor for a part of ours: by its name, or for its name if that was lost. */

import type { Deployment } from '../../routing/deployments.ts'
import type { TendedBatch } from '../../store/batches/batch-port.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import type { BatchBucket, EndedPart, VendorBatchForm } from '../../vendors/batches/vendor-batch.ts'
import { askStep } from '../jobs/vendor-step.ts'
import { countedFor, type Taken } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Part, Working } from './working.ts'

/** Before lines of a part that came to nothing are sent again; it doubles. A vendor's queue takes its time. */
export const PART_AGAIN_MS = 5 * 60_000

export type AskedPart = {
  readonly form: VendorBatchForm
  readonly at: Deployment
  readonly it: Working
  readonly part: Part
  /** The operator's name for batches of the model, if there is one. */
  readonly named: string | undefined
  readonly bucket: BatchBucket | undefined
}

/** An exchange with the vendor about a part. A line with conditions is in no part (`planLine`). */
export const stepOf = ({ at, part }: Pick<AskedPart, 'at' | 'part'>, taken: Taken) => ({
  ...{ deployment: at, shape: {}, id: part.id, taken, under: NO_CONDITIONS },
})

/**
 * Whether lines that vendors have are to be given up. A batch whose money ran out has the money of those: they go on until it
 * is cancelled or expires.
 */
const givesUp = ({ stop, cancelAt, now, expiresAt }: TendedBatch): boolean =>
  stop === 'insufficient_credit' ? cancelAt !== undefined || now >= expiresAt : stop !== undefined

/** `unknown`: the vendor does not know it now. `lost`: it cannot be found. Throws VendorFault. */
export const askForPart = (
  gateway: Gateway,
  asked: AskedPart,
): Promise<'running' | 'unknown' | 'lost' | EndedPart> =>
  countedFor(gateway.capacity, asked.it.batch.keyId, async (taken) => {
    const { form, it, part, named = '' } = asked
    const step = stepOf(asked, taken)
    if (part.ref === undefined) {
      if (form.newest === undefined) return 'lost'
      const ref = form.found?.(await askStep(gateway, step, form.newest({ id: part.id, named })), part.id)
      if (ref === undefined) return 'unknown'
      await gateway.store.batches.namePart(part.id, ref)
      part.ref = ref
    }
    if (givesUp(it.batch) && !part.cancelled) {
      await askStep(gateway, step, form.cancel(part.ref))
      part.cancelled = true
    }
    const answer = await askStep(gateway, step, form.poll(part.ref))
    if (answer.status === 404) return 'unknown'
    const read = form.readPoll(answer, part.ref) ?? 'running'
    if (read === 'running' || !('next' in read)) return read
    return form.readPlaces?.(await askStep(gateway, step, read.next)) ?? 'running'
  })
