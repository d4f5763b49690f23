/** Invoices as rows: read, locked, marked as paid. */
import type { Instant } from '../core/time.ts'
import { statusOf } from '../ledger/invoice.ts'
import type { Row, Run, Words } from './engine.ts'
import type { Invoice } from './funding-port.ts'
import { countOf, maybeCount, maybeText, nanoOf, textOf } from './row.ts'

export const invoiceColumns =
  'i.*, c.wallet_id from invoice i join credit_line c on c.account_id = i.account_id'

export const invoiceOf = (row: Row, now: Instant): Invoice => {
  const paidAt = maybeCount(row, 'paid_at')
  const paidRef = maybeText(row, 'paid_ref')
  const plain = {
    id: textOf(row, 'id'),
    walletId: textOf(row, 'wallet_id'),
    month: textOf(row, 'month'),
    brought: nanoOf(row, 'brought'),
    used: nanoOf(row, 'used'),
    total: nanoOf(row, 'total'),
    carried: nanoOf(row, 'carried'),
    issuedAt: countOf(row, 'issued_at'),
    dueAt: countOf(row, 'due_at'),
    ...(paidAt === undefined ? {} : { paidAt }),
    ...(paidRef === undefined ? {} : { paidRef }),
  }
  return { ...plain, status: statusOf(plain, now) }
}

/** Whoever pays an invoice locks it first, so that it is paid once. */
export const lockInvoice = async (run: Run, words: Words, id: string): Promise<Row | undefined> =>
  (await run(`select ${invoiceColumns} where i.id = $1${words.lock('i')}`, [id]))[0]

export const markPaid = (run: Run, id: string, ref: string): Promise<unknown> =>
  run(
    `update invoice set paid_ref = $2, paid_at = (select t.at from transfer t where t.kind = 'topup' and t.ref = $2)
     where id = $1`,
    [id, ref],
  )
