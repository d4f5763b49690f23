/** What every process does from time to time, so that each month has its part before a call needs it. */
import { Busy, type Engine } from '../engine/engine.ts'
import { closeRest } from './close-rest.ts'
import { makeMonths } from './make-months.ts'

/** If others use the table for long, the next round does it: until then the rest takes rows without a part. */
const unlessBusy = (error: unknown): boolean => {
  if (error instanceof Busy) return false
  throw error
}

/** Makes what a start may wait for: none of it takes longer for a larger ledger. */
export const firstMonths = (engine: Engine): Promise<boolean> => makeMonths(engine).catch(unlessBusy)

/** Makes the parts of future months; out of the rest, if the rest has rows of one. */
export const keepMonths = async (engine: Engine): Promise<void> => {
  if (await firstMonths(engine)) return
  await closeRest(engine).catch(unlessBusy)
  await firstMonths(engine)
}
