/** The buttons below a list that comes page by page. */
import { Group } from '@mantine/core'
import { SmallButton } from './ui.tsx'

export const PagesOf = ({
  from,
  on,
  go,
  names: [first, more] = ['Newest', 'Older'],
}: {
  /** Where this page begins; undefined if it is the first. */
  from: string | undefined
  /** Where the next page begins; undefined if this is the last. */
  on: string | undefined
  go: (after: string | undefined) => void
  names?: readonly [first: string, more: string]
}) => (
  <Group justify="center" mt={from === undefined && on === undefined ? 0 : 'md'}>
    {from !== undefined && <SmallButton onClick={() => go(undefined)}>{first}</SmallButton>}
    {on !== undefined && <SmallButton onClick={() => go(on)}>{more}</SmallButton>}
  </Group>
)

/** Where the page after this one begins. */
export const nextOf = ({
  data,
  has_more,
}: {
  data: readonly { readonly id: string }[]
  has_more: boolean
}) => (has_more ? data.at(-1)?.id : undefined)
