/**
 * Exports calls and events while a server runs, without slowing calls: each at least once, in batches, with its id as
 * the key.
 */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Clock } from '../core/time.ts'
import { type Sink, TooLarge } from './sinks.ts'
import type { Source } from './sources.ts'

type ExportParts = {
  readonly source: Source
  readonly sink: Sink
  readonly clock: Clock
  readonly log: Log
  /** How long it waits when everything is exported. */
  readonly everyMs: number
}

/** The state of the export, for the metrics. */
export type Exporting = {
  /** Age of the oldest call or event that was not exported at the last look. */
  readonly lagMs: () => number
  /** Failed attempts since the last success. */
  readonly failures: () => number
}

const LONGEST_PAUSE_MS = 60_000
/** Lines in a batch, read and sent together. */
const BATCH_MAX = 500

/** Runs until it is stopped; several servers may do it at once. */
export const keepExporting = (parts: ExportParts): Exporting & { readonly stop: () => void } => {
  const { clock, log, everyMs } = parts
  let stopped = false
  let failures = 0
  // Smaller while the sink takes no whole batch, until all that waits is exported.
  let most = BATCH_MAX
  let oldest: number | undefined
  const state = {
    saw: (at: number | undefined) => {
      oldest = at
    },
  }
  const run = async (): Promise<void> => {
    while (!stopped) {
      let more = false
      try {
        more = await exportBatch(parts, state, most)
        failures = 0
        if (!more) most = BATCH_MAX
      } catch (error) {
        more = error instanceof TooLarge && most > 1
        if (more) most = Math.trunc(most / 2)
        else {
          failures++
          log.warn('an export failed; what waits is kept and sent again', { error: messageOf(error) })
        }
      }
      if (!more) await clock.sleep(Math.min(everyMs * 2 ** Math.min(failures, 10), LONGEST_PAUSE_MS))
    }
  }
  void run()
  return {
    lagMs: () => (oldest === undefined ? 0 : Math.max(0, clock.now() - oldest)),
    failures: () => failures,
    stop: () => {
      stopped = true
    },
  }
}

/** Exports one batch; returns whether there may be more at once. What the sink did not take is released. */
const exportBatch = async (
  { source, sink }: ExportParts,
  state: { readonly saw: (at: number | undefined) => void },
  most: number,
): Promise<boolean> => {
  const claimed = await source(most)
  state.saw(claimed?.batch.at)
  if (claimed === undefined) return false
  try {
    await sink(claimed.batch)
  } catch (error) {
    // If this fails too, the claim expires by itself.
    await claimed.release(false).catch(() => undefined)
    throw error
  }
  await claimed.release(true)
  return claimed.more
}
