/** What a stream ends with, by how it ended; and keeping what has ended well. */
import { type Refusal, refusalBody } from '../core/refusal.ts'
import type { StreamRelay } from '../dialects/relay.ts'
import { filled, type Told } from '../dialects/told.ts'
import { vendorDown } from '../routing/vendor-errors.ts'
import type { Task } from './task.ts'

const encoder = new TextEncoder()

export type Ended = { readonly ended: string; readonly cut: boolean }

/** An answer that has ended well is kept before its caller knows that it has. */
export const remember = async ({ memory }: Task, ended: string, ending: string): Promise<void> => {
  if (memory !== undefined && endsWell(ended)) await memory.keep(filled(ending, undefined, undefined))
}

/** Whether the caller reads an ending in which a receipt has its place. */
export const endsWell = (ended: string): boolean => ended === 'ok' || ended === 'cost_ceiling'

/** What ends a stream whose payment did not come: its own end stays here. */
export const withheld = ({ trace }: Task, stream: StreamRelay, unpaid: Refusal): Uint8Array =>
  encoder.encode(stream.fail(refusalBody(unpaid, trace.callId).error))

/** What ends the stream for its caller; nothing for one that has gone. */
export const lastWords = (task: Task, stream: StreamRelay, told: Told & Ended): string => {
  if (told.ended === 'client_gone') return ''
  const kept = task.memory === undefined ? {} : { kept: task.memory }
  if (told.ended !== 'vendor_failed') return stream.end({ ...told, ...kept, showUsage: task.call.showUsage })
  const refusal = vendorDown(task.trace.vendor ?? task.model.vendor, undefined)
  return stream.fail(refusalBody(refusal, task.trace.callId).error)
}
