/**
 * What this ledger knows of where organisations are, against what other cells know: one that was restored from a backup has
 * forgotten moves, and does its half of them again.
 */
import { LEAVING } from '../../tenancy/key.ts'
import { type Engine, once } from '../engine/engine.ts'
import { countOf, textOf } from '../engine/row.ts'
import { theHouse } from '../people/event-port.ts'
import { claimMove, DONE, holdClaim } from './cell-moves.ts'
import type { CellStore, LastMove, Whereabouts } from './cell-port.ts'
import { cellSums } from './cell-sums.ts'
import { drain, finish, leave, markLeaving } from './leave-cell.ts'
import { BeingMoved, NotMoved } from './not-moved.ts'

/** How long its open calls may take to end before it is asked again. */
const WAIT_MS = 1_000
/** What was there of its work is deleted in one transaction. */
const LONGEST_MS = 600_000

export const cellStore = (engine: Engine): CellStore => ({
  lastMoves: async () => {
    const text = `select m.org_id, m.way, m.cell, m.number, m.id from cell_move m where ${DONE('m')} and not exists (
      select 1 from cell_move n where n.org_id = m.org_id and n.number > m.number and ${DONE('n')})`
    const rows = await once(engine, 'control', text)
    return rows.map(
      (row): LastMove => ({
        organisation: textOf(row, 'org_id'),
        ...(row.way === 'out' ? { cell: textOf(row, 'cell') } : {}),
        number: countOf(row, 'number'),
        move: textOf(row, 'id'),
      }),
    )
  },
  sums: () => cellSums(engine),
  unheardOf: async (own, told) => {
    const text = `select e.value->>'organisation' as org_id,
        case when exists (select 1 from account a where a.org_id = e.value->>'organisation' and a.bounded = 1
          and (a.cell is null or a.cell like '${LEAVING}%')) then 1 else 0 end as here
      from ${engine.dialect.each('$1')} e where cast(e.value->>'number' as bigint) > coalesce(
        (select max(m.number) from cell_move m where m.org_id = e.value->>'organisation' and ${DONE('m')}), 0)`
    const rows = told.length === 0 ? [] : await once(engine, 'control', text, JSON.stringify(told))
    const here = new Map(rows.map((row) => [textOf(row, 'org_id'), countOf(row, 'here') === 1]))
    const unheard = told.filter(({ organisation }) => here.has(organisation))
    return {
      elsewhere: unheard.filter(({ organisation, cell }) => cell !== own && here.get(organisation) === true),
      missing: unheard.filter(({ cell }) => cell === own),
    }
  },
  leaveAgain: (it) =>
    leaveAgain(engine, it).catch((error: unknown) => {
      if (error instanceof BeingMoved) return { outcome: 'moving' }
      if (error instanceof NotMoved) return { outcome: 'waits', why: error.message }
      throw error
    }),
})

const leaveAgain: (engine: Engine, it: Whereabouts) => ReturnType<CellStore['leaveAgain']> = async (
  engine,
  { organisation: orgId, cell, number, move: id },
) => {
  const move = await claimMove(engine, { orgId, cell, known: { id, number } }, (run) =>
    markLeaving(engine, run, orgId, cell),
  )
  const release = holdClaim(engine, move)
  try {
    if (move.state === 'leaving') {
      if (!(await drain(engine, orgId, { waitMs: WAIT_MS, tell: () => undefined })))
        return { outcome: 'waits', why: 'calls of its keys are open' }
      await leave(engine, move, { orgId, by: theHouse })
    }
    await finish(engine, { ...move, state: 'left' }, orgId, LONGEST_MS)
    return { outcome: 'left' }
  } finally {
    await release()
  }
}
