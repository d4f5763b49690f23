/** The organisation's keys: found by the address of the page, made in a dialog. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { KeyListShown } from '../../schema/keys.ts'
import { queryOf, reading } from '../parts/api.ts'
import { KeyTable } from '../parts/key-table.tsx'
import { NewKey } from '../parts/new-key.tsx'
import { Empty, Failed, Loading, PageHead, Panel } from '../parts/ui.tsx'
import { useMay } from '../parts/use-may.ts'

const PAGE = 100

const Found = ({
  search,
  after,
  onMore,
}: {
  search: string
  after: string | undefined
  onMore: (id: string) => void
}) => {
  const path = `/keys${queryOf({ which: 'own', search, after, limit: String(PAGE) })}`
  const { data, error } = useQuery({
    ...reading<KeyListShown>(path, 5_000),
    placeholderData: keepPreviousData,
  })
  if (error !== null) return <Failed error={error} />
  if (data === undefined) return <Loading rows={6} />
  if (data.data.length === 0)
    return search === '' ? (
      <Empty title="No keys yet">Create one, give it a cap, and paste the snippet into your client.</Empty>
    ) : (
      <Empty title="No key fits">Nothing is called “{search}”.</Empty>
    )
  return (
    <>
      <KeyTable rows={data.data} />
      {data.has_more && (
        <Group justify="center" mt="md">
          <Button variant="default" onClick={() => onMore(data.data.at(-1)?.id ?? '')}>
            Older keys
          </Button>
        </Group>
      )}
    </>
  )
}

export const Keys = () => {
  const asked: Record<string, string | undefined> = useSearch({ strict: false })
  const navigate = useNavigate()
  const mayCreate = useMay('keys', 'keys_own')
  const show = (change: Record<string, string | undefined>) =>
    void navigate({
      to: '/keys',
      search: Object.fromEntries(
        Object.entries({ ...asked, ...change }).filter(([, value]) => value !== undefined && value !== ''),
      ),
      replace: true,
    })
  return (
    <>
      <PageHead
        title="Keys"
        about="Each agent or program gets a key of its own, with caps that hold to the nano-dollar."
      >
        {mayCreate && <Button onClick={() => show({ new: 'key' })}>Create key</Button>}
      </PageHead>
      <Stack>
        <TextInput
          aria-label="Search keys"
          placeholder="Search by label, prefix or id"
          maw={360}
          value={asked.search ?? ''}
          onChange={(event) => show({ search: event.currentTarget.value, after: undefined })}
        />
        <Panel>
          <Found search={asked.search ?? ''} after={asked.after} onMore={(id) => show({ after: id })} />
        </Panel>
        <Text size="xs" c="dimmed">
          Amounts include what is charged and not yet invoiced; point at one for its exact value.
        </Text>
      </Stack>
      <NewKey opened={asked.new === 'key'} onClose={() => show({ new: undefined })} />
    </>
  )
}
