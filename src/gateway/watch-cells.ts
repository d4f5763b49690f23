/**
 * What the other cells say of where organisations are. A ledger that was restored from a backup of before a move has an
 * organisation that is elsewhere now, or lacks one: each process asks as it starts and again and again.
 */
import { askCell } from '../cells/ask-cell.ts'
import type { Cell } from '../cells/directory.ts'
import type { OtherCells } from '../cells/wrong-cell.ts'
import { isObject } from '../core/json-body.ts'
import type { KeyedHash } from '../core/keyed-hash.ts'
import { type Log, warning } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import { about, type Clock, inRounds } from '../core/time.ts'
import type { Whereabouts } from '../store/move/cell-port.ts'
import type { Store } from '../store/port.ts'
import type { StandbyWatch } from './parts/watch-standby.ts'

/** Where a cell tells the others. */
const MOVES_PATH = '/api/cells/moves'

const EVERY_MS = 180_000
/** While an organisation is on its way out, or a cell did not answer. */
const SOON_MS = 5_000
const PATIENCE_MS = 2_000

type CellsParts = {
  readonly others: OtherCells
  readonly store: Pick<Store, 'cells'>
  readonly hash: KeyedHash<string>
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
}

/** What a cell says of its moves. Throws what is wrong with its answer, or with the way there. */
const ask = async ({ others, hash }: CellsParts, cell: Cell): Promise<readonly Whereabouts[]> => {
  const question = { path: MOVES_PATH, patienceMs: PATIENCE_MS }
  const told = await askCell({ places: others.places, hash }, cell, question)
  if (!isObject(told) || !Array.isArray(told.moves))
    throw new Error('it answers something else: both cells need the same version')
  return told.moves.filter(isObject).map((one) => ({
    organisation: String(one.organisation),
    cell: typeof one.cell === 'string' ? one.cell : cell.name,
    number: Number(one.number),
    move: String(one.move),
  }))
}

/** Of what all cells say of an organisation, its last move. */
const lastOfEach = (told: readonly Whereabouts[]): readonly Whereabouts[] => {
  const last = new Map<string, Whereabouts>()
  for (const one of told)
    if (one.number > (last.get(one.organisation)?.number ?? 0)) last.set(one.organisation, one)
  return [...last.values()]
}

/** Looks once, which the start of a server waits for, and then again and again until it is stopped. */
export const watchCells = async (parts: CellsParts): Promise<StandbyWatch> => {
  const { others, store, clock, log, random } = parts
  const silent = new Set<string>()
  const missed = new Set<string>()
  let trouble: string | undefined
  let soon = false
  const movesOf = async (cell: Cell): Promise<readonly Whereabouts[]> => {
    try {
      const told = await ask(parts, cell)
      silent.delete(cell.name)
      return told
    } catch (error) {
      soon = true
      const fields = { kind: cell.name, error: messageOf(error) }
      if (!silent.has(cell.name)) log.warn('a cell does not say which organisations it has', fields)
      silent.add(cell.name)
      return []
    }
  }
  const sendAway = async (one: Whereabouts): Promise<string | undefined> => {
    const { organisation, cell } = one
    const done = await store.cells.leaveAgain(one)
    if (done.outcome === 'left')
      log.error('an organisation is in another cell: this ledger, of before its move, has let it go again', {
        kind: organisation,
        outcome: cell,
      })
    else soon = true
    return done.outcome === 'waits'
      ? `${organisation} is in the cell ${cell}, and has not left this one: ${done.why}`
      : undefined
  }
  const miss = ({ organisation }: Whereabouts): string => {
    if (!missed.has(organisation))
      log.error('an organisation should be here: this ledger is of before it came', { kind: organisation })
    missed.add(organisation)
    return `${organisation} should be here, and this ledger is of before it came: restore a later backup`
  }
  const look = async (): Promise<void> => {
    soon = false
    const cells = [...others.directory.now().cells.values()].filter(({ name }) => name !== others.own)
    const told = lastOfEach((await Promise.all(cells.map(movesOf))).flat())
    const { elsewhere, missing } = await store.cells.unheardOf(others.own, told)
    const troubles = missing.map(miss)
    for (const one of elsewhere) {
      const staying = await sendAway(one)
      if (staying !== undefined) troubles.push(staying)
    }
    trouble = troubles[0]
  }
  const failed = 'what other cells say of organisations could not be compared'
  await look().catch(warning(log, failed))
  const often = about(EVERY_MS, random)
  const pauseMs = () => (soon ? SOON_MS : often())
  return { trouble: () => trouble, stop: inRounds({ clock, log, pauseMs, waits: true, failed }, look) }
}
