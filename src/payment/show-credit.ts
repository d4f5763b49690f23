/** Credit lines, invoices and statements as the API and the commands show them. */
import { greatest, usdNumber } from '../core/money.ts'
import type { CreditLine, CreditStatement, Invoice } from '../store/funding/funding-port.ts'

/** What may still be used; nothing while the line is suspended. */
const availableOf = ({ limit, owed, held, status }: CreditLine): bigint =>
  status === 'active' ? greatest(limit - owed - held, 0n) : 0n

export const shownLine = (line: CreditLine) => ({
  wallet: line.walletId,
  status: line.status,
  limit_usd: usdNumber(line.limit),
  owed_usd: usdNumber(line.owed),
  held_usd: usdNumber(line.held),
  available_usd: usdNumber(availableOf(line)),
  net_days: line.netDays,
})

export const shownInvoice = (invoice: Invoice) => ({
  id: invoice.id,
  month: invoice.month,
  status: invoice.status,
  brought_usd: usdNumber(invoice.brought),
  used_usd: usdNumber(invoice.used),
  total_usd: usdNumber(invoice.total),
  carried_usd: usdNumber(invoice.carried),
  issued_at: new Date(invoice.issuedAt).toISOString(),
  due_at: new Date(invoice.dueAt).toISOString(),
  paid_at: invoice.paidAt === undefined ? null : new Date(invoice.paidAt).toISOString(),
})

export const shownLines = ({ lines }: CreditStatement) =>
  lines.map((line) => ({
    key: line.keyId,
    label: line.label,
    model: line.model,
    requests: line.requests,
    input_tokens: line.inputTokens,
    output_tokens: line.outputTokens,
    amount_usd: usdNumber(line.amount),
  }))

export const shownStatement = (statement: CreditStatement) => ({
  wallet: statement.walletId,
  month: statement.month,
  opening_usd: usdNumber(statement.opening),
  used_usd: usdNumber(statement.used),
  paid_usd: usdNumber(statement.paid),
  closing_usd: usdNumber(statement.closing),
  lines: shownLines(statement),
  invoice: statement.invoice === undefined ? null : shownInvoice(statement.invoice),
})
