/** Invoices as rows: read, locked, marked as paid. */
import type { Instant } from '../../core/time.ts'
import { statusOf } from '../../ledger/invoice.ts'
import { integer, maybe, nano, type RowOf, rowsOf, text } from '../engine/columns.ts'
import type { Row, Run, SqlDialect } from '../engine/engine.ts'
import type { Invoice } from './funding-port.ts'

const shown = {
  id: text('id'),
  walletId: text('wallet_id'),
  month: text('month'),
  brought: nano('brought'),
  used: nano('used'),
  total: nano('total'),
  carried: nano('carried'),
  endsAt: integer('ends_at'),
  issuedAt: integer('issued_at'),
  dueAt: integer('due_at'),
  paidAt: maybe(integer('paid_at')),
  paidRef: maybe(text('paid_ref')),
} as const
const shownInvoices = rowsOf(shown)

const kept = { ...shown, account: text('account_id') } as const
const invoices = rowsOf(kept)

export const invoiceColumns =
  'i.*, c.wallet_id from invoice i join credit_line c on c.account_id = i.account_id'

export const invoiceOf = (row: Row, now: Instant): Invoice => {
  const invoice = shownInvoices.read(row)
  return { ...invoice, status: statusOf(invoice, now) }
}

/** Whoever pays an invoice locks it first, so that it is paid only once. */
export const lockInvoice = async (
  run: Run,
  dialect: SqlDialect,
  id: string,
): Promise<RowOf<typeof kept> | undefined> =>
  (await run(`select ${invoiceColumns} where i.id = $1${dialect.lock('i')}`, [id])).map(invoices.read)[0]

export const markPaid = (run: Run, id: string, ref: string): Promise<unknown> =>
  run(
    `update invoice set paid_ref = $2, paid_at = (select t.at from transfer t where t.kind = 'topup' and t.ref = $2)
     where id = $1`,
    [id, ref],
  )
