/** Removes what a part has in the operator's bucket, once nothing of it is needed any more. */
import { messageOf } from '../../core/message-of.ts'
import { askStep } from '../jobs/vendor-step.ts'
import { countedFor } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { type AskedPart, stepOf } from './ask-part.ts'

/** What cannot be removed is told in the log and left: its lines have ended, and nobody waits for it. */
export const tidyPart = async (gateway: Gateway, asked: AskedPart): Promise<void> => {
  const { form, it, part, bucket } = asked
  const { stored, removals } = form
  if (stored === undefined || bucket === undefined) return
  await countedFor(gateway.capacity, it.batch.keyId, async (taken) => {
    const step = stepOf(asked, taken)
    const answer = await askStep(gateway, step, stored({ id: part.id, bucket }))
    const all = removals?.(answer)
    if (all === undefined) throw new Error(`the bucket answered ${answer.status}`)
    for (const one of all) {
      const { status } = await askStep(gateway, step, one)
      if (status >= 300 && status !== 404) throw new Error(`the bucket answered ${status}`)
    }
  }).catch((error: unknown) =>
    gateway.log.warn('objects of a part of a batch are left in the bucket', {
      ...{ call: part.id, error: messageOf(error) },
    }),
  )
}
