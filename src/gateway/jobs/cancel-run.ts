/** Ends runs before they have ended by themselves. */
import { messageOf } from '../../core/message-of.ts'
import type { Run } from '../../store/calls/run-port.ts'
import { jobShapeOf } from '../hold/job-hold.ts'
import type { Gateway } from '../parts/gateway.ts'
import { askNow } from './keep-jobs.ts'

export const cancelRun = async (gateway: Gateway, id: string): Promise<void> => {
  await gateway.store.runs.askCancel(id)
  askNow(gateway, id, { cancel: true })
}

/** Whether the vendor takes a cancel and bills nothing then. */
export const isFreeToCancel = ({ offering }: Gateway, { model }: Run): boolean => {
  const shape = jobShapeOf(offering, model)
  return shape?.cancel !== undefined && shape.onCancel === 'free'
}

/** Cancels a run that has not ended where nobody bills that, and otherwise leaves it alone. */
export const cancelIfFree = async (gateway: Gateway, id: string): Promise<void> => {
  try {
    const run = await gateway.store.runs.run(id)
    if (run === undefined || run.endedAt !== undefined) return
    if (isFreeToCancel(gateway, run)) await cancelRun(gateway, id)
  } catch (error) {
    gateway.log.warn('a job that its caller gave up could not be cancelled', {
      call: id,
      error: messageOf(error),
    })
  }
}
