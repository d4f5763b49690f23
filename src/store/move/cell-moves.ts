/**
 * Moves of organisations between cells, as the ledger that they leave notes them: how far one came, and who carries it out. So
 * one that was killed is finished by whoever asks again, and two never carry out the same.
 */
import { integer, json, oneOf, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Run, Violation } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import { BeingMoved, NotMoved } from './not-moved.ts'

/** What an account takes along, in digits of nano-USD. */
export type Balances = Readonly<Record<string, string>>

export const moveRows = rowsOf({
  id: text('id'),
  cell: text('cell'),
  state: oneOf('state', ['leaving', 'left', 'moved', 'stayed', 'arrived']),
  balances: json('balances', (value) => value as Balances),
  /** Which move of the organisation it is, counted over all cells. */
  number: integer('number'),
})
export type CellMove = ReturnType<typeof moveRows.read>

/** A claim is renewed three times before it ends. */
const CLAIM_MS = 3_000
const RENEW_MS = 1_000
const LOOK_MS = 200
/** All keys are marked in one transaction, behind the loans of all processes. */
const CLAIMING_MS = 60_000

/** The move that is under way, for whoever carries it out. */
export type Claimed = CellMove & { readonly runner: string }

/** Whether a move has been completed as far as this ledger has its part in it. */
export const DONE = (move: string): string => `${move}.state in ('moved', 'arrived')`

const UNDER_WAY = `m.org_id = $1 and m.state in ('leaving', 'left')`

/** The move of the organisation that is under way, locked; undefined if there is none. */
const lockMove = async (engine: Engine, run: Run, orgId: string): Promise<CellMove | undefined> => {
  const [row] = await run(`select m.* from cell_move m where ${UNDER_WAY}${engine.dialect.lock('m')}`, [
    orgId,
  ])
  return row && moveRows.read(row)
}

/** Waits until nobody carries out the move. Throws NotMoved if somebody does and goes on with it. */
const untilFree = async (engine: Engine, orgId: string): Promise<void> => {
  const { now } = engine.dialect
  for (let first: number | undefined; ; await Bun.sleep(LOOK_MS)) {
    const text = `select m.runner_until, ${now} as now from cell_move m where ${UNDER_WAY}`
    const [row] = await once(engine, 'control', text, orgId)
    if (row === undefined || countOf(row, 'runner_until') <= countOf(row, 'now')) return
    first ??= countOf(row, 'runner_until')
    if (countOf(row, 'runner_until') > first) throw new BeingMoved()
  }
}

type Claiming = {
  readonly orgId: string
  readonly cell: string
  /** What the ledger has forgotten of it, if the move is done already elsewhere. */
  readonly known?: { readonly id: string; readonly number: number }
}

/**
 * Takes over the move that is under way, or begins one by `begin`, in its transaction. Throws NotMoved if somebody else carries
 * it out, or it goes to another cell.
 */
export const claimMove = async (
  engine: Engine,
  { orgId, cell, known: again }: Claiming,
  begin: (run: Run) => Promise<void>,
): Promise<Claimed> => {
  await untilFree(engine, orgId)
  const { now } = engine.dialect
  const [id, runner] = [again?.id ?? Bun.randomUUIDv7(), crypto.randomUUID()]
  const claim = async (run: Run): Promise<Claimed> => {
    const known = await lockMove(engine, run, orgId)
    if (known !== undefined && known.cell !== cell)
      throw new NotMoved(`it is on its way to the cell ${known.cell}: finish that first, or take it back`)
    if (known === undefined) {
      await begin(run)
      const last = `select coalesce(max(m.number), 0) as last from cell_move m where m.org_id = $1 and ${DONE('m')}`
      const number = again?.number ?? countOf(onlyRow(await run(last, [orgId])), 'last') + 1
      await run(
        `insert into cell_move (id, org_id, way, cell, state, number, runner, runner_until, began_at, changed_at)
         values ($1, $2, 'out', $3, 'leaving', $4, $5, ${now} + ${CLAIM_MS}, ${now}, ${now})
         on conflict (id) do update set state = 'leaving', runner = $5, runner_until = ${now} + ${CLAIM_MS}`,
        [id, orgId, cell, number, runner],
      )
      return { id, cell, state: 'leaving', balances: {}, number, runner }
    }
    const taken = await run(
      `update cell_move set runner = $2, runner_until = ${now} + ${CLAIM_MS} where id = $1 and runner_until <= ${now} returning id`,
      [known.id, runner],
    )
    if (taken.length === 0) throw new BeingMoved()
    return { ...known, runner }
  }
  try {
    return await engine.transaction('control', claim, CLAIMING_MS)
  } catch (error) {
    if (error instanceof Violation && error.constraint.includes('cell_move'))
      throw new BeingMoved({ cause: error })
    throw error
  }
}

/** Renews the claim until it is released. */
export const holdClaim = (engine: Engine, { id, runner }: Claimed): (() => Promise<void>) => {
  const until = async (ms: number): Promise<void> => {
    const text = `update cell_move set runner_until = ${engine.dialect.now} + ${ms} where id = $1 and runner = $2`
    // It ends by itself, and each step looks whether it is still held.
    await once(engine, 'control', text, id, runner).catch(() => undefined)
  }
  const renewing = setInterval(() => void until(CLAIM_MS), RENEW_MS)
  return () => {
    clearInterval(renewing)
    return until(0)
  }
}

/** A step of the move, in one transaction: only for who carries it out, and only from the state that it is in. */
export const step = <T>(
  engine: Engine,
  move: Claimed,
  from: CellMove['state'],
  to: CellMove['state'],
  work: (run: Run) => Promise<{ readonly balances?: Balances; readonly done: T }>,
  longestMs?: number,
): Promise<T> =>
  engine.transaction(
    'control',
    async (run) => {
      const { now, lock } = engine.dialect
      const row = onlyRow(
        await run(`select m.*, m.runner as by from cell_move m where m.id = $1${lock('m')}`, [move.id]),
      )
      if (row.by !== move.runner || moveRows.read(row).state !== from) throw new BeingMoved()
      const { balances, done } = await work(run)
      await run(
        `update cell_move set state = $2, balances = coalesce($3, balances), changed_at = ${now} where id = $1`,
        [move.id, to, balances === undefined ? null : JSON.stringify(balances)],
      )
      return done
    },
    longestMs,
  )

/** Notes in the ledger where it arrives that it did. */
export const noteArrival = (
  engine: Engine,
  run: Run,
  { id, balances, number }: CellMove,
  { orgId, from }: { readonly orgId: string; readonly from: string },
): Promise<unknown> =>
  run(
    `insert into cell_move (id, org_id, way, cell, state, balances, number, began_at, changed_at)
     values ($1, $2, 'in', $3, 'arrived', $4, $5, ${engine.dialect.now}, ${engine.dialect.now})`,
    [id, orgId, from, JSON.stringify(balances), number],
  )

/** Whether it arrived here. */
export const hasArrived = async (run: Run, { id }: CellMove): Promise<boolean> =>
  (await run(`select 1 as one from cell_move where id = $1 and state = 'arrived'`, [id])).length > 0
