/** Postings outside calls: top-ups, grants, refunds, adjustments. */
import { decimalFromNano, NANO_PER_USD, type Nano } from '../../core/money.ts'
import { monthOf, weekOf } from '../../core/time.ts'
import { refundedCall } from '../../ledger/scopes.ts'
import type { Transfer } from '../../ledger/types.ts'
import { clockIn } from '../engine/clock.ts'
import { type Engine, type Row, type Run, type SqlDialect, Violation } from '../engine/engine.ts'
import { maybeText, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { mustBeHere, Overdrawn, ReplayConflict, TooLarge } from '../faults.ts'
import type { NewEvent } from '../people/event-port.ts'
import { recordIn } from '../people/event-store.ts'
import { type PayerRow, payerRows } from './ledger-rows.ts'
import { freeOf, payers } from './payer.ts'

type OriginalCall = {
  readonly keyId: string | null
  readonly month: string
  readonly day: string | null
  readonly subId: string | null
  readonly tagBudgets: string | null
  readonly call: string | null
}

const isReplay = (row: Row, { debit, credit, amount }: Transfer): boolean =>
  textOf(row, 'debit') === debit && textOf(row, 'credit') === credit && nanoOf(row, 'amount') === amount

const before = async (run: Run, { kind, ref }: Transfer): Promise<Row | undefined> =>
  (await run('select debit, credit, amount from transfer where kind = $1 and ref = $2', [kind, ref]))[0]

/** A refund counts back against the limits that the call counted against, in the month, week and day of the call. */
const originOfRefund = async (run: Run, dialect: SqlDialect, transfer: Transfer): Promise<OriginalCall> => {
  const call = refundedCall(transfer.ref)
  const [usage] = await run(`select * from transfer where kind = 'usage' and ref = $1`, [call])
  if (usage === undefined) throw new Error(`no charged call ${call} to refund`)
  const [keyId, month] = [textOf(usage, 'key_id'), textOf(usage, 'month')]
  const subId = maybeText(usage, 'sub_id') ?? null
  const tagBudgets = maybeText(usage, 'tag_budgets') ?? null
  const day = maybeText(usage, 'day') ?? null
  const path = [keyId, month, subId, day, day === null ? null : weekOf(day), tagBudgets ?? '[]']
  const periods = ["''", "':' || $2", "':' || cast($4 as text)", "':' || cast($5 as text)"]
  const counted = periods.flatMap((period) => [
    `select 'key:' || n.owner_id || ${period} from key_line n where n.key_id = $1`,
    `select 'tag:' || (e.value->>'b') || ${period} from ${dialect.each('$6')} e`,
  ])
  const scopes = `${counted.join(' union ')} union select 'sub:' || cast($3 as text)
    union select 'day:' || k.wallet_id || ':' || cast($4 as text) from api_key k where k.id = $1`
  await run(
    `select b.scope from budget b where b.scope in (${scopes}) order by b.scope${dialect.lock('b')}`,
    path,
  )
  const refunded = nanoOf(
    onlyRow(
      await run(
        'select coalesce(cast(sum(amount) as bigint), 0) as amount from transfer where of_call = $1',
        [call],
      ),
    ),
    'amount',
  )
  if (transfer.credit !== textOf(usage, 'debit') || refunded + transfer.amount > nanoOf(usage, 'amount')) {
    throw new Error(
      `refund ${transfer.ref} is larger than what call ${call} still has, or goes to another wallet`,
    )
  }
  await run(`update budget set used = used - cast($7 as bigint) where scope in (${scopes})`, [
    ...path,
    transfer.amount,
  ])
  return { keyId, month, day, subId, tagBudgets, call }
}

/** Locks the bounded accounts of a transfer and returns the debited one; both sides must exist. */
const lockAccounts = async (
  run: Run,
  dialect: SqlDialect,
  { debit, credit }: Transfer,
): Promise<PayerRow | undefined> => {
  const known = await run('select id from account where id in ($1, $2)', [debit, credit])
  for (const side of [debit, credit]) {
    if (!known.some(({ id }) => id === side)) throw new Error(`there is no account ${side}`)
  }
  const bounded = await run(
    `${payers} where a.id in ($1, $2) and a.bounded = 1 order by a.id${dialect.lock('a')}`,
    [debit, credit],
  )
  for (const row of bounded) mustBeHere(row, textOf(row, 'id'))
  return bounded.map(payerRows.read).find(({ id }) => id === debit)
}

/** The most a wallet can hold: half of what its column can, beyond which SQLite would continue with rounded numbers. */
const BALANCE_MOST = 4_000_000_000n * NANO_PER_USD

const tooLarge = ({ kind, ref }: Transfer): TooLarge =>
  new TooLarge(`after ${kind} ${ref} the account would hold more than ${decimalFromNano(BALANCE_MOST)} USD`)

const move = async (run: Run, account: string, amount: Nano, transfer: Transfer): Promise<void> => {
  const [row] = await run(
    'update account set balance = balance + cast($2 as bigint) where id = $1 and bounded = 1 returning balance',
    [account, amount],
  )
  if (row !== undefined && nanoOf(row, 'balance') > BALANCE_MOST) throw tooLarge(transfer)
}

/** A debit that cannot be refused, because the money has already left: the account may owe it afterwards. */
const tolerate = (run: Run, account: string, amount: Nano): Promise<unknown> =>
  run(
    `update account set lowest = balance - held - cast($2 as bigint)
     where id = $1 and lowest > balance - held - cast($2 as bigint)`,
    [account, amount],
  )

/** A transfer; a refund or dispute of a payment names it. */
type Posting = Transfer & { readonly ofTopup?: string }

/** Posts inside a transaction; `mayOwe` lets the debited account fall below the level to which it may be spent. */
export const postIn = async (
  run: Run,
  dialect: SqlDialect,
  transfer: Posting,
  mayOwe = false,
): Promise<'posted' | 'replayed'> => {
  const { kind, ref, debit, credit, amount } = transfer
  if (amount > BALANCE_MOST) throw tooLarge(transfer)
  const found = await before(run, transfer)
  if (found !== undefined) {
    if (isReplay(found, transfer)) return 'replayed'
    throw new ReplayConflict(`${kind} ${ref} was posted before with other content`)
  }
  const now = await clockIn(run, dialect)
  const origin: OriginalCall =
    kind === 'refund'
      ? await originOfRefund(run, dialect, transfer)
      : { keyId: null, month: monthOf(now), day: null, subId: null, tagBudgets: null, call: null }
  const payer = await lockAccounts(run, dialect, transfer)
  if (payer !== undefined && mayOwe) await tolerate(run, debit, amount)
  else if (payer !== undefined && freeOf(payer) < amount)
    throw new Overdrawn(`${kind} ${ref} takes more than the wallet has free`)
  await run(
    `insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, sub_id, tag_budgets, of_call, of_topup, note, at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      kind,
      ref,
      debit,
      credit,
      amount,
      origin.keyId,
      origin.month,
      origin.day,
      origin.subId,
      origin.tagBudgets,
      origin.call,
      transfer.ofTopup ?? null,
      transfer.note ?? null,
      now,
    ],
  )
  await move(run, debit, -amount, transfer)
  await move(run, credit, amount, transfer)
  return 'posted'
}

/**
 * Posts one transfer, once. Throws `ReplayConflict` for the same (kind, ref) with other content, `Overdrawn` when a
 * wallet would fall below what it must keep, `TooLarge` when it would hold more than any wallet can, and an Error for
 * an unknown account or a refund larger than its call.
 */
export const postOn = async (
  engine: Engine,
  transfer: Transfer,
  event?: NewEvent,
): Promise<'posted' | 'replayed'> => {
  if (transfer.kind === 'usage' || transfer.kind === 'writeoff') {
    throw new Error(`${transfer.kind} is posted by the settlement of a call only`)
  }
  return posting(engine, async (run) => {
    const outcome = await postIn(run, engine.dialect, transfer)
    if (event !== undefined && outcome === 'posted') await recordIn(run, engine.dialect, event)
    return outcome
  })
}

/**
 * A transaction that posts. It is repeated once if somebody posted the same (kind, ref) between its look and its
 * insert.
 */
export const posting = async <T>(engine: Engine, work: (run: Run) => Promise<T>): Promise<T> => {
  const attempt = () => engine.transaction('control', work)
  try {
    return await attempt()
  } catch (error) {
    if (error instanceof Violation && error.constraint.startsWith('transfer')) return attempt()
    throw error
  }
}
