/** Acts on invoices that are closed: listed, shown, taken back by a credit note, noted as paid. */
import { z } from 'zod'
import { namedObject, text } from '../../core/body.ts'
import { present } from '../../core/json-body.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { dayOf } from '../../core/time.ts'
import type { Bill } from '../../store/tenants/bill-port.ts'
import { type Acting, act } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { count, instant, isoOf, month, name } from '../read.ts'
import { time } from '../shown-key.ts'
import { tenantOf } from '../tenants/tenant-of.ts'

const money = z.string().describe('In the currency of the invoice, with all its decimals')

export const billShown = namedObject('Bill', {
  id: z.string(),
  number: z.string(),
  kind: z.enum(['invoice', 'credit_note']),
  status: z.enum(['open', 'paid', 'credited']).nullable().describe('null of a credit note'),
  overdue: z.boolean(),
  month: z.string(),
  tenant: z.string(),
  label: z.string(),
  reference: z.string().nullable(),
  currency: z.string(),
  net: money,
  total: money.describe('To be paid; of a credit note: given back'),
  issued_at: time,
  due_at: time,
  paid_at: time.nullable(),
  paid_ref: z.string().nullable(),
  mailed_at: time.nullable(),
  credits: z.string().nullable().describe('Of a credit note: the invoice that it takes back'),
  credited_by: z.string().nullable(),
})

/** Where an invoice stands; a credit note stands nowhere. */
export const statusOf = ({ kind, creditedBy, paidAt }: Bill) => {
  if (kind === 'credit_note') return null
  if (creditedBy !== undefined) return 'credited'
  return paidAt === undefined ? 'open' : 'paid'
}

const timeOf = (at: number | undefined) => (at === undefined ? null : isoOf(at))

export const shownBill = ({ control }: Pick<Acting, 'control'>, bill: Bill): z.output<typeof billShown> => ({
  id: bill.id,
  number: bill.number,
  kind: bill.kind,
  status: statusOf(bill),
  overdue: statusOf(bill) === 'open' && bill.dueAt < control.clock.now(),
  month: bill.month,
  tenant: bill.tenantId,
  label: bill.document.label,
  reference: bill.document.reference,
  currency: bill.document.seller.currency,
  net: bill.document.net,
  total: bill.document.total,
  issued_at: isoOf(bill.issuedAt),
  due_at: isoOf(bill.dueAt),
  paid_at: timeOf(bill.paidAt),
  paid_ref: bill.paidRef ?? null,
  mailed_at: timeOf(bill.mailedAt),
  credits: bill.credits ?? null,
  credited_by: bill.creditedBy ?? null,
})

export const reading = ['tenants', 'statements', 'invoices'] as const
export const namedBill = { organisation: name.optional(), bill: name }

/** The bill that an input names, of an organisation in reach. Throws the 404. */
export const billIn = async (acting: Acting, organisation: string | undefined, id: string) => {
  const orgId = orgOf(acting, organisation)
  const found = await acting.control.store.bills.bill({ orgId, id })
  return { orgId, bill: must(found ?? refuse('not_found', 'There is no such invoice, or it is not yours.')) }
}

export const billFilters = {
  organisation: name.optional(),
  tenant: name.optional(),
  month,
  status: z.enum(['open', 'paid', 'credited'], 'must be open, paid or credited').optional(),
}
type Filters = { readonly [Name in keyof typeof billFilters]?: z.output<(typeof billFilters)[Name]> }

/** The bills that a list's filters leave, newest first. */
export const billsOf = async (
  acting: Acting,
  {
    organisation,
    tenant,
    ...of
  }: Filters & { readonly beforeSerial?: number | undefined; readonly most: number },
) => {
  const orgId = orgOf(acting, organisation)
  const tenantId = tenant === undefined ? undefined : (await tenantOf(acting.control, orgId, tenant)).id
  return acting.control.store.bills.bills({ ...of, orgId, tenantId })
}

export const billList = act({
  name: 'bill.list',
  summary: 'Invoices to tenants and their credit notes, newest first.',
  reads: reading,
  input: {
    ...billFilters,
    limit: count(1, 500),
    after: name.optional().describe('The `id` of the last one before'),
  },
  shows: namedObject('BillList', {
    object: z.literal('list'),
    data: z.array(billShown),
    has_more: z.boolean(),
  }),
  does: async (acting, { limit = 100, after, ...filters }) => {
    const last = after === undefined ? undefined : await billIn(acting, filters.organisation, after)
    const found = await billsOf(acting, { ...filters, beforeSerial: last?.bill.serial, most: limit + 1 })
    return {
      object: 'list' as const,
      data: found.slice(0, limit).map((bill) => shownBill(acting, bill)),
      has_more: found.length > limit,
    }
  },
})

const party = z.looseObject({ name: z.string(), address: z.string() })
const detail = billShown
  .extend({
    seller: party.describe('As it was when the invoice was closed, with currency and rate'),
    buyer: party,
    lines: z.array(
      z.object({
        model: z.string(),
        requests: z.int(),
        input_tokens: z.int(),
        output_tokens: z.int(),
        amount: money,
      }),
    ),
    taxes: z.array(z.object({ name: z.string(), percent: z.number(), amount: money })),
    reason: z.string().nullable().describe('Of a credit note'),
  })
  .meta({ id: 'BillDetail' })

export const billGet = act({
  name: 'bill.get',
  summary: 'One invoice or credit note as it was closed.',
  reads: reading,
  input: namedBill,
  shows: detail,
  does: async (acting, { organisation, bill: id }) => {
    const { bill } = await billIn(acting, organisation, id)
    const { seller, buyer, lines, taxes, credits } = bill.document
    return {
      ...shownBill(acting, bill),
      seller: { ...seller },
      buyer: { ...buyer },
      lines: [...lines],
      taxes: [...taxes],
      reason: credits?.reason ?? null,
    }
  },
})

export const billCredit = act({
  name: 'bill.credit',
  summary: 'Takes an invoice back by a credit note of its own number; the month may then be closed again.',
  changes: ['invoices'],
  input: { ...namedBill, reason: text(1, 300, 'must say why in at most 300 characters').transform(storable) },
  shows: billShown,
  does: async (acting, { organisation, bill: id, reason }) => {
    const { orgId, bill } = await billIn(acting, organisation, id)
    const done = await acting.control.store.bills.credit({ orgId, id: bill.id, reason }, acting.who.actor)
    if (done === undefined) throw invalid('bill', "'bill' is a credit note; only invoices are taken back.")
    if (!done.made) acting.unchanged?.()
    return shownBill(acting, done.bill)
  },
})

export const billPaid = act({
  name: 'bill.paid',
  summary: 'Notes that an invoice was paid, or that it was not.',
  changes: ['invoices'],
  input: {
    ...namedBill,
    paid: z.boolean('must be true or false'),
    paid_on: instant().describe('The day on which the money came; by default today'),
    ref: text(1, 200, 'must have 1 to 200 characters').transform(storable).optional(),
  },
  shows: billShown,
  does: async (acting, { organisation, bill: id, paid, paid_on: on, ref }) => {
    const { orgId, bill } = await billIn(acting, organisation, id)
    const { bills } = acting.control.store
    if (bill.kind === 'credit_note') throw invalid('bill', "'bill' is a credit note, which nobody pays.")
    const today = Date.parse(dayOf(acting.control.clock.now()))
    const payment = { paidAt: on ?? bill.paidAt ?? today, ...present({ ref: ref ?? bill.paidRef }) }
    const noted = await bills.notePaid({ orgId, id: bill.id, ...(paid ? payment : {}) }, acting.who.actor)
    if (!noted) acting.unchanged?.()
    return shownBill(acting, (await billIn(acting, orgId, bill.id)).bill)
  },
})
