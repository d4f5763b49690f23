/** Keys, or tenants, that a search finds, page by page. */
import { type ReactNode, useState } from 'react'
import { usePage } from '../api.ts'
import { nextOf, PagesOf } from '../pages-of.tsx'
import { Aside, Failed } from '../ui.tsx'
import { Unread } from '../unread.tsx'
import { KeyTable, type Sorting } from './key-table.tsx'
import { TenantActs } from './tenant-acts.tsx'

/** Tenants are sorted in the page, so that it has as many as a list gives at once. */
const PAGE = { own: 100, tenants: 1_000 } as const

export const KeyList = ({
  which,
  search,
  after,
  onPage,
  empty,
  sorting,
  acts = false,
}: {
  which: 'own' | 'tenants'
  search: string
  /** The id after which the page begins; undefined for the newest. */
  after: string | undefined
  onPage: (after: string | undefined) => void
  empty: ReactNode
  sorting?: Sorting
  /** Whether rows are chosen, for what is done to several tenants at once. */
  acts?: boolean
}) => {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const { data, error } = usePage('GET /keys', { which, search, after, limit: PAGE[which] }, 5_000)
  if (data === undefined) return <Unread error={error} />
  if (data.data.length === 0) return empty
  const choose = (ids: readonly string[], on: boolean) =>
    setChosen((before) => (on ? before.union(new Set(ids)) : before.difference(new Set(ids))))
  const picked = data.data
    .filter(({ id }) => chosen.has(id))
    .map(({ id, tenant }) => ({ id, tenant: tenant ?? id }))
  return (
    <>
      <Failed error={error} />
      {picked.length > 0 && <TenantActs rows={picked} onDone={() => setChosen(new Set())} />}
      <KeyTable
        rows={data.data}
        tenants={which === 'tenants'}
        sorting={sorting}
        choice={acts ? { chosen, choose } : undefined}
      />
      {sorting?.by !== undefined && (after !== undefined || data.has_more) && (
        <Aside mt="sm">Only the tenants of this page are sorted; there are more.</Aside>
      )}
      <PagesOf from={after} on={nextOf(data)} go={onPage} />
    </>
  )
}
