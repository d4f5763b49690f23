/** Acts that make files of invoices: the PDF, files for accounting, and the mail that brings the PDF to the tenant. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import type { Bill } from '../../store/tenants/bill-port.ts'
import { type Acting, act } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { sendLetter } from '../people/mail.ts'
import { email } from '../read.ts'
import { datevCsv, plainCsv, quickBooksCsv } from './accounting.ts'
import { billFilters, billIn, billShown, billsOf, namedBill, reading, shownBill } from './bills.ts'
import { drawing } from './drawing.ts'
import { billerOf } from './parties.ts'

export const fileShown = namedObject('FileShown', {
  name: z.string(),
  type: z.string(),
  base64: z.string().describe('Its bytes'),
})

const fileOf = (name: string, type: string, bytes: Buffer) => ({
  name,
  type,
  base64: bytes.toString('base64'),
})

/** The PDF of a bill, the same bytes each time. */
export const pdfOf = async ({ control }: Pick<Acting, 'control'>, bill: Bill) => {
  const { logo } = bill.document.seller
  const image = logo === undefined ? undefined : await control.store.bills.logo(bill.orgId, logo)
  const { drawBill } = await drawing()
  const bytes = await drawBill(bill, image === undefined ? undefined : Buffer.from(image, 'base64'))
  return fileOf(`${bill.number.replaceAll('/', '-')}.pdf`, 'application/pdf', bytes)
}

export const billPdf = act({
  name: 'bill.pdf',
  summary: 'An invoice or credit note as a PDF; the same bytes each time.',
  reads: reading,
  input: namedBill,
  shows: fileShown,
  does: async (acting, { organisation, bill: id }) =>
    pdfOf(acting, (await billIn(acting, organisation, id)).bill),
})

/** More would be no file that anybody imports at once. */
const MOST_EXPORTED = 10_000

export const billExport = act({
  name: 'bill.export',
  summary: 'Invoices and credit notes as a file for accounting, oldest first.',
  reads: reading,
  input: { ...billFilters, form: z.enum(['csv', 'datev', 'quickbooks'], 'must be csv, datev or quickbooks') },
  shows: fileShown,
  does: async (acting, { form, ...filters }) => {
    const found = (await billsOf(acting, { ...filters, most: MOST_EXPORTED + 1 })).toReversed()
    if (found.length > MOST_EXPORTED)
      throw invalid(
        'month',
        `A file has at most ${MOST_EXPORTED} invoices, and these are more: choose a 'month', a 'tenant' or a 'status'.`,
      )
    const called = `${filters.month ?? 'all'}.csv`
    if (form === 'csv') return fileOf(`invoices-${called}`, 'text/csv; charset=utf-8', plainCsv(found))
    if (form === 'quickbooks')
      return fileOf(`quickbooks-${called}`, 'text/csv; charset=utf-8', quickBooksCsv(found))
    const { datev } = await billerOf(acting, found[0]?.orgId ?? orgOf(acting, filters.organisation))
    const bytes = datevCsv(found, datev, acting.control.clock.now())
    return fileOf(`EXTF_Buchungsstapel_${called}`, 'text/csv; charset=windows-1252', bytes)
  },
})

const letterOf = ({ number, kind, document }: Bill, told: string) => ({
  subject: `${kind === 'invoice' ? 'Invoice' : 'Credit note'} ${number} of ${document.seller.name}`,
  text: `Dear ${document.buyer.name},\n\n${told}\n\n${document.seller.name}\n`,
})

const toldOf = ({ kind, number, month, dueAt, document: { total, seller } }: Bill): string => {
  const sum = `${total} ${seller.currency}`
  return kind === 'invoice'
    ? `please find attached invoice ${number} for ${month}: ${sum}, payable until ${new Date(dueAt).toISOString().slice(0, 10)}.`
    : `please find attached credit note ${number} for ${month}: ${sum} are given back.`
}

export const billMail = act({
  name: 'bill.mail',
  summary: 'Mails the PDF to the tenant: to its billing address, or another.',
  changes: ['invoices'],
  input: { ...namedBill, to: email.optional() },
  shows: billShown,
  does: async (acting, { organisation, bill: id, to }) => {
    const { control, who } = acting
    const { orgId, bill } = await billIn(acting, organisation, id)
    const now = (await control.store.bills.tenantBillings(orgId)).get(bill.tenantId)
    const address = to ?? now?.email ?? bill.document.buyer.email
    if (control.console?.smtp === undefined)
      throw refuse('not_ready', 'The server sends no mail: its operator sets SMTP_URL first.')
    if (address === undefined)
      throw refuse(
        'not_ready',
        "The tenant has no e-mail address for invoices: give it one, or name another as 'to'.",
      )
    const { name, base64, type } = await pdfOf(acting, bill)
    const { email: replyTo } = bill.document.seller
    const sent = await sendLetter(control, {
      to: address,
      ...(replyTo === undefined ? {} : { replyTo }),
      ...letterOf(bill, toldOf(bill)),
      attachments: [{ filename: name, contentType: type, content: Buffer.from(base64, 'base64') }],
    })
    if (!sent) throw refuse('service_unavailable', 'The mail server did not take the mail; try again later.')
    await control.store.bills.noteMailed({ orgId, id: bill.id, to: address }, who.actor)
    return shownBill(acting, (await billIn(acting, orgId, bill.id)).bill)
  },
})
