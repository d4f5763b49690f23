/** Group commit: intents, checkpoints, settlements and voids of one instance in one transaction. The hot path. */

import { greatest, type Nano } from '../../core/money.ts'
import type { AccountId, CallId, CommitBatch, CommitResult, LeaseId, Settle } from '../../ledger/types.ts'
import { inShort } from '../calls/short-form.ts'
import { type Engine, once, type Row, statement } from '../engine/engine.ts'
import { countOf, maybeText, nanoOf, textOf } from '../engine/row.ts'
import { answerRows, detailRow, ids, json } from './call-rows.ts'
import { callsOf, commitAtOnce, type Texts, textsFor } from './commit-at-once.ts'
import { commitRows } from './commit-rows.ts'
import { settleLate } from './late-settle.ts'
import { FEW_LEASES } from './told-sums.ts'

const BALANCE_KNOWN_MS = 1_000

/**
 * What accounts have after a commit, for the answers that tell it. That is a sum over all leases of an account, and
 * processes keep many. Where there are more than a few it is made once a second, and in between only the charges of this
 * process come off it.
 */
class Balances {
  /** Accounts with many leases. */
  readonly #known = new Map<AccountId, { balance: Nano; untilMs: number }>()

  /** The accounts of a commit that must be read with it. */
  due(settles: readonly Settle[]): ReadonlySet<AccountId> {
    const payers = new Set<AccountId>()
    for (const { payer } of settles) if (!this.#isKnown(payer)) payers.add(payer)
    return payers
  }

  #isKnown(account: AccountId): boolean {
    const known = this.#known.get(account)
    return known !== undefined && performance.now() < known.untilMs
  }

  /** What the accounts have after a commit that charged these calls, where it read them or they are known. */
  after(
    settles: readonly Settle[],
    charged: ReadonlySet<CallId>,
    read: readonly Row[],
  ): ReadonlyMap<AccountId, Nano> {
    for (const { callId, payer, charge } of settles) {
      const known = this.#known.get(payer)
      if (known !== undefined && charged.has(callId)) known.balance -= charge
    }
    const balances = new Map<AccountId, Nano>()
    for (const row of read) {
      const [id, balance] = [textOf(row, 'id'), nanoOf(row, 'balance')]
      balances.set(id, balance)
      if (countOf(row, 'leases') <= FEW_LEASES) this.#known.delete(id)
      else this.#known.set(id, { balance, untilMs: performance.now() + BALANCE_KNOWN_MS })
    }
    for (const { payer } of settles) {
      const known = this.#known.get(payer)
      if (known !== undefined) balances.set(payer, known.balance)
    }
    return balances
  }
}

/** Charges one call after its lease was reaped, and stores its detail and answer as the group commit would have. */
const chargeLate = async (engine: Engine, texts: Texts, settle: Settle): Promise<void> => {
  await settleLate(engine, settle)
  const { callId, detail } = settle
  if (detail === undefined) return
  const { c, m, i, o, d } = detailRow(callId, detail, inShort.has(engine))
  await engine.batch('control', [
    statement(
      `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail)
       values ($1, $2, $3, $4, $5) on conflict (call_id) do nothing`,
      c,
      m,
      i,
      o,
      d,
    ),
    statement(texts.answer, json(answerRows([settle]))),
  ])
}

/** What calls have been charged so far, and for which attempt; calls without a charge are missing. */
type Charges = {
  /** A call that was written off counts as zero. */
  readonly amounts: Map<CallId, Nano>
  /** The lease of the attempt; missing for a charge that was recovered from an orphan. */
  readonly attempts: Map<CallId, LeaseId>
}

const chargesOf = async (engine: Engine, texts: Texts, calls: readonly CallId[]): Promise<Charges> => {
  const amounts = new Map<CallId, Nano>()
  const attempts = new Map<CallId, LeaseId>()
  if (calls.length === 0) return { amounts, attempts }
  for (const row of await once(engine, 'control', texts.charged, ids(calls))) {
    const callId = textOf(row, 'c')
    amounts.set(callId, greatest(amounts.get(callId) ?? 0n, nanoOf(row, 'a')))
    const attempt = maybeText(row, 'l')
    if (attempt !== undefined) attempts.set(callId, attempt)
  }
  return { amounts, attempts }
}

/**
 * Settlements whose call was charged for another attempt, or of which another answer is stored: they may not answer.
 * `over` are those that this commit did not charge at once.
 */
const elsewhereOf = async (
  engine: Engine,
  texts: Texts,
  over: readonly Settle[],
): Promise<ReadonlySet<CallId>> => {
  if (over.length === 0) return new Set()
  const { attempts } = await chargesOf(
    engine,
    texts,
    over.map(({ callId }) => callId),
  )
  const others = over.filter(({ callId, leaseId }) => (attempts.get(callId) ?? leaseId) !== leaseId)
  const answers = answerRows(over)
  const otherwise = answers.length === 0 ? [] : await once(engine, 'control', texts.otherwise, json(answers))
  return new Set([...others.map(({ callId }) => callId), ...callsOf(otherwise)])
}

type Charged = { readonly calls: ReadonlySet<CallId>; readonly balances: ReadonlyMap<string, Nano> }

/** Settlements that found no open call: repeats of a charge, or calls that were reaped before they ended. */
const settleRest = async (
  engine: Engine,
  texts: Texts,
  batch: CommitBatch,
  it: {
    done: Charged
    opened: ReadonlySet<CallId>
    before: ReadonlyMap<CallId, Nano>
    accounts: Balances
  },
): Promise<Charged> => {
  const rest = batch.settles.filter(({ callId }) => !it.done.calls.has(callId))
  if (rest.length === 0) return it.done
  const calls = new Set([...it.done.calls, ...it.before.keys()])
  const fenced = new Set(batch.intents.map(({ callId }) => callId).filter((callId) => !it.opened.has(callId)))
  const late = rest.filter(({ callId }) => !calls.has(callId) && !fenced.has(callId))
  if (late.length === 0) return { calls, balances: it.done.balances }
  for (const settle of late) {
    await chargeLate(engine, texts, settle)
    calls.add(settle.callId)
  }
  const payers = new Set(batch.settles.map(({ payer }) => payer))
  const read = await once(engine, 'control', texts.balances, ids(payers))
  return { calls, balances: it.accounts.after([], calls, read) }
}

/**
 * Intents that were not inserted now. Some were opened, or opened and charged, when the same batch was sent earlier.
 * Others are fenced, because the lease is, or because another attempt has the call or was charged for it.
 */
const openedOf = async (engine: Engine, texts: Texts, batch: CommitBatch, inserted: readonly CallId[]) => {
  const opened = new Set(inserted)
  const rest = batch.intents.filter(({ callId }) => !opened.has(callId))
  if (rest.length === 0) return opened
  const intents = rest.map(({ callId, leaseId }) => ({ c: callId, l: leaseId }))
  const settling = batch.settles.map(({ callId }) => callId)
  const rows = await once(engine, 'control', texts.known, json(intents), ids(settling))
  for (const callId of callsOf(rows)) opened.add(callId)
  return opened
}

/** Makes the group commit of an engine. */
export const commitOn = (engine: Engine): ((batch: CommitBatch) => Promise<CommitResult>) => {
  const { dialect } = engine
  const texts = textsFor(dialect)
  const accounts = new Balances()
  return async (batch) => {
    const payers = accounts.due(batch.settles)
    const done = await (engine.inline === undefined
      ? commitAtOnce(engine, texts, batch, payers)
      : commitRows(engine.inline, { dialect, texts, batch, short: inShort.has(engine), payers }))
    const opened = await openedOf(engine, texts, batch, done.opened)
    const ended = new Set([...done.closed, ...done.voided])
    const over = batch.settles.filter(({ callId }) => !ended.has(callId))
    const unknown = [...over.map(({ callId }) => callId), ...batch.voids.filter((id) => !ended.has(id))]
    const { amounts: chargedBefore } = await chargesOf(engine, texts, unknown)
    const calls = new Set(done.closed)
    const first = { calls, balances: accounts.after(batch.settles, calls, done.balances) }
    const charged = await settleRest(engine, texts, batch, {
      done: first,
      opened,
      before: chargedBefore,
      accounts,
    })
    const settled = new Map<CallId, Nano>()
    for (const { callId, payer } of batch.settles) {
      const balance = charged.balances.get(payer)
      if (charged.calls.has(callId) && balance !== undefined) settled.set(callId, balance)
    }
    const answeredElsewhere = await elsewhereOf(engine, texts, over)
    return { opened, extended: new Set(done.extended), settled, chargedBefore, answeredElsewhere }
  }
}
