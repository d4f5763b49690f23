/** A group commit as a fixed number of statements, each for all its rows: for an engine behind a network. */

import type { AccountId, CallId, CommitBatch, LeaseId } from '../../ledger/types.ts'
import { inShort } from '../calls/short-form.ts'
import { type Engine, type Row, type Statement, statement, Violation } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { textsOnce } from '../engine/texts.ts'
import { voucherRecords } from '../payments/begin-voucher.ts'
import { hasVoucher, voucherCharges, voucherLocks } from '../payments/voucher-call.ts'
import { answerRows, detailRow, ids, json, latest, noteOf } from './call-rows.ts'
import { insertCharges } from './charge-row.ts'
import { isSilent } from './silence.ts'
import { settledOfAccount, stateOf } from './sums.ts'
import { manyLeases } from './told-sums.ts'

/** How long a stored answer may be replayed. */
const ANSWER_KEPT_MS = 24 * 60 * 60 * 1000

/** A repeat takes over an open call, with its own hold, if the process that had it is silent. */
export const takeOver = (now: string): string =>
  `on conflict (call_id) do update
    set lease_id = excluded.lease_id, hold = excluded.hold, started_at = excluded.started_at
    where inflight.lease_id <> excluded.lease_id
      and ${isSilent(now, '(select h.instance from lease h where h.id = inflight.lease_id)')}`

/** What a settlement costs, in `chargeRows`. */
const cost = `cast(e.value->>'a' as bigint)`

/**
 * Whether a settlement (`e`, a row of `chargeRows`) may end the open call `f`. It may if its own attempt has the call
 * open, on its own lease. If another attempt has it open, it may if that hold is large enough; but not if the intent of
 * its own attempt is in this very commit, because then that intent was refused.
 */
const endsCall = `(e.value->>'l' = f.lease_id or (e.value->>'s' is null and ${cost} <= f.hold))`

/** Never more than the hold. */
const charged = `case when ${cost} < f.hold then ${cost} else f.hold end`

/**
 * Keeps only the answer of the charged attempt, even if the claim was released meanwhile. A recovered charge belongs to no
 * attempt, so then the first answer to arrive is kept. `answers` selects them. The charge is looked up for each: PostgreSQL makes
 * a join of `exists`, for which it reads all charges.
 */
export const keepsAnswer = (now: string, answers: string): string =>
  `update idempotency set state = 'done', status = a.status, headers = a.headers, body = a.body,
      expires_at = ${now} + ${ANSWER_KEPT_MS}
    from (${answers}) a
    where idempotency.key_id = a.key_id and idempotency.endpoint = a.endpoint and idempotency.idem_key = a.idem_key
      and idempotency.state <> 'done' and idempotency.call_id = a.call_id
      and (select t.ref from transfer t where t.kind in ('usage', 'writeoff') and t.ref = a.call_id
        and (t.attempt is null or t.attempt = a.attempt) limit 1) is not null`

/** The statements of a commit. */
export const textsFor = textsOnce(({ each, now, lock, joinEach, leftOne }) => ({
  lock: `select l.id from lease l where l.id in (select e.value->>'c' from ${each('$1')} e
      union select f.lease_id from ${each('$2')} e join inflight f on f.call_id = e.value->>'c')
    order by l.id${lock('l')}`,
  // Charging, booking and deleting a call read it one after the other, so nobody may end it in between.
  ending: `select f.call_id from inflight f where f.call_id in (select e.value->>'c' from ${each('$1')} e)
    order by f.call_id${lock('f')}`,
  // Fenced: an intent only goes into the instance's own open lease. A call that was charged already is not opened
  // again; that is looked up for each: PostgreSQL makes a join of `not exists`, for which it reads all charges.
  intents: `insert into inflight (call_id, lease_id, hold, started_at)
    select e.value->>'c', l.id, cast(e.value->>'h' as bigint), ${now}
    from ${each('$1')} e ${leftOne('lease', 'l', 'id', `e.value->>'l'`)}
    where l.state = 'open' and l.instance = $2
      and (select t.ref from transfer t where t.kind in ('usage', 'writeoff') and t.ref = e.value->>'c' limit 1) is null
      and (e.value->>'v' is null or ${hasVoucher("e.value->>'v'", "e.value->>'c'")})
    ${takeOver(now)} returning call_id as c`,
  // A hold only grows on the instance's own open lease, to which it may move whole from another of its leases. A
  // checkpoint within the hold is always accepted.
  progress: `update inflight set hold = case when p.h > inflight.hold then p.h else inflight.hold end,
      spent = case when p.s > inflight.spent then p.s else inflight.spent end,
      lease_id = coalesce(p.l, inflight.lease_id)
    from (select e.value->>'c' as c, e.value->>'l' as l, cast(e.value->>'h' as bigint) as h, cast(e.value->>'s' as bigint) as s
          from ${each('$1')} e) p
    where inflight.call_id = p.c and (coalesce(p.l, inflight.lease_id) = inflight.lease_id and p.h <= inflight.hold
      or exists (select 1 from lease l where l.id = coalesce(p.l, inflight.lease_id) and ${stateOf('l')} = 'open' and l.instance = $2)
        and exists (select 1 from lease o where o.id = inflight.lease_id and o.instance = $2))
    returning call_id as c`,
  // From here to `close` each statement finds the open call by its intent: what is not open is not charged.
  charge: `${insertCharges({ call: 'f.call_id', amount: charged, settled: 'null', note: `e.value->>'n'`, attempt: `e.value->>'l'`, at: now })}
    from ${each('$1')} e join inflight f on f.call_id = e.value->>'c' and ${endsCall} join lease l on l.id = f.lease_id`,
  // To group by leases PostgreSQL would walk all open calls by theirs.
  spend: `update lease set used = lease.used + q.charge, calls = lease.calls + q.calls
    from (select f.lease_id, cast(count(*) filter (where e.value->>'e' is null) as bigint) as calls, cast(sum(${charged}) as bigint) as charge
          from ${each('$1')} e ${joinEach('inflight', 'f', `f.call_id = e.value->>'c' and ${endsCall}`)} group by f.lease_id) q
    where lease.id = q.lease_id`,
  detail: `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail)
    select f.call_id, e.value->>'m', cast(e.value->>'i' as bigint), cast(e.value->>'o' as bigint), e.value->>'d'
    from ${each('$1')} e join inflight f on f.call_id = e.value->>'c' and ${endsCall} where true
    on conflict (call_id) do nothing`,
  close: `delete from inflight where call_id in (select f.call_id from ${each('$1')} e
    join inflight f on f.call_id = e.value->>'c' and ${endsCall}) returning call_id as c`,
  answer: keepsAnswer(
    now,
    `select e.value->>'k' as key_id, e.value->>'e' as endpoint, e.value->>'i' as idem_key, e.value->>'c' as call_id,
      cast(e.value->>'s' as bigint) as status, e.value->>'h' as headers, e.value->>'b' as body, e.value->>'l' as attempt
      from ${each('$1')} e`,
  ),
  // Calls of which another answer is kept.
  otherwise: `select e.value->>'c' as c from ${each('$1')} e join idempotency i on i.key_id = e.value->>'k'
      and i.endpoint = e.value->>'e' and i.idem_key = e.value->>'i' and i.call_id = e.value->>'c'
    where i.state = 'done' and (i.body <> e.value->>'b' or i.headers <> e.value->>'h' or i.status <> cast(e.value->>'s' as bigint))`,
  voids: `delete from inflight where call_id in (select e.value->>'c' from ${each('$1')} e)
    and exists (select 1 from lease l where l.id = inflight.lease_id and l.instance = $2) returning call_id as c`,
  // With whether an account has more than a few leases.
  balances: `select a.id, ${settledOfAccount} + coalesce((select c.lim from credit_line c where c.account_id = a.id), 0) as balance,
      ${manyLeases('l.wallet_id = a.id')} as leases
    from account a where a.id in (select e.value->>'c' from ${each('$1')} e)`,
  charged: `select t.ref as c, case when t.kind = 'usage' then t.amount else 0 end as a,
      t.attempt as l
    from transfer t join ${each('$1')} e on t.ref = e.value->>'c' where t.kind in ('usage', 'writeoff')`,
  known: `select f.call_id as c from inflight f join ${each('$1')} e on f.call_id = e.value->>'c' and f.lease_id = e.value->>'l'
    union select t.ref from transfer t join ${each('$2')} e on t.ref = e.value->>'c' where t.kind in ('usage', 'writeoff')`,
  // Clears an intent whose call another attempt settled late at the very same time.
  clear: `delete from inflight where call_id in (select e.value->>'c' from ${each('$1')} e)
    and exists (select 1 from transfer t where t.kind = 'usage' and t.ref = inflight.call_id)`,
}))

export type Texts = ReturnType<typeof textsFor>

/** Settlements as the statements read them, by letters, because the names would travel with every row. */
type ChargeRow = {
  /** The call. */
  readonly c: CallId
  /** What it costs. */
  readonly a: string
  /** The note on the charge. */
  readonly n: string | null
  /** The lease of its attempt. */
  readonly l: LeaseId
  /** The intent of its attempt is in the same commit. */
  readonly s?: 1
  /** It is an estimate, and no call. */
  readonly e?: 1
}

const chargeRows = ({ intents, settles }: CommitBatch): readonly ChargeRow[] => {
  const opening = new Set(intents.map(({ callId }) => callId))
  return settles.map((settle) => ({
    c: settle.callId,
    a: settle.charge.toString(),
    n: noteOf(settle),
    l: settle.leaseId,
    ...(opening.has(settle.callId) ? { s: 1 } : {}),
    ...(settle.detail === undefined ? { e: 1 } : {}),
  }))
}

type CommitStep = 'intents' | 'progress' | 'close' | 'voids' | 'balances'

/** The transaction as statements, with the positions of those whose rows matter. */
const planOf = (engine: Engine, texts: Texts, batch: CommitBatch, payers: ReadonlySet<AccountId>) => {
  const { dialect } = engine
  const { instance, intents, settles, voids } = batch
  const progress = latest(batch.progress)
  const statements: Statement[] = []
  const places = new Map<CommitStep, number>()
  const add = (text: string, ...params: string[]): number => statements.push(statement(text, ...params)) - 1
  const vouchers = [...intents, ...settles].some(({ voucher }) => voucher !== undefined)
  if (vouchers && dialect.locksRows) statements.push(...voucherLocks(dialect, batch))
  if (vouchers) statements.push(...voucherRecords(dialect, intents, instance))
  if (dialect.locksRows && intents.length + progress.length + settles.length > 0) {
    const moved = progress.flatMap(({ leaseId }) => leaseId ?? [])
    const leases = new Set([...[...intents, ...settles].map(({ leaseId }) => leaseId), ...moved])
    add(texts.lock, ids(leases), ids([...intents, ...progress, ...settles].map(({ callId }) => callId)))
  }
  if (intents.length > 0) {
    const rows = intents.map(({ callId, leaseId, hold, voucher }) => ({
      c: callId,
      l: leaseId,
      h: hold.toString(),
      v: voucher?.id,
    }))
    places.set('intents', add(texts.intents, json(rows), instance))
  }
  if (progress.length > 0) {
    const rows = progress.map(({ callId, hold, spent, leaseId }) => ({
      c: callId,
      l: leaseId,
      h: hold.toString(),
      s: spent.toString(),
    }))
    places.set('progress', add(texts.progress, json(rows), instance))
  }
  if (settles.length > 0) {
    const charges = chargeRows(batch)
    const rows = json(charges)
    if (dialect.locksRows) add(texts.ending, ids(settles.map(({ callId }) => callId)))
    add(texts.charge, rows)
    add(texts.spend, rows)
    const details = settles.flatMap(({ callId, detail }, place) =>
      detail === undefined ? [] : [{ ...detailRow(callId, detail, inShort.has(engine)), ...charges[place] }],
    )
    add(texts.detail, json(details))
    places.set('close', add(texts.close, rows))
    if (vouchers) statements.push(...voucherCharges(dialect, settles))
    const answers = answerRows(settles)
    if (answers.length > 0) add(texts.answer, json(answers))
  }
  if (voids.length > 0) places.set('voids', add(texts.voids, ids(voids), instance))
  if (payers.size > 0) places.set('balances', add(texts.balances, ids(payers)))
  return { statements, places }
}

export const callsOf = (rows: readonly Row[] | undefined): readonly CallId[] =>
  (rows ?? []).map((row) => textOf(row, 'c'))

/** What one transaction did. */
export type TransactionResult = {
  readonly opened: readonly CallId[]
  readonly extended: readonly CallId[]
  /** Calls that were charged. */
  readonly closed: readonly CallId[]
  /** Calls that were open and are now forgotten. */
  readonly voided: readonly CallId[]
  /** The accounts that were read. */
  readonly balances: readonly Row[]
}

/** Runs the plan, and reads these accounts. If another attempt charged a call in the same instant, clears that intent and runs again. */
export const commitAtOnce = async (
  engine: Engine,
  texts: Texts,
  batch: CommitBatch,
  payers: ReadonlySet<AccountId>,
): Promise<TransactionResult> => {
  const { statements, places } = planOf(engine, texts, batch, payers)
  const at = (answers: readonly (readonly Row[])[], step: CommitStep) => {
    const place = places.get(step)
    return place === undefined ? undefined : answers[place]
  }
  const attempt = async (first: readonly Statement[]) => {
    const answers = (await engine.batch('writer', [...first, ...statements])).slice(first.length)
    return {
      opened: callsOf(at(answers, 'intents')),
      extended: callsOf(at(answers, 'progress')),
      closed: callsOf(at(answers, 'close')),
      voided: callsOf(at(answers, 'voids')),
      balances: at(answers, 'balances') ?? [],
    }
  }
  try {
    return await attempt([])
  } catch (error) {
    if (!(error instanceof Violation) || !error.constraint.startsWith('transfer')) throw error
    return attempt([statement(texts.clear, ids(batch.settles.map(({ callId }) => callId)))])
  }
}
