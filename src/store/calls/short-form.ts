/**
 * Whether a ledger's details are written in short: once no process of a version that reads them only by name has served within
 * the hour. It would sum such calls without vendor and end, and its sums stay. So whoever goes back to it within that hour finds
 * nothing that it cannot read.
 */
import { type Engine, once } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'

/** How many processes are known that read details only by name. Each is forgotten an hour after its last heartbeat. */
export const BY_NAME = '(select cast(count(*) as bigint) from instance where short_details = 0)'

/** The engines of ledgers in which none is known. */
export const inShort = new WeakSet<Engine>()

/** Takes in how many there are. */
export const noteByName = (engine: Engine, byName: number): void => {
  if (byName === 0) inShort.add(engine)
  else inShort.delete(engine)
}

/** Looks once, when a store is opened; from then on heartbeats tell. */
export const lookByName = async (engine: Engine): Promise<void> => {
  const row = onlyRow(await once(engine, 'control', `select ${BY_NAME} as by_name`))
  noteByName(engine, countOf(row, 'by_name'))
}
