/** The buttons below a list that comes page by page. */
import { Group } from '@mantine/core'
import { SmallButton } from './ui.tsx'

export const PagesOf = ({
  back,
  on,
  go,
  names: [first, more] = ['Newest', 'Older'],
}: {
  /** Where the page before this one begins, or null for the first; undefined if this is the first. */
  back: string | null | undefined
  /** Where the next page begins; undefined if this is the last. */
  on: string | undefined
  go: (after: string | undefined) => void
  names?: readonly [first: string, more: string]
}) => (
  <Group justify="center" mt={back === undefined && on === undefined ? 0 : 'md'}>
    {back !== undefined && <SmallButton onClick={() => go(back ?? undefined)}>{first}</SmallButton>}
    {on !== undefined && <SmallButton onClick={() => go(on)}>{more}</SmallButton>}
  </Group>
)
