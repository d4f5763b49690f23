/** Postings outside calls: top-ups, grants, refunds, adjustments. */
import type { Nano } from '../core/money.ts'
import { monthOf } from '../core/time.ts'
import { refundedCall } from '../ledger/scopes.ts'
import type { Transfer } from '../ledger/words.ts'
import { type Engine, type Row, type Run, Violation, type Words } from './engine.ts'
import { Overdrawn, ReplayConflict } from './port.ts'
import { countOf, maybeText, nanoOf, onlyRow, textOf } from './row.ts'

type Origin = {
  readonly keyId: string | null
  readonly month: string
  readonly subId: string | null
  readonly call: string | null
}

const isReplay = (row: Row, { debit, credit, amount }: Transfer): boolean =>
  textOf(row, 'debit') === debit && textOf(row, 'credit') === credit && nanoOf(row, 'amount') === amount

const before = async (run: Run, { kind, ref }: Transfer): Promise<Row | undefined> =>
  (await run('select debit, credit, amount from transfer where kind = $1 and ref = $2', [kind, ref]))[0]

/** A refund counts back against the caps of the call's key, in the month of the call. */
const originOfRefund = async (run: Run, words: Words, transfer: Transfer): Promise<Origin> => {
  const call = refundedCall(transfer.ref)
  const [usage] = await run(`select * from transfer where kind = 'usage' and ref = $1`, [call])
  if (usage === undefined) throw new Error(`no charged call ${call} to refund`)
  const [keyId, month] = [textOf(usage, 'key_id'), textOf(usage, 'month')]
  const subId = maybeText(usage, 'sub_id') ?? null
  const scopes = `select 'key:' || n.owner_id from key_line n where n.key_id = $1
    union select 'key:' || n.owner_id || ':' || $2 from key_line n where n.key_id = $1 union select 'sub:' || cast($3 as text)`
  await run(`select b.scope from budget b where b.scope in (${scopes}) order by b.scope${words.lock('b')}`, [
    keyId,
    month,
    subId,
  ])
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
  await run(`update budget set used = used - cast($4 as bigint) where scope in (${scopes})`, [
    keyId,
    month,
    subId,
    transfer.amount,
  ])
  return { keyId, month, subId, call }
}

/** Locks the bounded accounts of a transfer; both sides must exist. */
const lockAccounts = async (run: Run, words: Words, { debit, credit }: Transfer): Promise<void> => {
  const known = await run('select id from account where id in ($1, $2)', [debit, credit])
  for (const side of [debit, credit]) {
    if (!known.some(({ id }) => id === side)) throw new Error(`there is no account ${side}`)
  }
  if (words.locksRows) {
    await run(
      `select a.id from account a where a.id in ($1, $2) and a.bounded = 1 order by a.id${words.lock('a')}`,
      [debit, credit],
    )
  }
}

const move = (run: Run, account: string, amount: Nano): Promise<unknown> =>
  run('update account set balance = balance + cast($2 as bigint) where id = $1 and bounded = 1', [
    account,
    amount,
  ])

const postIn = async (run: Run, words: Words, transfer: Transfer): Promise<'posted' | 'replayed'> => {
  const { kind, ref, debit, credit, amount } = transfer
  const found = await before(run, transfer)
  if (found !== undefined) {
    if (isReplay(found, transfer)) return 'replayed'
    throw new ReplayConflict(`${kind} ${ref} was posted before with other content`)
  }
  const now = countOf(onlyRow(await run(`select ${words.now} as now`)), 'now')
  const origin: Origin =
    kind === 'refund'
      ? await originOfRefund(run, words, transfer)
      : { keyId: null, month: monthOf(now), subId: null, call: null }
  await lockAccounts(run, words, transfer)
  await run(
    `insert into transfer (kind, ref, debit, credit, amount, key_id, month, sub_id, of_call, note, at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      kind,
      ref,
      debit,
      credit,
      amount,
      origin.keyId,
      origin.month,
      origin.subId,
      origin.call,
      transfer.note ?? null,
      now,
    ],
  )
  await move(run, debit, -amount)
  await move(run, credit, amount)
  return 'posted'
}

/**
 * Posts one transfer once. Throws `ReplayConflict` for the same (kind, ref) with other content, `Overdrawn` when a
 * wallet would fall under what it must keep, and an Error for an unknown account or a refund larger than its call.
 */
export const postOn = async (engine: Engine, transfer: Transfer): Promise<'posted' | 'replayed'> => {
  if (transfer.kind === 'usage' || transfer.kind === 'writeoff') {
    throw new Error(`${transfer.kind} is posted by the settlement of a call only`)
  }
  const attempt = () => engine.transaction('control', (run) => postIn(run, engine.words, transfer))
  try {
    return await attempt()
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    if (error.constraint === 'no_overspend') {
      throw new Overdrawn(`${transfer.kind} ${transfer.ref} takes more than the wallet has free`, {
        cause: error,
      })
    }
    // Somebody posted the same (kind, ref) between our look and our insert: now it is there to compare with.
    if (error.constraint.startsWith('transfer')) return attempt()
    throw error
  }
}
