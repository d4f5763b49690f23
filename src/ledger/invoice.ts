/** Invoices of a credit line: what a month amounts to, and the state of an invoice. */
import { NANO_PER_USD, type Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'

export const CENT: Nano = NANO_PER_USD / 100n

/**
 * What an invoice asks for: everything owed, rounded down to whole cents once. The rest is carried into the next month,
 * so no money is lost or created over all invoices. If more was given back than used, that is carried too.
 */
export const invoiced = (owed: Nano): { readonly total: Nano; readonly carried: Nano } => {
  const total = owed > 0n ? owed - (owed % CENT) : 0n
  return { total, carried: owed - total }
}

/** The reference under which an invoice is paid: only once, in whatever way. */
export const invoiceRef = (id: string): string => `invoice:${id}`

export type InvoiceStatus = 'open' | 'past_due' | 'paid' | 'nothing_due'

/** An invoice is due until its last instant has passed. */
export const statusOf = (
  invoice: { readonly total: Nano; readonly dueAt: Instant; readonly paidAt?: Instant },
  now: Instant,
): InvoiceStatus => {
  if (invoice.total === 0n) return 'nothing_due'
  if (invoice.paidAt !== undefined) return 'paid'
  return invoice.dueAt < now ? 'past_due' : 'open'
}
