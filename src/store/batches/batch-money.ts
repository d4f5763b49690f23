/**
 * The money of batches. A batch has a lease of its own, like a job. What its waiting lines may cost is one hold on it,
 * under the name of the batch. A line that is sent takes its part of that hold as the hold of its own call; when it ends
 * it is charged, and what it did not cost goes back to the batch. Each step is one transaction.
 */
import { present } from '../../core/json-body.ts'
import type { Nano } from '../../core/money.ts'
import { dayOf } from '../../core/time.ts'
import { batchInstance, type InstanceId, type LoanRefused } from '../../ledger/types.ts'
import { SUB_TAG, tagPathOf } from '../../tenancy/tags.ts'
import { rulesOf } from '../accounts/wallet-rules-row.ts'
import { type Engine, type Run, runOne } from '../engine/engine.ts'
import { countOf, nanoOf, textOf } from '../engine/row.ts'
import { lockLimitsOf } from '../ledger/apply-lease.ts'
import { json } from '../ledger/call-rows.ts'
import { giveBackWithin } from '../ledger/give-back.ts'
import { leases } from '../ledger/ledger-rows.ts'
import { lendOne } from '../ledger/lend.ts'
import { closeLease } from '../payments/payment-row.ts'
import type { BatchStore, SentLine, TakenLines } from './batch-port.ts'
import { lineAt, lockBatch, type MoneyRow } from './batch-row.ts'
import { sentLine } from './part-store.ts'

/** How long the lease outlives the time of the batch, so that calls that were sent can end. */
const AFTER_MS = 60 * 60_000

/** The budget for the month of the team whose lines these are, as of a call under it. */
const tagsOf = async (run: Run, { sub, keyId, walletId }: MoneyRow): Promise<string | undefined> => {
  const [row] = await run(
    `select coalesce($2, k.sub_id) as sub, r.rules from wallet_rules r join api_key k on k.id = $3
     where r.wallet_id = $1 and coalesce($2, k.sub_id) is not null`,
    [walletId, sub ?? null, keyId],
  )
  if (row === undefined) return undefined
  return tagPathOf({ [SUB_TAG]: textOf(row, 'sub') }, rulesOf(textOf(row, 'rules')).budgeted ?? [])
}

/** What a batch asks of its limits: all of the rest, but at least this much. */
const borrow = async (engine: Engine, run: Run, batch: MoneyRow, it: { need: Nano; want: Nano }) =>
  lendOne(run, engine.dialect, {
    instance: batchInstance(batch.id),
    keyId: batch.keyId,
    ...(batch.sub === undefined ? {} : { sub: batch.sub }),
    ...(batch.payer === batch.walletId ? {} : { payer: batch.payer }),
    ...present({ tags: await tagsOf(run, batch) }),
    leaseId: batch.lease ?? batchInstance(batch.id),
    ...it,
    // A batch never uses up a cap for good: live calls may still fit.
    useful: 0n,
    ttlMs: batch.expiresAt - batch.now + AFTER_MS,
  })

/** Holds this much for the lines that wait. */
const reserve = async ({ dialect }: Engine, run: Run, id: string, leaseId: string, hold: Nano) => {
  await run(
    `insert into inflight (call_id, lease_id, hold, started_at) values ($1, $2, cast($3 as bigint), ${dialect.now})
     on conflict (call_id) do update set lease_id = excluded.lease_id, hold = excluded.hold`,
    [id, leaseId, hold],
  )
  await run('update batch set lease_id = $2 where id = $1', [id, leaseId])
}

/** See BatchStore.begin. */
export const beginBatch = (engine: Engine, id: string, owner: InstanceId): ReturnType<BatchStore['begin']> =>
  engine.transaction('control', async (run) => {
    const batch = await lockBatch(engine, run, id)
    // The same request again, after an answer that was lost; or the batch is no longer the owner's.
    if (batch === undefined || batch.owner !== owner || batch.state !== 'validating')
      return { outcome: 'begun' }
    const first = `select bound from batch_line where batch_id = $1 order by n limit 1`
    const [line] = batch.onCap === 'refuse' ? [] : await run(first, [id])
    const need = line === undefined ? batch.rest : nanoOf(line, 'bound')
    const loan = await borrow(engine, run, batch, { need, want: batch.rest })
    if (loan.outcome !== 'lent') return loan
    await reserve(engine, run, id, loan.leaseId, loan.grown)
    await run(`update batch set state = 'in_progress' where id = $1`, [id])
    await run(`update asset set expires_at = $2 where id = $1 and expires_at between 1 and $2`, [
      batch.input,
      batch.expiresAt + AFTER_MS,
    ])
    return { outcome: 'begun' }
  })

/** The lease of the waiting lines, what it holds for them, and whether it counts under the limits that they have now. */
const heldFor = async (run: Run, batch: MoneyRow) => {
  const [row] = await run(
    `select l.*, f.hold from lease l join inflight f on f.lease_id = l.id and f.call_id = $2 where l.id = $1`,
    [batch.lease ?? '', batch.id],
  )
  if (row === undefined) return undefined
  const lease = leases.read(row)
  // A team got a month, or lost it.
  const counts = (lease.tags === undefined) === ((await tagsOf(run, batch)) === undefined)
  return { lease, hold: nanoOf(row, 'hold'), stays: lease.state === 'open' && counts }
}

/** As many lines in their order as fit; the first always has room for its bytes. */
const fitting = (lines: readonly SentLine[], room: Nano, bytesMost = Infinity): readonly SentLine[] => {
  let left = room
  let bytesLeft = bytesMost
  let count = 0
  for (const { bound, bytes } of lines) {
    if (bound > left || (count > 0 && bytes > bytesLeft)) break
    left -= bound
    bytesLeft -= bytes
    count++
  }
  return lines.slice(0, count)
}

/**
 * Borrows for the next line, and more if there is more. A lease that was fenced, that is of another day or that counts under
 * other budgets is left: what is sent from now on counts in the limits of now.
 */
const borrowMore = async (
  engine: Engine,
  run: Run,
  batch: MoneyRow,
  bound: Nano,
): Promise<LoanRefused | Nano> => {
  const before = await heldFor(run, batch)
  const stays = before?.stays === true && before.lease.day === dayOf(batch.now)
  if (before !== undefined && !stays) {
    await run('delete from inflight where call_id = $1', [batch.id])
    await giveBackWithin(run, engine.dialect, [{ lease: before.lease.id, back: before.hold }])
  }
  const has = stays ? before.hold : 0n
  const loan = await borrow(engine, run, batch, { need: bound - has, want: batch.rest - has })
  if (loan.outcome !== 'lent') return loan
  await reserve(engine, run, batch.id, loan.leaseId, has + loan.grown)
  return has + loan.grown
}

type Taking = Parameters<BatchStore['take']>[1]

/** See BatchStore.take. */
export const takeLines = (engine: Engine, id: string, it: Taking): Promise<TakenLines | undefined> =>
  engine.transaction('control', (run) => takeWithin(engine, run, id, { ...it, borrows: true }))

/** Takes the next lines; only if the batch holds their money already, unless it borrows. */
export const takeWithin = async (
  engine: Engine,
  run: Run,
  id: string,
  { owner, callIds, route, part, borrows }: Taking & { readonly borrows: boolean },
): Promise<TakenLines | undefined> => {
  const { now } = engine.dialect
  const batch = await lockBatch(engine, run, id)
  if (batch === undefined || batch.owner !== owner || batch.state !== 'in_progress' || batch.leaves)
    return undefined
  const rows = await run(
    `select * from batch_line where batch_id = $1 and state = 'waiting' and route = $3 and pause <= ${now} order by n limit $2`,
    [id, callIds.length, route],
  )
  const next = rows.map((row, at) => sentLine(row, callIds[at] ?? '', countOf(row, 'tries') + 1))
  const { waiting, sent } = batch
  const none = { lines: [], waiting, sent }
  const [first] = next
  if (first === undefined) return none
  const known = await heldFor(run, batch)
  let room = known?.stays === true ? known.hold : -1n
  if (room < first.bound) {
    if (!borrows) return none
    const lent = await borrowMore(engine, run, batch, first.bound)
    // Its key is refused all loans since it is about to leave, which was not so a moment ago.
    if (typeof lent !== 'bigint' && (await lockBatch(engine, run, id))?.leaves !== false) return undefined
    if (typeof lent !== 'bigint')
      return { ...none, refused: { ...lent, held: lent.held - (known?.hold ?? 0n) } }
    room = lent
  }
  const [locked] = await run(
    `select l.month from lease l join batch b on b.lease_id = l.id where b.id = $1 and l.state = 'open'${engine.dialect.lock('l')}`,
    [id],
  )
  // It was fenced in this very moment.
  if (locked === undefined) return none
  const month = textOf(locked, 'month')
  const lines = fitting(next, room, part?.bytesMost).map((line) => ({ ...line, month }))
  if (part !== undefined)
    await run(
      `insert into batch_part (id, batch_id, route, deployment, created_at) values ($1, $2, $3, $4, ${now})`,
      [part.id, id, route, part.deployment],
    )
  await open(engine, run, { id, part: part?.id }, lines)
  return { lines, waiting: waiting - lines.length, sent: sent + lines.length }
}

/** Opens the calls of lines, each with its part of what the batch holds. */
const open = async (
  { dialect: { each, now } }: Engine,
  run: Run,
  { id, part }: { readonly id: string; readonly part: string | undefined },
  lines: readonly SentLine[],
) => {
  const sum = lines.reduce((total, { bound }) => total + bound, 0n)
  const list = json(
    lines.map(({ n, callId, bound, tries }) => ({ b: id, n, c: callId, h: bound.toString(), t: tries })),
  )
  await run(`update inflight set hold = hold - cast($2 as bigint) where call_id = $1`, [id, sum])
  await run(
    `insert into inflight (call_id, lease_id, hold, started_at)
     select e.value->>'c', b.lease_id, cast(e.value->>'h' as bigint), ${now} from ${each('$1')} e join batch b on b.id = $2`,
    [list, id],
  )
  await run(
    `update batch_line set state = 'sent', call_id = e.value->>'c', tries = cast(e.value->>'t' as bigint), part = $2
     from ${each('$1')} e where ${lineAt}`,
    [list, part ?? null],
  )
  await run(
    `update batch set waiting = waiting - cast($2 as bigint), sent = sent + cast($2 as bigint), rest = rest - cast($3 as bigint)
     where id = $1`,
    [id, lines.length, sum],
  )
}

/** See BatchStore.release. */
export const releaseBatch = (engine: Engine, id: string, owner: string): Promise<boolean> =>
  engine.transaction('control', async (run) => {
    const batch = await lockBatch(engine, run, id)
    if (batch === undefined || batch.owner !== owner) return false
    if (batch.state === 'finalizing') return true
    if (batch.state !== 'in_progress' || batch.waiting + batch.sent > 0) return false
    const own = await run(
      `select l.* from lease l where l.key_id = $2 and l.instance = $1 and l.state <> 'closed' order by l.id${engine.dialect.lock('l')}`,
      [batchInstance(id), batch.keyId],
    )
    await run('delete from inflight where call_id = $1', [id])
    for (const it of lockLimitsOf(
      engine.dialect,
      own.map((row) => textOf(row, 'id')),
    ))
      await runOne(run, it)
    for (const row of own) await closeLease(engine, run, leases.read(row))
    await run(`update batch set state = 'finalizing' where id = $1`, [id])
    return true
  })
