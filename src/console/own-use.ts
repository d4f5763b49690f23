/** What a tenant sees by its read-only link: its own use, as the act `tenant.use` shows it. */

import { z } from 'zod'
import { billShown, shownBill } from '../control/bills/bills.ts'
import { fileShown, pdfOf } from '../control/bills/files.ts'
import { shownBiller } from '../control/bills/parties.ts'
import { csvOf } from '../control/csv.ts'
import { written } from '../control/face.ts'
import { month } from '../control/read.ts'
import { tenantUse, useOfTenant } from '../control/tenants/statements.ts'
import { namedObject, readAs } from '../core/body.ts'
import { must, refuse } from '../core/refusal.ts'
import type { ConsoleRoute, Here } from './here.ts'
import { route } from './row.ts'
import { csv } from './schema/shared.ts'
import { useSheet } from './sheets.ts'

const asked = z.object({ month })

const linkOf = ({ tenant }: Here) =>
  must(tenant ?? refuse('sign_in_required', 'This page needs the link that you were given.'))

const ownUse = (here: Here) => {
  const { gateway, request } = here
  const link = linkOf(here)
  const query = must(readAs(asked, Object.fromEntries(request.query)))
  return useOfTenant(gateway, link.orgId, link.tenantId, query.month)
}

/** What the tenant sees of an invoice: not the reseller's note of the payment. */
const ownBill = billShown.omit({ paid_ref: true, mailed_at: true })
const ownBills = namedObject('OwnBills', {
  seller: z.object({ name: z.string(), logo: z.string().nullable() }).nullable(),
  data: z.array(ownBill),
})

/** More than a tenant is written in its life. */
const MOST_BILLS = 1_000

const billsHere = async (here: Here): Promise<z.output<typeof ownBills>> => {
  const { bills } = here.gateway.store
  const { orgId, tenantId } = linkOf(here)
  const [biller, found] = await Promise.all([
    bills.biller(orgId),
    bills.bills({ orgId, tenantId, most: MOST_BILLS }),
  ])
  const shown = biller === undefined ? undefined : await shownBiller({ control: here.gateway }, orgId, biller)
  return {
    seller: shown === undefined ? null : { name: shown.name, logo: shown.logo },
    data: found.map((bill) => {
      const { paid_ref: _ref, mailed_at: _mailed, ...own } = shownBill({ control: here.gateway }, bill)
      return own
    }),
  }
}

const ownPdf = async (here: Here) => {
  const { orgId, tenantId } = linkOf(here)
  const bill = await here.gateway.store.bills.bill({ orgId, id: here.request.params.bill ?? '' })
  if (bill?.tenantId !== tenantId) throw refuse('not_found', 'There is no such invoice, or it is not yours.')
  return pdfOf({ control: here.gateway }, bill)
}

const ofMonth = { audience: 'tenant', query: ['month'] } as const

export const ownUseRoutes: readonly ConsoleRoute[] = [
  route('GET /use', {
    ...ofMonth,
    summary:
      'What a tenant used in a month, at the reseller’s price; by the secret of its link, as a bearer.',
    answer: tenantUse.shows,
    money: 'text',
    handler: async (here) => ({ value: written(await ownUse(here), 'text') }),
  }),
  route('GET /use.csv', {
    ...ofMonth,
    summary: 'The same as CSV.',
    answer: csv,
    csv: true,
    handler: async (here) => ({ csv: csvOf(useSheet(await ownUse(here))) }),
  }),
  route('GET /use/bills', {
    audience: 'tenant',
    summary: 'The tenant’s invoices and credit notes, newest first, and who writes them; by the same secret.',
    answer: ownBills,
    handler: async (here) => ({ value: await billsHere(here) }),
  }),
  route('GET /use/bills/:bill/pdf', {
    audience: 'tenant',
    summary: 'One of them as a PDF.',
    answer: fileShown,
    handler: async (here) => ({ value: await ownPdf(here) }),
  }),
]
