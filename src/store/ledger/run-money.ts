/**
 * The money of jobs. A job is a call with its own lease. One transaction lends it, together with the call's intent and
 * the job's row; another charges, answers and gives back. No process owns the lease, so none has to stay alive for it.
 */
import { present } from '../../core/json-body.ts'
import { least } from '../../core/money.ts'
import { type CallSettle, jobInstance } from '../../ledger/types.ts'
import type { NewRun, RunBegun, RunEnd, RunResult } from '../calls/run-port.ts'
import { type Engine, type Row, type Run, runOne } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { closeLease } from '../payments/payment-row.ts'
import { keepsVoucher } from '../payments/voucher-call.ts'
import { lockLimitsOf } from './apply-lease.ts'
import { insertCharges } from './charge-row.ts'
import { textsFor } from './commit-at-once.ts'
import { answerRows, detailRow, json, noteOf } from './commit-values.ts'
import { leases } from './ledger-rows.ts'
import { lendOne } from './lend.ts'

/** How long a job's lease outlives its deadline, so that its last results can be fetched. */
const AFTER_MS = 15 * 60_000

/** Thrown inside the transaction, so that all of it is rolled back. */
class TooMany extends Error {}

/** See RunStore.begin. */
export const beginRun = async (engine: Engine, it: NewRun): Promise<RunBegun> => {
  try {
    return await engine.transaction('control', (run) => beginIn(engine, run, it))
  } catch (error) {
    if (error instanceof TooMany) return { outcome: 'too_many' }
    throw error
  }
}

const beginIn = async (engine: Engine, run: Run, it: NewRun): Promise<RunBegun> => {
  const { dialect } = engine
  const [known] = await run('select owner, state from run where id = $1', [it.id])
  if (known !== undefined) {
    // The same request again, after an answer that was lost.
    const same = textOf(known, 'owner') === it.owner && textOf(known, 'state') === 'submitting'
    return { outcome: same ? 'begun' : 'exists' }
  }
  if (it.voucher !== undefined && !(await keepsVoucher(run, dialect, it.voucher, it.id)))
    return { outcome: 'spent', limit: 'payment', required: it.amount, available: 0n, held: 0n }
  const loan = await lendOne(run, dialect, {
    instance: jobInstance(it.id),
    keyId: it.keyId,
    ...present({ sub: it.sub, payer: it.payer, tags: it.tags }),
    leaseId: jobInstance(it.id),
    need: it.amount,
    want: it.amount,
    useful: it.useful,
    ttlMs: it.deadlineMs + AFTER_MS,
  })
  if (loan.outcome !== 'lent') return loan
  if (it.openMax !== undefined) {
    // The key is locked, so no other job of the key can begin meanwhile.
    const open = 'select cast(count(*) as bigint) as open from run where key_id = $1 and ended_at is null'
    if (countOf(onlyRow(await run(open, [it.keyId])), 'open') >= it.openMax) throw new TooMany()
  }
  await run(
    `insert into inflight (call_id, lease_id, hold, started_at) values ($1, $2, cast($3 as bigint), ${dialect.now})`,
    [it.id, loan.leaseId, it.amount],
  )
  await run(
    `insert into run (id, key_id, wallet_id, payer, lease_id, model, state, hold, owner, owner_until, deadline, created_at)
     values ($1, $2, $3, $4, $5, $6, 'submitting', cast($7 as bigint), $8, ${dialect.now} + cast($9 as bigint),
       ${dialect.now} + cast($10 as bigint), ${dialect.now})`,
    [
      it.id,
      it.keyId,
      it.walletId,
      it.payer ?? it.walletId,
      loan.leaseId,
      it.model,
      it.amount,
      it.owner,
      it.ownerMs,
      it.deadlineMs,
    ],
  )
  return { outcome: 'begun' }
}

/** Locks the row, and then the lease with its limits. Everyone who changes both uses this order. */
const lockRun = async ({ dialect }: Engine, run: Run, id: string) => {
  const [row] = await run(`select r.* from run r where r.id = $1${dialect.lock('r')}`, [id])
  if (row === undefined || row.ended_at !== null) return { row, open: undefined }
  const leaseId = textOf(row, 'lease_id')
  await run(`select l.id from lease l where l.id = $1${dialect.lock('l')}`, [leaseId])
  for (const it of lockLimitsOf(dialect, [leaseId])) await runOne(run, it)
  const [open] = await run('select hold from inflight where call_id = $1 and lease_id = $2', [id, leaseId])
  return { row, open: open === undefined ? undefined : nanoOf(open, 'hold') }
}

/** Takes the call off its lease, and gives back everything that was not charged. */
const giveBack = async (engine: Engine, run: Run, id: string, leaseId: string): Promise<void> => {
  await run('delete from inflight where call_id = $1 and lease_id = $2', [id, leaseId])
  const [row] = await run(`select l.* from lease l where l.id = $1 and l.state <> 'closed'`, [leaseId])
  if (row !== undefined) await closeLease(engine, run, leases.read(row))
}

/** See RunStore.forget. */
export const forgetRun = (engine: Engine, id: string): Promise<void> =>
  engine.transaction('control', async (run) => {
    const { row } = await lockRun(engine, run, id)
    if (row === undefined || textOf(row, 'state') !== 'submitting') return
    await giveBack(engine, run, id, textOf(row, 'lease_id'))
    await run('delete from run where id = $1', [id])
  })

const charge = async (engine: Engine, run: Run, settle: CallSettle): Promise<void> => {
  const { dialect } = engine
  const { callId, leaseId, charge: amount, detail } = settle
  await run(
    `${insertCharges({ call: '$1', amount: 'cast($2 as bigint)', settled: 'null', note: '$3', attempt: '$4', at: dialect.now })}
     from lease l where l.id = $4`,
    [callId, amount, noteOf(settle), leaseId],
  )
  await run('update lease set used = used + cast($2 as bigint), calls = calls + 1 where id = $1', [
    leaseId,
    amount,
  ])
  const { c, m, i, o, d } = detailRow(callId, detail)
  await run(
    `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail) values ($1, $2, $3, $4, $5)
     on conflict (call_id) do nothing`,
    [c, m, i, o, d],
  )
  const answers = answerRows([settle])
  if (answers.length > 0) await run(textsFor(dialect).answer, [json(answers)])
}

const NOT_HELD: RunResult = {
  error: { code: 'upstream_error', message: 'It did not end in time. Nothing was charged.' },
}

/** See RunStore.end. Returns the row as it is afterwards. */
export const endRun = (engine: Engine, id: string, end: RunEnd): Promise<Row | undefined> =>
  engine.transaction('control', async (run) => {
    const { now } = engine.dialect
    const { row, open } = await lockRun(engine, run, id)
    if (row === undefined || row.ended_at !== null) return row
    const { settle } = end
    const leaseId = textOf(row, 'lease_id')
    const lost = settle !== undefined && open === undefined
    if (settle !== undefined && open !== undefined)
      await charge(engine, run, {
        ...settle,
        callId: id,
        leaseId,
        payer: textOf(row, 'payer'),
        charge: least(settle.charge, open),
      })
    await giveBack(engine, run, id, leaseId)
    return onlyRow(
      await run(
        `update run set state = $2, result = $3, ended_at = ${now}, keep_until = ${now} + cast($4 as bigint),
           webhook_at = case when webhook is null then null else ${now} end where id = $1 returning *`,
        [id, lost ? 'failed' : end.state, JSON.stringify(lost ? NOT_HELD : end.result), end.keptMs],
      ),
    )
  })
