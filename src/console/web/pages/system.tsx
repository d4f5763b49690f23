/** For operators: the processes, what they have borrowed, and the books. */
import { SimpleGrid, Stack, Table, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { act, type Shown, useShown } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { countText } from '../parts/format.ts'
import { State } from '../parts/state.tsx'
import { TableBox } from '../parts/table-box.tsx'
import { Aside, Failed, Figure, Money, PageHead, Panel, SmallButton, When } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

const Audit = ({ books }: { books: Shown<'GET /operator/system'>['books'] }) => {
  const run = useMutation({ mutationFn: () => act('POST /operator/audit') })
  return (
    <Panel
      title="Books"
      action={
        <SmallButton loading={run.isPending} onClick={() => run.mutate()}>
          Check now
        </SmallButton>
      }
    >
      <Text size="sm">
        {books.trouble ??
          (books.looked_at === null
            ? 'Not checked since this process started'
            : 'Every sum of the ledger was right at the last check')}
        {books.looked_at !== null && (
          <>
            {' '}
            (<When at={books.looked_at} />)
          </>
        )}
        .
      </Text>
      <Failed error={run.error} />
      {run.data !== undefined && (
        <TableBox>
          <Table mt="sm" aria-label="Laws of the books">
            <Table.Tbody>
              {run.data.data.map(({ check, ok, detail }) => (
                <Table.Tr key={check}>
                  <Table.Td>{check}</Table.Td>
                  <Table.Td>{ok ? <State of="ok" /> : <Text size="sm">broken: {detail}</Text>}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </TableBox>
      )}
    </Panel>
  )
}

const Processes = ({ data }: { data: Shown<'GET /operator/system'> }) => (
  <Panel title="Processes">
    <DataTable
      label="Processes"
      rows={data.processes}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Process',
          className: 'mono',
          cell: ({ id }) => `${id}${id === data.instance ? ' (answers this page)' : ''}`,
        },
        {
          head: 'Last heartbeat',
          cell: ({ beat_at: at }) => (at === null ? 'has left' : <When at={at} ago />),
        },
        { head: 'Open calls', figure: true, cell: (one) => countText(one.open_calls) },
        { head: 'Held', figure: true, cell: (one) => <Money usd={one.held_usd} /> },
        { head: 'Leases', figure: true, cell: (one) => countText(one.leases) },
        { head: 'Lent', figure: true, cell: (one) => <Money usd={one.lent_usd} /> },
      ]}
    />
    <Aside mt="sm">
      Lent is what a process may charge before it asks the ledger again; held is what its open calls may still
      cost.
    </Aside>
  </Panel>
)

const Configuration = ({ config }: { config: NonNullable<Shown<'GET /operator/system'>['config']> }) => (
  <Panel title="Configuration">
    <Text size="sm">
      {config.trouble === null
        ? 'The newest configuration is in use'
        : `The newest configuration is not valid, so the previous one is still in use: ${config.trouble}`}{' '}
      (version <span className="mono">{config.version}</span>, read <When at={config.applied_at} />
      ).
    </Text>
    {config.needs_restart.length > 0 && (
      <Text size="sm">Changed, and only read at a start: {config.needs_restart.join(', ')}.</Text>
    )}
  </Panel>
)

export const System = () => {
  const { data, error } = useShown('GET /operator/system', {}, 5_000)
  if (data === undefined) return <Unread error={error} />
  return (
    <>
      <PageHead
        title="System"
        about="The ledger and its processes. Figures are those of the process that answered this page."
      />
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
          <Figure name="Ledger" below={data.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}>
            {data.fresh ? 'in touch' : 'out of touch'}
          </Figure>
          <Figure name="Open calls" below="of this process">
            {countText(data.open_calls)}
          </Figure>
          <Figure
            name="Queue"
            below={
              data.journal === null
                ? 'changes that wait for the ledger; no journal'
                : `changes that wait for the ledger; journal in ${data.journal}`
            }
          >
            {countText(data.queued)}
          </Figure>
          <Figure name="Memory" below="of this process">
            {countText(data.memory_mb)} MB
          </Figure>
        </SimpleGrid>
        <Processes data={data} />
        {data.config !== null && <Configuration config={data.config} />}
        <Audit books={data.books} />
        <Aside>
          Reports are summed up to <When at={data.rolled_up_until} />; what came later is summed from the
          ledger each time.
        </Aside>
      </Stack>
    </>
  )
}
