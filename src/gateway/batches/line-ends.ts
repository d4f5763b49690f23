/** Ends of lines are written together: a write costs the ledger about the same for one line as for several. */
import { messageOf } from '../../core/message-of.ts'
import type { CallId } from '../../ledger/types.ts'
import type { LineEnd } from '../../store/batches/batch-port.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { BehindCalls } from './behind-calls.ts'

/** How long an end waits for others to share its write. Nobody waits for it, but a process that dies has lost it. */
const GATHER_MS = 50
const AGAIN_MS = 1_000

type Waiting = { readonly end: LineEnd; readonly done: (was: boolean) => void }

/** Ends a line; resolves once that is durable: false if another process had taken the line over. */
export type EndLine = (end: LineEnd) => Promise<boolean>

type Parts = {
  readonly id: string
  readonly behind: BehindCalls
  /** Makes ends durable; returns the calls that were ended. */
  readonly write: (ends: readonly LineEnd[]) => Promise<ReadonlySet<CallId>>
}

/** How lines of one batch end. A write that fails is tried until the ledger is back. */
export const newEnds = ({ clock, log }: Gateway, { id, behind, write }: Parts): EndLine => {
  let waiting: Waiting[] = []
  let writes = false
  let enough = Promise.withResolvers<void>()
  const isEnough = () => waiting.length >= behind.lines()
  const gather = async (): Promise<void> => {
    enough = Promise.withResolvers()
    if (!isEnough()) await Promise.race([clock.sleep(GATHER_MS), enough.promise])
  }
  const run = async (): Promise<void> => {
    writes = true
    while (waiting.length > 0) {
      await gather()
      await behind.step()
      const now = waiting.slice(0, behind.lines())
      try {
        const ended = await write(now.map(({ end }) => end))
        waiting = waiting.slice(now.length)
        for (const { end, done } of now) done(ended.has(end.callId))
      } catch (error) {
        log.warn('ends of lines could not be written', { call: id, error: messageOf(error) })
        await clock.sleep(AGAIN_MS)
      }
    }
    writes = false
  }
  return (end) =>
    new Promise((done) => {
      waiting.push({ end, done })
      if (isEnough()) enough.resolve()
      if (!writes) void run()
    })
}
