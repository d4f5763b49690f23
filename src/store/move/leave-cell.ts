/** An organisation leaves the ledger that it is in: its keys wait, its calls end, its money goes, and at last its work. */

import { JOB, PAYMENTS_ORG } from '../../ledger/types.ts'
import { LEAVING } from '../../tenancy/key.ts'
import { instanceStore } from '../calls/instance-store.ts'
import { clockOf } from '../engine/clock.ts'
import { type Engine, once, type Run, type SqlDialect, statement } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { fenceAll } from '../ledger/fence.ts'
import { leases } from '../ledger/ledger-rows.ts'
import { reapingOn } from '../ledger/reap.ts'
import { isSilent } from '../ledger/silence.ts'
import type { Actor } from '../people/event-port.ts'
import { recordIn } from '../people/event-store.ts'
import { type Balances, type Claimed, step } from './cell-moves.ts'
import { deleteWhole } from './copy-rows.ts'
import { goesAlong, holdAgain, OPEN_BATCHES, takeAlong } from './held-along.ts'
import { NotMoved } from './not-moved.ts'
import { BETWEEN_CELLS } from './whose-rows.ts'

/** What processes know of keys they learn again by their version. Keys are locked in order, as by everyone who lends. */
const markAll = async (
  run: Run,
  { now, lock }: SqlDialect,
  orgId: string,
  cell: string | null,
): Promise<void> => {
  await run(`select k.id from api_key k where k.org_id = $1 order by k.id${lock('k')}`, [orgId])
  await run(`update api_key set cell = $2, version = version + 1, changed_at = ${now} where org_id = $1`, [
    orgId,
    cell,
  ])
  await run('update account set cell = $2 where org_id = $1 and bounded = 1', [orgId, cell])
}

/** Leases of the organisation's keys that are to end here. */
const OF_ORG = `l.state <> 'closed' and not (${goesAlong}) and l.key_id in (select k.id from api_key k where k.org_id = $1)`

/** Fences leases of processes, some at a time. */
const fence = async (run: Run, dialect: SqlDialect, orgId: string, more = ''): Promise<void> => {
  const rows = await run(
    `select l.* from lease l where ${OF_ORG} and l.state = 'open' and l.instance not like '${JOB}%'${more}
     order by l.id${dialect.lock('l')}`,
    [orgId],
  )
  const found = rows.map(leases.read)
  for (let at = 0; at < found.length; at += 1_000) await fenceAll(run, dialect, found.slice(at, at + 1_000))
}

/** Marks it as leaving: no process admits calls of its keys any more, whatever it believes. Throws NotMoved if it is not here. */
export const markLeaving = async (engine: Engine, run: Run, orgId: string, cell: string): Promise<void> => {
  const { dialect } = engine
  if (orgId === PAYMENTS_ORG) throw new NotMoved('payments without a key stay in the cell that took them')
  const text = 'select a.id, a.cell from account a where a.org_id = $1 and a.bounded = 1'
  const accounts = await run(text, [orgId])
  if (accounts.length === 0) throw new NotMoved(`there is no organisation ${orgId} here`)
  const away = accounts.find((row) => row.cell !== null)
  if (away !== undefined) throw new NotMoved(`it is in the cell ${textOf(away, 'cell')}`)
  await markAll(run, dialect, orgId, `${LEAVING}${cell}`)
  await fence(run, dialect, orgId)
}

/** What is still open, batches that a process still works on, and responses in the background whose end it has yet to write. */
type Open = {
  readonly leases: number
  readonly calls: number
  readonly jobs: number
  readonly batches: number
  readonly responses: number
}

const openOf = async (engine: Engine, orgId: string): Promise<Open> => {
  const { now } = engine.dialect
  const text = `select cast(count(*) as bigint) as leases,
      coalesce(cast(sum(case when l.instance like '${JOB}%' then 1 else 0 end) as bigint), 0) as jobs,
      coalesce(cast(sum(case when l.instance like '${JOB}%' then 0 else (select count(*) from inflight f where f.lease_id = l.id) end) as bigint), 0) as calls,
      (select cast(count(*) as bigint) from batch b where ${OPEN_BATCHES} and b.owner_until >= ${now}) as batches,
      (select cast(count(*) as bigint) from kept_response r where r.state = 'open' and not (${isSilent(now, 'r.owner')})
        and r.key_id in (select k.id from api_key k where k.org_id = $1)) as responses
    from lease l where ${OF_ORG}`
  const row = onlyRow(await once(engine, 'control', text, orgId))
  const count = (name: keyof Open) => countOf(row, name)
  return {
    ...{ leases: count('leases'), calls: count('calls'), jobs: count('jobs') },
    ...{ batches: count('batches'), responses: count('responses') },
  }
}

/** How many jobs are named. */
const NAMED_MOST = 3
const seconds = (ms: number): string => `${Math.round(Math.max(ms, 0) / 1000)} s`

/** What is waited for: how long the oldest call has taken, and which jobs may take how long. */
const waitedFor = async (engine: Engine, orgId: string, open: Open): Promise<string> => {
  const { now } = engine.dialect
  const { calls, jobs, batches, responses } = open
  const oldest = `select ${now} - min(f.started_at) as ms from lease l join inflight f on f.lease_id = l.id
    where ${OF_ORG} and l.instance not like '${JOB}%'`
  const longest = `select r.id, r.model, ${now} - r.created_at as ms, r.deadline - ${now} as rest_ms from run r
    where r.ended_at is null and r.key_id in (select k.id from api_key k where k.org_id = $1)
    order by r.deadline desc, r.id limit ${NAMED_MOST}`
  const [call] = calls === 0 ? [] : await once(engine, 'control', oldest, orgId)
  const since =
    call === undefined || call.ms === null ? '' : `, the oldest since ${seconds(countOf(call, 'ms'))}`
  const named = (jobs === 0 ? [] : await once(engine, 'control', longest, orgId)).map(
    (row) =>
      `${textOf(row, 'id')} of ${textOf(row, 'model')}, since ${seconds(countOf(row, 'ms'))} and for at most ${seconds(countOf(row, 'rest_ms'))} more`,
  )
  const list = named.length === 0 ? '' : `: ${named.join('; ')}${jobs > named.length ? '; …' : ''}`
  const lines = batches === 0 ? '' : `, and for lines of ${batches} batches that are being run`
  const ends = responses === 0 ? '' : `, and for the ends of ${responses} responses in the background`
  return `waits for ${calls} open calls${since}, and ${jobs} jobs${list}${lines}${ends}`
}

const LOOK_MS = 50
const TELL_MS = 2_000
/** As servers recover what processes left behind. */
const REAP = { graceMs: 2_000, longestCallMs: 60 * 60_000 }

/**
 * Whether all transactions of this database have ended that may have begun before it was marked, but for those that only read.
 * SQLite has one at a time.
 */
const sinceMark = async (engine: Engine): Promise<() => Promise<boolean>> => {
  if (engine.name === 'sqlite') return async () => true
  const [mark] = await engine.batch('control', [statement('select cast(clock_timestamp() as text) as at')])
  const before = statement(
    `select case when exists (select 1 from pg_stat_activity s where s.datname = current_database()
       and s.pid <> pg_backend_pid() and s.xact_start <= cast(cast($1 as text) as timestamptz)
       and (s.backend_xid is not null or s.xact_start > clock_timestamp() - interval '10 seconds')) then 1 else 0 end as open`,
    textOf(onlyRow(mark ?? []), 'at'),
  )
  return async () => countOf(onlyRow(await once(engine, 'control', before)), 'open') === 0
}

/** A process that was silent for longer admits nothing until it has read what changed. */
const FRESH_MS = 2_000
const KNOWN_MS = 20

/** Waits until the processes of a ledger know what changed before: what is passed on to them is not passed back. */
export const untilKnown = async (engine: Engine): Promise<void> => {
  const at = await clockOf(engine)
  while ((await instanceStore(engine).unaware(at, FRESH_MS)).length > 0) await Bun.sleep(KNOWN_MS)
}

/**
 * Waits until its calls, its jobs and the lines that are being run have ended. False when they have not, after `waitMs`. Then it
 * waits for a heartbeat: by what a process knows it writes what needs no lease, and right after a charge what is kept of the answer.
 */
export const drain = async (
  engine: Engine,
  orgId: string,
  { waitMs, tell }: { readonly waitMs: number; readonly tell: (text: string) => void },
): Promise<boolean> => {
  const settled = await sinceMark(engine)
  const reap = reapingOn(engine, [])
  const beganMs = performance.now()
  for (let toldMs = beganMs; ; await Bun.sleep(LOOK_MS)) {
    // A call that goes on may have borrowed more meanwhile.
    const idle = ' and not exists (select 1 from inflight f where f.lease_id = l.id)'
    await engine.transaction('control', (run) => fence(run, engine.dialect, orgId, idle))
    const open = await openOf(engine, orgId)
    if (open.leases === 0 && open.batches === 0 && (await settled()) && open.responses === 0) {
      await untilKnown(engine)
      return true
    }
    const over = performance.now() - beganMs >= waitMs
    if (over || performance.now() - toldMs >= TELL_MS) {
      toldMs = performance.now()
      tell(await waitedFor(engine, orgId, open))
    }
    if (over) return false
    await reap(REAP)
  }
}

/** It stays: its keys work again. */
export const stay = (engine: Engine, move: Claimed, orgId: string): Promise<void> =>
  step(engine, move, 'leaving', 'stayed', async (run) => ({
    done: await markAll(run, engine.dialect, orgId, null),
  }))

/** The account, of the house, between this cell and another. */
export const makeBetween = async (run: Run, { now }: SqlDialect, cell: string): Promise<string> => {
  const id = `${BETWEEN_CELLS}${cell}`
  await run(
    `insert into account (id, bounded, org_id, name, created_at) values ($1, 0, 'house', $1, ${now}) on conflict (id) do nothing`,
    [id],
  )
  return id
}

/** Its balances leave the books, each by a posting whose counterpart the other cell makes; what its batches hold goes with them. */
export const leave = (
  engine: Engine,
  move: Claimed,
  { orgId, by }: { readonly orgId: string; readonly by: Actor },
): Promise<Balances> =>
  step(engine, move, 'leaving', 'left', async (run) => {
    const { dialect } = engine
    const between = await makeBetween(run, dialect, move.cell)
    await takeAlong(engine, run, orgId)
    const accounts = await run(
      `select a.id, a.balance, a.held from account a where a.org_id = $1 and a.bounded = 1 order by a.id${dialect.lock('a')}`,
      [orgId],
    )
    const [open] = await run(`select l.id from lease l where ${OF_ORG} limit 1`, [orgId])
    if (open !== undefined || accounts.some((row) => nanoOf(row, 'held') !== 0n))
      throw new NotMoved('a call began while its organisation left')
    const balances: Record<string, string> = {}
    for (const row of accounts) {
      const [id, balance] = [textOf(row, 'id'), nanoOf(row, 'balance')]
      balances[id] = String(balance)
      await postBetween(run, dialect, { move, account: id, between, amount: -balance })
    }
    const event = { actor: by, orgId, what: 'organisation.moved', subject: orgId, after: { cell: move.cell } }
    await recordIn(run, dialect, event)
    return { balances, done: balances }
  })

type Between = {
  readonly move: Pick<Claimed, 'id'>
  readonly account: string
  readonly between: string
  /** What the account gets; negative for what leaves it. */
  readonly amount: bigint
}

/** Posts what an account takes along, in either cell under the same reference. */
export const postBetween = async (
  run: Run,
  { now }: SqlDialect,
  { move, account, between, amount }: Between,
): Promise<void> => {
  if (amount === 0n) return
  const [debit, credit] = amount > 0n ? [between, account] : [account, between]
  await run(
    `insert into transfer (kind, ref, debit, credit, amount, note, at)
     values ('adjust', $1, $2, $3, $4, 'between cells', ${now})`,
    [`${BETWEEN_CELLS}${move.id}:${account}`, debit, credit, amount > 0n ? amount : -amount],
  )
  await run('update account set balance = balance + cast($2 as bigint) where id = $1', [account, amount])
}

/** It comes back, because it cannot arrive: what left the books returns by postings of their own. */
export const comeBack = (engine: Engine, move: Claimed, orgId: string): Promise<void> =>
  step(engine, move, 'left', 'stayed', async (run) => {
    const { dialect } = engine
    const between = await makeBetween(run, dialect, move.cell)
    const back = { id: `${move.id}:back` }
    for (const [account, balance] of Object.entries(move.balances))
      await postBetween(run, dialect, { move: back, account, between, amount: BigInt(balance) })
    await holdAgain(run, orgId)
    return { done: await markAll(run, dialect, orgId, null) }
  })

/** It is there: its keys say so here, and what processes would work on here goes. */
export const finish = (engine: Engine, move: Claimed, orgId: string, longestMs: number): Promise<void> =>
  step(
    engine,
    move,
    'left',
    'moved',
    async (run) => {
      await deleteWhole(run, orgId)
      return { done: await markAll(run, engine.dialect, orgId, move.cell) }
    },
    longestMs,
  )
