/** Batches of the keys in reach, live: how far each is, what it cost, and its cancelling. The address describes the view. */
import { Anchor, Progress, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { act, type Shown, showing } from '../../parts/api.ts'
import { Asked } from '../../parts/confirm.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { countText } from '../../parts/format.ts'
import { State } from '../../parts/state.tsx'
import { Empty, Money, PageHead, Panel, SmallButton, When } from '../../parts/ui.tsx'
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

const Cost = ({ batch: { id, cost_usd } }: { batch: Batch }) => (
  <Anchor component={Link} to="/calls" search={{ batch: id } as never} size="sm" title={`Calls of ${id}`}>
    <Money usd={cost_usd} />
  </Anchor>
)

const Cancel = ({ batch: { id } }: { batch: Batch }) => (
  <Asked
    verb="Cancel"
    name={`Cancel ${id}`}
    title="Cancel the batch?"
    yes="Cancel the batch"
    send={() => act('POST /batches/:batch/cancel', { batch: id })}
  >
    Lines that were sent end and are charged. The others are never sent and cost nothing.
  </Asked>
)

const BatchTable = ({ rows }: { rows: readonly Batch[] }) => {
  const mayChange = useMay('keys', 'keys_own')
  return (
    <DataTable
      label="Batches"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Made',
          className: 'one-line',
          cell: ({ id, created_at }) => (
            <span title={id}>
              <When at={created_at} />
            </span>
          ),
        },
        {
          head: 'Key',
          className: 'label',
          cell: ({ key }) => (
            <Anchor component={Link} to={`/keys/${key.id}`} size="sm">
              {key.label || key.prefix}
            </Anchor>
          ),
        },
        {
          head: 'Status',
          cell: ({ status, stopped_by: why }) => (
            <span title={why ?? undefined}>
              <State of={status} />
            </span>
          ),
        },
        { head: 'Lines', cell: (batch) => <Lines batch={batch} /> },
        { head: 'Cost', figure: true, cell: (batch) => <Cost batch={batch} /> },
        {
          head: '',
          className: 'right',
          cell: (batch) => mayChange && batch.status === 'in_progress' && <Cancel batch={batch} />,
        },
      ]}
    />
  )
}

export const Batches = () => {
  const { query, show } = useView('/batches')
  const { key, after } = query
  const asked = showing('GET /batches', { key, after }, LIVE_MS)
  const { data, error } = useQuery({ ...asked, placeholderData: keepPreviousData })
  const page = (name: string, next: string | undefined) => (
    <SmallButton mt="md" mr="xs" onClick={() => show({ after: next })}>
      {name}
    </SmallButton>
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
