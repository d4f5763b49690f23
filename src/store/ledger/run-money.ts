/**
 * The money of jobs. A job is a call with its own lease. One transaction lends it, together with the call's intent and
 * the job's row; another charges, answers and gives back. No process owns the lease, so none has to stay alive for it.
 */
import { present } from '../../core/json-body.ts'
import { least, type Nano } from '../../core/money.ts'
import { estimateAccountOf, estimateOf, isEstimateAccount } from '../../ledger/estimates.ts'
import {
  type CallId,
  type CallSettle,
  jobInstance,
  type LeaseId,
  type Loan,
  type LoanRefused,
} from '../../ledger/types.ts'
import type { NewRun, RunBegun, RunEnd, RunResult } from '../calls/run-port.ts'
import { inShort } from '../calls/short-form.ts'
import { type Engine, type Row, type Run, runOne } from '../engine/engine.ts'
import { countOf, maybeNano, onlyRow, textOf } from '../engine/row.ts'
import { closeLease } from '../payments/payment-row.ts'
import { keepsVoucher } from '../payments/voucher-call.ts'
import { lockLimitsOf } from './apply-lease.ts'
import { answerRows, detailRow, json, noteOf } from './call-rows.ts'
import { insertCharges } from './charge-row.ts'
import { textsFor } from './commit-at-once.ts'
import { leases } from './ledger-rows.ts'
import { lendNow } from './lend.ts'

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
  const [known] = await run('select owner, state, owner_until - created_at as kept from run where id = $1', [
    it.id,
  ])
  if (known !== undefined) {
    // The same request again, after an answer that was lost. Who took it up after its first term must not submit it: the first may have.
    const mine = textOf(known, 'owner') === it.owner && countOf(known, 'kept') < 2 * it.ownerMs
    return { outcome: mine && textOf(known, 'state') === 'submitting' ? 'begun' : 'exists' }
  }
  if (it.voucher !== undefined && !(await keepsVoucher(run, dialect, it.voucher, it.id)))
    return { outcome: 'spent', limit: 'payment', required: it.amount, available: 0n, held: 0n }
  const loans = await lendFor(engine, run, it)
  if ('outcome' in loans) return loans
  if (it.openMax !== undefined) {
    // The key is locked, so no other job of the key can begin meanwhile.
    const open = 'select cast(count(*) as bigint) as open from run where key_id = $1 and ended_at is null'
    if (countOf(onlyRow(await run(open, [it.keyId])), 'open') >= it.openMax) throw new TooMany()
  }
  for (const [callId, { leaseId, grown }] of loans)
    await run(
      `insert into inflight (call_id, lease_id, hold, started_at) values ($1, $2, cast($3 as bigint), ${dialect.now})`,
      [callId, leaseId, grown],
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
      loans.get(it.id)?.leaseId ?? null,
      it.model,
      it.amount,
      it.owner,
      it.ownerMs,
      it.deadlineMs,
    ],
  )
  return { outcome: 'begun' }
}

/** The name of what the vendor bills for a job by an own key. */
const estimateOfJob = (id: CallId): CallId => estimateOf(id, 'job')

/** What a job is charged, and what its vendor bills for an own key: lent together or not at all, each on a lease of its own. */
const lendFor = async (
  engine: Engine,
  run: Run,
  it: NewRun,
): Promise<ReadonlyMap<CallId, Loan> | Extract<RunBegun, LoanRefused>> => {
  const { id, keyId, sub, tags, payer, list } = it
  const asked = [
    { callId: id, leaseId: jobInstance(id), payer, amount: it.amount, useful: it.useful },
    ...(list === undefined
      ? []
      : [
          {
            callId: estimateOfJob(id),
            leaseId: estimateOfJob(id),
            payer: estimateAccountOf(it.walletId),
            ...list,
          },
        ]),
  ]
  const requests = asked.map(({ leaseId, payer, amount, useful }) => ({
    ...{ instance: jobInstance(id), keyId, leaseId, ...present({ sub, payer, tags }) },
    ...{ need: amount, want: amount, useful, ttlMs: it.deadlineMs + AFTER_MS },
  }))
  const loans = new Map<CallId, Loan>()
  let refused: Extract<RunBegun, LoanRefused> | undefined
  for (const [at, loan] of (await lendNow(run, engine.dialect, requests)).entries()) {
    const callId = asked[at]?.callId ?? ''
    if (loan.outcome === 'lent') loans.set(callId, loan)
    else refused ??= callId === id ? loan : { ...loan, estimated: true }
  }
  if (refused === undefined) return loans
  for (const [callId, { leaseId }] of loans) await giveBack(engine, run, { callId, leaseId })
  return refused
}

/** What a job holds under one name. */
type Part = { readonly callId: CallId; readonly leaseId: LeaseId; readonly hold: Nano | undefined }

/** Locks the row, and then the leases with their limits. Everyone who changes both uses this order. */
const lockRun = async ({ dialect }: Engine, run: Run, id: CallId) => {
  const [row] = await run(`select r.* from run r where r.id = $1${dialect.lock('r')}`, [id])
  if (row === undefined || row.ended_at !== null) return { row, parts: [] }
  // By the job, not by ids of leases: one that was lent again after it was forgotten has others.
  const names = `l.instance = $1 and l.key_id = $2 and l.state <> 'closed'`
  const locked = await run(`select l.* from lease l where ${names} order by l.id${dialect.lock('l')}`, [
    jobInstance(id),
    textOf(row, 'key_id'),
  ])
  const found = locked.map(leases.read)
  const ofLimits = lockLimitsOf(
    dialect,
    found.map((lease) => lease.id),
  )
  for (const it of ofLimits) await runOne(run, it)
  const parts: Part[] = []
  for (const { id: leaseId, payer } of found) {
    const callId = isEstimateAccount(payer) ? estimateOfJob(id) : id
    const [open] = await run('select hold from inflight where call_id = $1 and lease_id = $2', [
      callId,
      leaseId,
    ])
    parts.push({ callId, leaseId, hold: maybeNano(open ?? {}, 'hold') })
  }
  return { row, parts }
}

/** Takes a call off its lease, and gives back everything that was not charged. */
const giveBack = async (engine: Engine, run: Run, { callId, leaseId }: Omit<Part, 'hold'>): Promise<void> => {
  await run('delete from inflight where call_id = $1 and lease_id = $2', [callId, leaseId])
  const [row] = await run(`select l.* from lease l where l.id = $1 and l.state <> 'closed'`, [leaseId])
  if (row !== undefined) await closeLease(engine, run, leases.read(row))
}

/** See RunStore.forget. */
export const forgetRun = (engine: Engine, id: string): Promise<void> =>
  engine.transaction('control', async (run) => {
    const { row, parts } = await lockRun(engine, run, id)
    if (row === undefined || textOf(row, 'state') !== 'submitting') return
    for (const part of parts) await giveBack(engine, run, part)
    await run('delete from run where id = $1', [id])
  })

/** Posts an amount to the lease of a part; an estimate counts as no call. */
const post = async (
  { dialect }: Engine,
  run: Run,
  { callId, leaseId }: Omit<Part, 'hold'>,
  { amount, note, calls }: { readonly amount: Nano; readonly note: string | null; readonly calls: 0 | 1 },
): Promise<void> => {
  await run(
    `${insertCharges({ call: '$1', amount: 'cast($2 as bigint)', settled: 'null', note: '$3', attempt: '$4', at: dialect.now })}
     from lease l where l.id = $4`,
    [callId, amount, note, leaseId],
  )
  await run(
    'update lease set used = used + cast($2 as bigint), calls = calls + cast($3 as bigint) where id = $1',
    [leaseId, amount, calls],
  )
}

const charge = async (engine: Engine, run: Run, settle: CallSettle): Promise<void> => {
  const { dialect } = engine
  const { charge: amount, detail } = settle
  await post(engine, run, settle, { amount, note: noteOf(settle), calls: 1 })
  const { c, m, i, o, d } = detailRow(settle.callId, detail, inShort.has(engine))
  await run(
    `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail) values ($1, $2, $3, $4, $5)
     on conflict (call_id) do nothing`,
    [c, m, i, o, d],
  )
  const answers = answerRows([settle])
  if (answers.length > 0) await run(textsFor(dialect).answer, [json(answers)])
}

/** Charges what the job costs, and counts what its vendor bills; neither more than is held for it. */
const chargeParts = async (
  engine: Engine,
  run: Run,
  parts: readonly Part[],
  settle: Omit<CallSettle, 'callId' | 'leaseId'>,
): Promise<void> => {
  const { vendorEstimate } = settle.detail
  for (const { callId, leaseId, hold = 0n } of parts)
    if (!isEstimateAccount(callId))
      await charge(engine, run, { ...settle, callId, leaseId, charge: least(settle.charge, hold) })
    else if (vendorEstimate !== undefined) {
      const amount = least(BigInt(vendorEstimate), hold)
      await post(engine, run, { callId, leaseId }, { amount, note: null, calls: 0 })
    }
}

const NOT_HELD: RunResult = {
  error: { code: 'upstream_error', message: 'It did not end in time. Nothing was charged.' },
}

/** See RunStore.end. Returns the row as it is afterwards. */
export const endRun = (engine: Engine, id: string, end: RunEnd): Promise<Row | undefined> =>
  engine.transaction('control', async (run) => {
    const { now } = engine.dialect
    const { row, parts } = await lockRun(engine, run, id)
    if (row === undefined || row.ended_at !== null) return row
    const { settle } = end
    // Nothing is answered uncounted: a job whose estimate was taken away is not charged.
    const held = parts.some((part) => part.callId === id) && parts.every(({ hold }) => hold !== undefined)
    const lost = settle !== undefined && !held
    if (settle !== undefined && held)
      await chargeParts(engine, run, parts, { ...settle, payer: textOf(row, 'payer') })
    for (const part of parts) await giveBack(engine, run, part)
    return onlyRow(
      await run(
        `update run set state = $2, result = $3, ended_at = ${now}, keep_until = ${now} + cast($4 as bigint),
           webhook_at = case when webhook is null then null else ${now} end where id = $1 returning *`,
        [id, lost ? 'failed' : end.state, JSON.stringify(lost ? NOT_HELD : end.result), end.keptMs],
      ),
    )
  })
