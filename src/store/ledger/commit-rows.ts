/**
 * A group commit row by row: for an engine inside the process, where a prepared statement for one row costs less than
 * its share of a batch in JSON. It does what commit-at-once.ts does, and saves more: a call whose charge comes with its
 * intent is charged without ever writing the intent.
 */
import { least, type Nano } from '../../core/money.ts'
import type {
  AccountId,
  CallId,
  Checkpoint,
  CommitBatch,
  Intent,
  LeaseId,
  Settle,
} from '../../ledger/types.ts'
import type { Inline, Now, SqlDialect, Value } from '../engine/engine.ts'
import { maybeText, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { textsOnce } from '../engine/texts.ts'
import { recordVoucher } from '../payments/begin-voucher.ts'
import { chargeOfVoucher, hasVoucher } from '../payments/voucher-call.ts'
import { answerRows, detailRow, ids, latest, noteOf } from './call-rows.ts'
import { insertCharge } from './charge-row.ts'
import { keepsAnswer, type Texts, type TransactionResult, takeOver } from './commit-at-once.ts'

const texts = {
  lease:
    'select instance, state, key_id, wallet_id, sub_id, month, day, tag_budgets from lease where id = $1',
  // A call that was charged already is not opened again.
  intent: `insert into inflight (call_id, lease_id, hold, started_at) select $1, $2, $3, $4
    where not exists (select 1 from transfer where kind in ('usage', 'writeoff') and ref = $1) ${takeOver('$4')}`,
  progress: `update inflight set hold = max(hold, $2), spent = max(spent, $3), lease_id = coalesce($5, lease_id)
    where call_id = $1 and (coalesce($5, lease_id) = lease_id and $2 <= hold or exists
      (select 1 from lease l where l.id = coalesce($5, inflight.lease_id) and l.state = 'open' and l.instance = $4)
      and exists (select 1 from lease o where o.id = inflight.lease_id and o.instance = $4))`,
  close:
    'delete from inflight where call_id = $1 and (lease_id = $2 or ($3 = 0 and hold >= $4)) returning lease_id, hold',
  // If another attempt has charged the call, or has it open, it is not charged here.
  charge: `${insertCharge(
    { call: '$1', amount: '$3', settled: 'null', note: '$8', attempt: '$9', at: '$10' },
    { payer: '$2', key: '$4', month: '$5', day: '$6', sub: '$7', tagBudgets: '$11' },
  )} on conflict do nothing`,
  detail: `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail) values ($1, $2, $3, $4, $5)
    on conflict do nothing`,
  spend: 'update lease set used = used + $2, calls = calls + $3 where id = $1',
  its: `select 1 as its where ${hasVoucher('$1', '$2')}`,
  voids: `delete from inflight where call_id = $1
    and exists (select 1 from lease l where l.id = inflight.lease_id and l.instance = $2)`,
} as const

const answerText = textsOnce(({ now }) =>
  keepsAnswer(
    now,
    'select $1 as key_id, $2 as endpoint, $3 as idem_key, $4 as call_id, $5 as status, $6 as headers, $7 as body, $8 as attempt',
  ),
)

/** A lease as one commit sees it, with what the commit charges to it. */
type LeaseInCommit = {
  readonly payer: string
  readonly keyId: string
  readonly subId: Value
  readonly tagBudgets: Value
  readonly month: string
  readonly day: string
  /** Open and owned by this instance: calls may be opened on it. */
  readonly mayOpen: boolean
  used: Nano
  calls: number
}

type Round = {
  readonly now: Now
  readonly dialect: SqlDialect
  readonly at: Nano
  readonly batch: CommitBatch
  readonly short: boolean
  readonly paths: Map<LeaseId, LeaseInCommit | undefined>
  readonly opened: CallId[]
  readonly closed: CallId[]
}

const leaseOf = ({ now, batch, paths }: Round, id: LeaseId): LeaseInCommit | undefined => {
  const known = paths.get(id)
  if (known !== undefined) return known
  const [row] = now.rows(texts.lease, id)
  const path = row && {
    payer: textOf(row, 'wallet_id'),
    keyId: textOf(row, 'key_id'),
    subId: maybeText(row, 'sub_id') ?? null,
    tagBudgets: maybeText(row, 'tag_budgets') ?? null,
    month: textOf(row, 'month'),
    day: textOf(row, 'day'),
    mayOpen: textOf(row, 'state') === 'open' && textOf(row, 'instance') === batch.instance,
    used: 0n,
    calls: 0,
  }
  paths.set(id, path)
  return path
}

/** The lease that a call goes on. Fenced: that is the instance's own open one, and only while the call has its voucher. */
const leaseFor = (round: Round, intent: Intent): LeaseInCommit | undefined => {
  const { callId, leaseId, voucher } = intent
  const lease = leaseOf(round, leaseId)
  if (lease?.mayOpen !== true) return undefined
  if (voucher?.record !== undefined) recordVoucher(round.now, round.dialect, intent, round.batch.instance)
  return voucher === undefined || round.now.rows(texts.its, voucher.id, callId).length > 0 ? lease : undefined
}

const open = (round: Round, intent: Intent): void => {
  const { callId, leaseId, hold } = intent
  if (leaseFor(round, intent) === undefined) return
  if (round.now.change(texts.intent, callId, leaseId, hold, round.at) === 1) round.opened.push(callId)
}

/** Charges a call that holds at least that much; false when it was charged before, or is open for another attempt. */
const charge = (round: Round, path: LeaseInCommit, settle: Settle, hold: Nano): boolean => {
  const { now, at, closed } = round
  const { callId } = settle
  const { payer, keyId, month, day, subId, tagBudgets } = path
  const amount = least(settle.charge, hold)
  const note = noteOf(settle)
  const row = [callId, payer, amount, keyId, month, day, subId, note, settle.leaseId, at, tagBudgets]
  if (now.change(texts.charge, ...row) === 0) return false
  path.used += amount
  if (settle.detail !== undefined) {
    const { m, i, o, d } = detailRow(callId, settle.detail, round.short)
    now.change(texts.detail, callId, m, i, o, d)
    path.calls++
  }
  closed.push(callId)
  return true
}

/** Opens and charges in one step; false when the call is open or charged already, or its intent is fenced. */
const openAndCharge = (round: Round, intent: Intent, settle: Settle): boolean => {
  const path = leaseFor(round, intent)
  if (path === undefined || !charge(round, path, settle, intent.hold)) return false
  round.opened.push(intent.callId)
  return true
}

/** A call that is not open is not charged here; commit-at-once.ts explains a call that another attempt has open. */
const close = (round: Round, settle: Settle, opening: boolean): void => {
  const [row] = round.now.rows(texts.close, settle.callId, settle.leaseId, opening ? 1 : 0, settle.charge)
  if (row === undefined) return
  const path = leaseOf(round, textOf(row, 'lease_id'))
  if (path !== undefined) charge(round, path, settle, nanoOf(row, 'hold'))
}

const advance = ({ now, batch }: Round, progress: readonly Checkpoint[]): readonly CallId[] =>
  progress
    .filter(
      ({ callId, hold, spent, leaseId }) =>
        now.change(texts.progress, callId, hold, spent, batch.instance, leaseId ?? null) === 1,
    )
    .map(({ callId }) => callId)

/** Intents whose charge comes in the same batch, with nothing in between. */
const shortOf = ({ intents, progress, settles }: CommitBatch): ReadonlyMap<CallId, Intent> => {
  const settling = new Set(settles.map(({ callId }) => callId))
  for (const { callId } of progress) settling.delete(callId)
  return new Map(
    intents.filter(({ callId }) => settling.has(callId)).map((intent) => [intent.callId, intent]),
  )
}

const settleAll = (round: Round, short: ReadonlyMap<CallId, Intent>): void => {
  for (const settle of round.batch.settles) {
    const intent = short.get(settle.callId)
    if (intent !== undefined) {
      if (openAndCharge(round, intent, settle)) continue
      open(round, intent)
    }
    close(round, settle, intent !== undefined)
  }
  for (const [id, path] of round.paths)
    if (path !== undefined && (path.calls > 0 || path.used > 0n))
      round.now.change(texts.spend, id, path.used, path.calls)
}

/** Runs the batch in one transaction. */
export const commitRows = (
  inline: Inline,
  it: {
    readonly dialect: SqlDialect
    readonly texts: Texts
    readonly batch: CommitBatch
    /** Details are written in short. */
    readonly short: boolean
    /** The accounts to read. */
    readonly payers: ReadonlySet<AccountId>
  },
): Promise<TransactionResult> =>
  inline('writer', (now) => {
    const { batch, dialect, short } = it
    const at = nanoOf(onlyRow(now.rows(`select ${dialect.now} as at`)), 'at')
    const round: Round = { now, dialect, at, batch, short, paths: new Map(), opened: [], closed: [] }
    const once = shortOf(batch)
    for (const intent of batch.intents) if (!once.has(intent.callId)) open(round, intent)
    const extended = advance(round, latest(batch.progress))
    settleAll(round, once)
    for (const { callId, voucher } of batch.settles)
      if (voucher !== undefined) chargeOfVoucher(now, dialect, callId, voucher)
    for (const { k, e, i, c, s, h, b, l } of answerRows(batch.settles))
      now.change(answerText(dialect), k, e, i, c, s, h, b, l)
    const voided = batch.voids.filter((callId) => now.change(texts.voids, callId, batch.instance) === 1)
    const balances = it.payers.size === 0 ? [] : now.rows(it.texts.balances, ids(it.payers))
    return { opened: round.opened, extended, closed: round.closed, voided, balances }
  })
