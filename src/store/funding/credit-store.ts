/** Credit lines: granted, shown, paid. An account beside the wallet, whose constraint lets it fall to minus the limit. */
import { decimalFromNano } from '../../core/money.ts'
import { monthOf } from '../../core/time.ts'
import { invoiceRef } from '../../ledger/invoice.ts'
import { creditAccountOf } from '../../ledger/types.ts'
import { clockIn } from '../engine/clock.ts'
import { integer, nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, type Run, type SqlDialect } from '../engine/engine.ts'
import { countOf } from '../engine/row.ts'
import { payerRows } from '../ledger/ledger-rows.ts'
import { creditOf, freeOf, payerBlock, payers } from '../ledger/payer.ts'
import { postIn, posting } from '../ledger/post.ts'
import { heldOnLeases, usedOnLeases } from '../ledger/sums.ts'
import type { Actor } from '../people/event-port.ts'
import { recordOfWallet } from '../people/event-store.ts'
import type { CreditLine, CreditStore, PayOutcome } from './funding-port.ts'
import { invoiceColumns, invoiceOf, lockInvoice, markPaid } from './invoice-row.ts'
import { closeMonthsOn } from './months.ts'
import { statementOf } from './statement.ts'
import { shortOrLeased } from './withdraw.ts'

const MOST_LISTED = 1000

/** Credit lines with what calls used and hold of them, selected as in `payers`. */
const linesOf = (dialect: SqlDialect) => `select p.*, c.net_days, c.opened, ${dialect.now} as now,
    ${usedOnLeases('l.wallet_id = p.id')} as unapplied, ${heldOnLeases('l.wallet_id = p.id')} as open_held
  from (${payers}) p join credit_line c on c.account_id = p.id`

/** Added to what `payers` selects. */
const lines = rowsOf({
  walletId: text('line_of'),
  now: integer('now'),
  netDays: integer('net_days'),
  opened: text('opened'),
  unapplied: nano('unapplied'),
  held: nano('open_held'),
})

const lineOf = (row: Row): CreditLine => {
  const account = payerRows.read(row)
  const { walletId, now, netDays, opened, unapplied, held } = lines.read(row)
  const block = payerBlock(account, walletId, now)
  return {
    account: account.id,
    walletId,
    limit: creditOf(account),
    netDays,
    opened,
    owed: unapplied - account.balance,
    held,
    status: block === undefined ? 'active' : block === 'past_due' ? 'past_due' : 'withdrawn',
  }
}

type Grant = Parameters<CreditStore['grantCredit']>[0]

/**
 * A limit that is lowered below what is owed and held tolerates that much. Nothing more is lent there; see `payer.ts`.
 */
const grantIn = async (
  run: Run,
  dialect: SqlDialect,
  { walletId, limit, netDays }: Grant,
  by: Actor,
): Promise<void> => {
  const { now, lock } = dialect
  const month = monthOf(await clockIn(run, dialect))
  const account = creditAccountOf(walletId)
  const made = await run(
    `insert into account (id, bounded, org_id, name, lowest, created_at)
     select $1, 1, a.org_id, a.name, cast($3 as bigint), ${now} from account a
     where a.id = $2 and a.bounded = 1 and not exists (select 1 from credit_line c where c.account_id = a.id)
     on conflict (id) do nothing returning id`,
    [account, walletId, -limit],
  )
  if (made.length === 0) {
    const known = await run(`select a.id from account a where a.id = $1${lock('a')}`, [account])
    if (known.length === 0) throw new Error(`there is no wallet ${walletId}`)
    await run(
      `update account set lowest = case when balance - held < cast($2 as bigint) then balance - held else cast($2 as bigint) end
       where id = $1`,
      [account, -limit],
    )
  }
  await run(
    `insert into credit_line (account_id, wallet_id, lim, net_days, opened) values ($1, $2, $3, $4, $5)
     on conflict (account_id) do update set lim = excluded.lim, net_days = excluded.net_days`,
    [account, walletId, limit, netDays, month],
  )
  const after = { limit_usd: decimalFromNano(limit), net_days: netDays }
  await recordOfWallet(run, dialect, { by, walletId, what: 'credit_line.granted', subject: account, after })
}

type InvoicePayment = Parameters<CreditStore['payInvoice']>[0]

const payIn = async (
  run: Run,
  dialect: SqlDialect,
  { id, from, note }: InvoicePayment,
  by: Actor,
): Promise<PayOutcome> => {
  const invoice = await lockInvoice(run, dialect, id)
  if (invoice === undefined) return 'unknown'
  const { total, walletId, account } = invoice
  if (invoice.paidRef !== undefined || total === 0n) return 'paid_before'
  if (from === 'wallet') {
    const both = await run(`${payers} where a.id in ($1, $2) order by a.id${dialect.lock('a')}`, [
      walletId,
      account,
    ])
    const wallet = both.map(payerRows.read).find((one) => one.id === walletId)
    if (wallet === undefined) throw new Error(`there is no wallet ${walletId}`)
    if (freeOf(wallet) < total) return shortOrLeased(run, dialect, wallet, total)
  }
  const ref = invoiceRef(id)
  const debit = from === 'wallet' ? walletId : 'cash'
  await postIn(run, dialect, {
    kind: 'topup',
    ref,
    debit,
    credit: account,
    amount: total,
    ...(note === undefined ? {} : { note }),
  })
  await markPaid(run, id, ref)
  const after = { from, amount_usd: decimalFromNano(total) }
  await recordOfWallet(run, dialect, { by, walletId, what: 'invoice.paid', subject: id, after })
  return 'paid'
}

export const creditStore = (engine: Engine): CreditStore => {
  const { dialect } = engine
  const linesText = linesOf(dialect)
  const creditLine = async (walletId: string): Promise<CreditLine | undefined> =>
    (await once(engine, 'control', `${linesText} where c.wallet_id = $1`, walletId)).map(lineOf)[0]
  const invoicesWhere = async (where: string, value: string) => {
    const text = `select ${dialect.now} as now, ${invoiceColumns} where ${where} order by i.serial desc limit ${MOST_LISTED}`
    const rows = await once(engine, 'control', text, value)
    return rows.map((row) => invoiceOf(row, countOf(row, 'now')))
  }
  return {
    grantCredit: async (grant, by) => {
      await engine.transaction('control', (run) => grantIn(run, dialect, grant, by))
      const line = await creditLine(grant.walletId)
      if (line === undefined) throw new Error(`wallet ${grant.walletId} has no credit line after a grant`)
      return line
    },
    creditLine,
    creditLines: async () => (await once(engine, 'control', `${linesText} order by p.id`)).map(lineOf),
    closeMonths: () => closeMonthsOn(engine),
    invoices: (walletId) => invoicesWhere('c.wallet_id = $1', walletId),
    invoice: async (id) => (await invoicesWhere('i.id = $1', id))[0],
    statement: async (walletId, month) => {
      const line = await creditLine(walletId)
      return line === undefined
        ? undefined
        : statementOf(engine, line, month, await invoicesWhere('c.wallet_id = $1', walletId))
    },
    payInvoice: (payment, by) => posting(engine, (run) => payIn(run, dialect, payment, by)),
  }
}
