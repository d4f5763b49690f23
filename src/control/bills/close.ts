/** Closing a month: what tenants used in it, at the reseller's price, becomes numbered invoices that change no more. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { nanoFromDecimal } from '../../core/money.ts'
import { refuse } from '../../core/refusal.ts'
import { nextMonthStart } from '../../core/time.ts'
import type { Bill, BillDocument, Biller, TenantBilling } from '../../store/tenants/bill-port.ts'
import { billSums, placesOf } from '../../tenancy/bill-sums.ts'
import { type Acting, act } from '../act.ts'
import { isoOf, name, statedMonth } from '../read.ts'
import { GOING_ON_MS, type OfTenant, statementOf } from '../tenants/statements.ts'
import { billShown, shownBill, statusOf } from './bills.ts'
import { billerOf } from './parties.ts'

/** A month as it is billed; undefined if nothing payable is left after rounding. */
const documentOf = (
  seller: Biller,
  buyer: TenantBilling | undefined,
  { tenant, lines }: OfTenant,
): BillDocument | undefined => {
  const { taxes: rates, currency, usd_rate: usdRate } = seller
  const terms = { rate: nanoFromDecimal(usdRate) ?? 0n, places: placesOf(currency), taxes: rates }
  const {
    payable,
    lines: amounts,
    ...sums
  } = billSums(
    lines.map(({ billed }) => billed),
    terms,
  )
  if (!payable) return undefined
  return {
    ...sums,
    seller,
    buyer: buyer ?? { name: tenant.label, address: '' },
    label: tenant.label,
    reference: tenant.reference ?? null,
    lines: lines.map((line, at) => ({
      model: line.model,
      requests: line.requests,
      input_tokens: line.inputTokens,
      output_tokens: line.outputTokens,
      amount: amounts[at] ?? '',
    })),
  }
}

/** Throws until none of the month's calls can still be running. */
const checkOver = (month: string): never => {
  const over = isoOf(nextMonthStart(Date.parse(`${month}-01`)) + GOING_ON_MS)
  throw refuse(
    'not_ready',
    `'month' is not over, or calls of it are still running, such as lines of a batch: close it after ${over}, when they have ended.`,
  )
}

const outcome = z
  .enum(['closed', 'was_closed', 'nothing_due'])
  .describe(
    '`was_closed`: it has an invoice already; `nothing_due`: its use rounds to nothing that can be paid',
  )

/** More than any reseller has in a month. */
const MOST = 100_000

/** Whether it is an invoice that no credit note took back. */
const stands = (bill: Bill) => (statusOf(bill) ?? 'credited') !== 'credited'

export const billClose = act({
  name: 'bill.close',
  summary:
    'Writes the invoices of a month that is over: of all tenants with use, or of one. A repeat changes nothing.',
  changes: ['invoices'],
  input: { organisation: name.optional(), month: statedMonth, tenant: name.optional() },
  shows: namedObject('BillsClosed', {
    month: z.string(),
    data: z.array(z.object({ tenant: z.string(), label: z.string(), outcome, bill: billShown.nullable() })),
  }),
  does: async (acting: Acting, asked) => {
    const { bills } = acting.control.store
    const { orgId, tenants, shown } = await statementOf(acting, asked)
    if (!shown.complete) checkOver(asked.month)
    const [seller, buyers, before] = await Promise.all([
      billerOf(acting, orgId),
      bills.tenantBillings(orgId),
      bills.bills({ orgId, month: asked.month, most: MOST }),
    ])
    const there = new Map(before.filter(stands).map((bill) => [bill.tenantId, bill]))
    const data = []
    let changed = false
    for (const of of tenants) {
      const { id: tenantId, label } = of.tenant
      const known = there.get(tenantId)
      const document = known?.document ?? documentOf(seller, buyers.get(tenantId), of)
      const closed =
        document === undefined
          ? undefined
          : await bills.close({ orgId, tenantId, month: asked.month, document }, acting.who.actor)
      changed ||= closed?.made === true
      data.push({
        tenant: tenantId,
        label,
        outcome: closed === undefined ? 'nothing_due' : closed.made ? 'closed' : 'was_closed',
        bill: closed === undefined ? null : shownBill(acting, closed.bill),
      } as const)
    }
    if (!changed) acting.unchanged?.()
    return { month: asked.month, data }
  },
})
