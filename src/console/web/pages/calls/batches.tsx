/** Batches of the keys in reach, live: how far each is, what it cost, and its cancelling. The address describes the view. */
import { Anchor, Button, Progress, Table, Text } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { act, queries, type Shown, showing } from '../../parts/api.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { countText } from '../../parts/format.ts'
import { Empty, Money, PageHead, Panel, State, TableBox, When } from '../../parts/ui.tsx'
import { Unread } from '../../parts/unread.tsx'
import { useMay } from '../../parts/use-may.ts'
import { useView } from '../../parts/use-view.ts'

type Batch = Shown<'GET /batches'>['data'][number]

const LIVE_MS = 2_000

const words = {
  waiting: 'waiting',
  sent: 'sent',
  succeeded: 'answered',
  errored: 'failed',
  stopped: 'never sent',
}

const Lines = ({ batch: { id, lines } }: { batch: Batch }) => {
  const counts = Object.entries(words).map(
    ([state, word]) => [lines[state as keyof typeof words], word] as const,
  )
  const open = lines.waiting + lines.sent
  return (
    <Text size="xs" c="dimmed" miw={170} component="div">
      <Progress
        value={100 - (open / lines.total) * 100}
        size={5}
        mb={4}
        aria-label={`Lines of ${id} that ended`}
      />
      {counts.flatMap(([count, word]) => (count === 0 ? [] : [`${countText(count)} ${word}`])).join(' · ')}
    </Text>
  )
}

const Row = ({ batch, acts }: { batch: Batch; acts: React.ReactNode }) => (
  <Table.Tr>
    <Table.Td className="one-line" title={batch.id}>
      <When at={batch.created_at} />
    </Table.Td>
    <Table.Td className="label">
      <Anchor component={Link} to={`/keys/${batch.key.id}`} size="sm">
        {batch.key.label || batch.key.prefix}
      </Anchor>
    </Table.Td>
    <Table.Td title={batch.stopped_by ?? undefined}>
      <State of={batch.status} />
    </Table.Td>
    <Table.Td>
      <Lines batch={batch} />
    </Table.Td>
    <Table.Td className="right">
      <Anchor
        component={Link}
        to="/calls"
        search={{ batch: batch.id } as never}
        size="sm"
        title={`Calls of ${batch.id}`}
      >
        <Money usd={batch.cost_usd} />
      </Anchor>
    </Table.Td>
    <Table.Td className="right">{batch.status === 'in_progress' && acts}</Table.Td>
  </Table.Tr>
)

const BatchTable = ({ rows }: { rows: readonly Batch[] }) => {
  const mayChange = useMay('keys', 'keys_own')
  const [asked, setAsked] = useState<string>()
  const cancel = useMutation({
    mutationFn: () => act('POST /batches/:batch/cancel', { batch: asked }),
    onSuccess: async () => {
      setAsked(undefined)
      await queries.invalidateQueries()
    },
  })
  const button = ({ id }: Batch) => (
    <Button size="compact-sm" variant="default" onClick={() => setAsked(id)} aria-label={`Cancel ${id}`}>
      Cancel
    </Button>
  )
  return (
    <TableBox>
      <Table verticalSpacing="xs" aria-label="Batches">
        <Table.Thead>
          <Table.Tr>
            {['Made', 'Key', 'Status', 'Lines', 'Cost', 'Actions'].map((name) => (
              <Table.Th key={name} className={name === 'Cost' ? 'right' : ''}>
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((one) => (
            <Row key={one.id} batch={one} acts={mayChange && button(one)} />
          ))}
        </Table.Tbody>
      </Table>
      <Confirm
        {...{ opened: asked !== undefined, title: 'Cancel the batch?', verb: 'Cancel the batch' }}
        {...{ pending: cancel.isPending, error: cancel.error, onYes: cancel.mutate }}
        onClose={() => setAsked(undefined)}
      >
        Lines that were sent end and are charged. The others are never sent and cost nothing.
      </Confirm>
    </TableBox>
  )
}

export const Batches = () => {
  const { query, show } = useView('/batches')
  const { key, after } = query
  const asked = showing('GET /batches', { key, after }, LIVE_MS)
  const { data, error } = useQuery({ ...asked, placeholderData: keepPreviousData })
  const page = (name: string, next: string | undefined) => (
    <Button variant="default" size="xs" mt="md" mr="xs" onClick={() => show({ after: next })}>
      {name}
    </Button>
  )
  return (
    <>
      <PageHead title="Batches" about="Lists of calls that nobody waits for, of all keys that you see." />
      <Panel>
        {data === undefined && <Unread error={error} />}
        {data?.data.length === 0 && <Empty title="No batches">A key makes one at /v1/batches.</Empty>}
        {data !== undefined && data.data.length > 0 && <BatchTable rows={data.data} />}
        {after !== undefined && page('Newest', undefined)}
        {data?.has_more === true && page('Older', data.data.at(-1)?.id)}
      </Panel>
    </>
  )
}
