/** Keys, or tenants, that a search finds, page by page. */
import { Button, Group } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { showing } from '../api.ts'
import { Unread } from '../unread.tsx'
import { KeyTable } from './key-table.tsx'

const PAGE = 100

export const KeyList = ({
  which,
  search,
  after,
  onPage,
  empty,
}: {
  which: 'own' | 'tenants'
  search: string
  /** The id after which the page begins; undefined for the newest. */
  after: string | undefined
  onPage: (after: string | undefined) => void
  empty: ReactNode
}) => {
  const { data, error } = useQuery({
    ...showing('GET /keys', { which, search, after, limit: PAGE }, 5_000),
    placeholderData: keepPreviousData,
  })
  if (error !== null || data === undefined) return <Unread error={error} />
  if (data.data.length === 0) return empty
  return (
    <>
      <KeyTable rows={data.data} tenants={which === 'tenants'} />
      <Group justify="center" mt={data.has_more || after !== undefined ? 'md' : 0}>
        {after !== undefined && (
          <Button variant="default" size="xs" onClick={() => onPage(undefined)}>
            Newest
          </Button>
        )}
        {data.has_more && (
          <Button variant="default" size="xs" onClick={() => onPage(data.data.at(-1)?.id)}>
            Older
          </Button>
        )}
      </Group>
    </>
  )
}
