/** What a tenant sees by its read-only link: its own use, as the act `tenant.use` shows it. */
import { z } from 'zod'
import { csvOf } from '../control/csv.ts'
import { written } from '../control/face.ts'
import { month } from '../control/read.ts'
import { tenantUse, useOfTenant } from '../control/tenants/statements.ts'
import { readAs } from '../core/body.ts'
import { must, refuse } from '../core/refusal.ts'
import type { ConsoleRoute, Here } from './here.ts'
import { csv } from './schema/shared.ts'
import { useSheet } from './sheets.ts'

const asked = z.object({ month })

const ownUse = ({ gateway, tenant: link, request }: Here) => {
  if (link === undefined) throw refuse('sign_in_required', 'This page needs the link that you were given.')
  const query = must(readAs(asked, Object.fromEntries(request.query)))
  return useOfTenant(gateway, link.orgId, link.tenantId, query.month)
}

const row = { method: 'GET', audience: 'tenant', query: ['month'] } as const

export const ownUseRoutes: readonly ConsoleRoute[] = [
  {
    ...row,
    path: '/use',
    summary:
      'What a tenant used in a month, at the reseller’s price; by the secret of its link, as a bearer.',
    answer: tenantUse.shows,
    money: 'text',
    handler: async (here) => ({ value: written(await ownUse(here), 'text') }),
  },
  {
    ...row,
    path: '/use.csv',
    summary: 'The same as CSV.',
    answer: csv,
    csv: true,
    handler: async (here) => ({ csv: csvOf(useSheet(await ownUse(here))) }),
  },
]
