/**
 * Moves an organisation from one ledger to another while both are served. Each step is one transaction of one of them and is
 * noted there, so whoever is killed in between leaves a move that the next command finishes:
 *
 *   here → leaving (calls wait) → left (its money is between the books) → arrived there → moved
 */

import { type Engine, once, Violation } from '../engine/engine.ts'
import { migrate } from '../engine/migrate.ts'
import { openEngine } from '../engine/open-engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { readSettingIn } from '../engine/setting.ts'
import type { Actor } from '../people/event-port.ts'
import { arrive } from './arrive-in-cell.ts'
import { type Claimed, claimMove, hasArrived, holdClaim } from './cell-moves.ts'
import { comeBack, drain, finish, leave, markLeaving, stay, untilKnown } from './leave-cell.ts'
import { BeingMoved, NotMoved } from './not-moved.ts'

/** A ledger, and the name of its cell. */
type CellLedger = { readonly url: string; readonly cell: string }

export type MoveOrganisation = {
  readonly orgId: string
  readonly from: CellLedger
  readonly to: CellLedger
  readonly by: Actor
  /** How long its open calls and jobs may take to end. */
  readonly waitMs: number
  readonly tell: (text: string) => void
  /** Called before each step; a test ends the command there. */
  readonly before?: (step: 'leave' | 'arrive' | 'finish') => void | Promise<void>
}

export type OrganisationMoved = {
  readonly id: string
  /** How many rows of each table it has. */
  readonly rows: Readonly<Record<string, number>>
  /** By account, in nano-USD. */
  readonly balances: Readonly<Record<string, string>>
  /** For how long no call of its keys was answered here. */
  readonly awayMs: number
}

const LONGEST_MS = 6 * 3_600_000

/** Opens both ledgers while the work lasts. */
const withBoth = async <T>(
  { from, to }: Pick<MoveOrganisation, 'from' | 'to'>,
  work: (source: Engine, target: Engine) => Promise<T>,
): Promise<T> => {
  const source = openEngine({ url: from.url })
  const target = openEngine({ url: to.url, longestMs: LONGEST_MS })
  try {
    await migrate(source)
    await migrate(target)
    return await work(source, target)
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

/** Which secret the servers of a ledger have. */
const SERVED_UNDER = 'secret of the servers'

/** Throws NotMoved where its keys would be unknown in the other cell, or something there has its id. */
const mustFit = async (
  source: Engine,
  target: Engine,
  { from, to, orgId }: MoveOrganisation,
): Promise<void> => {
  if (from.cell === to.cell) throw new NotMoved(`it is in the cell ${to.cell}: both cells have this name`)
  const [ours, theirs] = await Promise.all(
    [source, target].map((engine) => readSettingIn(engine, SERVED_UNDER)),
  )
  if (ours !== theirs)
    throw new NotMoved(
      theirs === undefined
        ? `no server has run in the cell ${to.cell} yet: start one, with the same TURNPIKE_SECRET`
        : 'the servers of the two cells have different TURNPIKE_SECRETs: its keys would be unknown there',
    )
  const text = 'select id from account where org_id = $1 and bounded = 1 and cell is null limit 1'
  const [there] = await once(target, 'control', text, orgId)
  const [here] = await once(source, 'control', text, orgId)
  if (there !== undefined && here !== undefined)
    throw new NotMoved(
      `there is an organisation ${orgId} in the cell ${to.cell} too, with the account ${textOf(there, 'id')}`,
    )
}

/** The database's time, for what is told. */
const beganAt = async (engine: Engine, { id }: Claimed): Promise<number> =>
  countOf(
    onlyRow(
      await once(
        engine,
        'control',
        `select ${engine.dialect.now} - began_at as ms from cell_move where id = $1`,
        id,
      ),
    ),
    'ms',
  )

/** It leaves, once: later it has left. */
const departing = (source: Engine, it: MoveOrganisation) => {
  const { orgId, from, to, by, waitMs, tell, before } = it
  let move: Claimed | undefined
  let release = async (): Promise<void> => undefined
  const staying = async (it: Claimed): Promise<void> => {
    await stay(source, it, orgId)
    move = { ...it, state: 'stayed' }
  }
  const leaving = async (): Promise<Claimed> => {
    if (move === undefined) {
      move = await claimMove(source, { orgId, cell: to.cell }, (run) =>
        markLeaving(source, run, orgId, to.cell),
      )
      release = holdClaim(source, move)
    }
    if (move.state === 'leaving') {
      tell(`its calls wait from now on: it leaves ${from.cell} for ${to.cell}`)
      if (!(await drain(source, orgId, { waitMs, tell }))) {
        await staying(move)
        throw new NotMoved(
          `its open calls did not end within ${waitMs / 1000} s: it stays, and its keys work again`,
        )
      }
      await before?.('leave')
      move = { ...move, state: 'left', balances: await leave(source, move, { orgId, by }) }
      tell('its balance has left the books')
    }
    await before?.('arrive')
    return move
  }
  /** After what it cannot leave or arrive with: nothing of it is there. */
  const takeBack = async (target: Engine, error: Error): Promise<void> => {
    if (error instanceof BeingMoved) return
    if (move?.state === 'leaving') return staying(move)
    const left = move?.state === 'left' ? move : undefined
    if (left === undefined || (await target.transaction('control', (run) => hasArrived(run, left)))) return
    await comeBack(source, left, orgId)
    tell('its balance is back, and its keys work again')
  }
  return { leaving, takeBack, release: () => release() }
}

/** Whether trying again cannot help: the other ledger refuses what is to be there. */
const isFinal = (error: unknown): error is Error => error instanceof NotMoved || error instanceof Violation

/** Moves it, or goes on with a move that was not finished. Throws NotMoved where it stays, and why. */
export const moveOrganisation = (it: MoveOrganisation): Promise<OrganisationMoved> =>
  withBoth(it, async (source, target) => {
    const { orgId, from, to, tell, before } = it
    await mustFit(source, target, it)
    const { leaving, takeBack, release } = departing(source, it)
    try {
      const rows = await arrive({ source, target, leaving, orgId, from, longestMs: LONGEST_MS })
      tell(`it has arrived in ${to.cell}`)
      await untilKnown(target)
      await before?.('finish')
      const move = await leaving()
      await finish(source, move, orgId, LONGEST_MS)
      return { id: move.id, rows, balances: move.balances, awayMs: await beganAt(source, move) }
    } catch (error) {
      if (!isFinal(error)) throw error
      await takeBack(target, error)
      throw error instanceof NotMoved ? error : new NotMoved(error.message, { cause: error })
    } finally {
      await release()
    }
  })

/** Takes back a move whose money has not left yet: its keys work again. */
export const stayHere = async (from: CellLedger, orgId: string, cell: string): Promise<void> => {
  const source = openEngine({ url: from.url })
  try {
    await migrate(source)
    const move = await claimMove(source, { orgId, cell }, async () => {
      throw new NotMoved('it is not being moved')
    })
    const release = holdClaim(source, move)
    try {
      if (move.state !== 'leaving')
        throw new NotMoved(`its balance has left already: finish the move to ${cell}, then move it back`)
      await stay(source, move, orgId)
    } finally {
      await release()
    }
  } finally {
    await source.close()
  }
}
