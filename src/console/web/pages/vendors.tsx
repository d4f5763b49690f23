/** For operators: the vendors, their keys, what fails, and how the newest calls went. */
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Shown, showing } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { countText } from '../parts/format.ts'
import { figureColumns, LatencyReport } from '../parts/latency.tsx'
import { PageHead, Panel, State } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

type Vendor = Shown<'GET /operator/vendors'>['data'][number]

const Health = ({ failing }: { failing: Vendor['failing'] }) =>
  failing.length === 0 ? (
    <State of="ok" />
  ) : (
    <Stack gap={2}>
      {failing.map(({ key, model, failures, seconds }) => (
        <Text size="sm" key={`${key} ${model}`}>
          {model ?? 'all models'} at {key}: {failures} {failures === 1 ? 'failure' : 'failures'} in a row,
          tried again {seconds === 0 ? 'by the next call' : `in ${seconds} s`}
        </Text>
      ))}
    </Stack>
  )

const VendorTable = ({ data }: { data: Shown<'GET /operator/vendors'> }) => (
  <DataTable
    label="Vendors"
    rows={data.data}
    keyOf={({ id }) => id}
    columns={[
      {
        head: 'Vendor',
        cell: ({ name, id }) => (
          <>
            {name}
            <Text size="xs" c="dimmed" className="mono">
              {id}
            </Text>
          </>
        ),
      },
      {
        head: 'Keys, by their last four letters',
        className: 'mono',
        cell: ({ keys }) => (keys.length === 0 ? 'none needed' : keys.join(', ')),
      },
      { head: 'Health', cell: ({ failing }) => <Health failing={failing} /> },
      {
        head: 'Attempts',
        title: 'Attempts at it, of the newest calls',
        figure: true,
        cell: ({ calls }) => countText(calls),
      },
      ...figureColumns(),
    ]}
  />
)

const Off = ({ off }: { off: Shown<'GET /operator/vendors'>['off'] }) => (
  <Panel title="Off">
    <Text size="sm" mb="sm" c="dimmed">
      To turn one on, set its variable and restart.
    </Text>
    <DataTable
      label="Vendors that are off"
      rows={off}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Vendor', cell: ({ id }) => id },
        { head: 'Variable', className: 'mono', cell: ({ variable }) => variable },
      ]}
    />
  </Panel>
)

/** The last day of all organisations, by vendor. */
const LastDay = () => {
  const { data, error } = useQuery(showing('GET /operator/latency', { by: 'vendor' }, 30_000))
  if (error !== null || data === undefined) return <Unread error={error} />
  return <LatencyReport data={data} nameOf={({ label }) => label} />
}

export const Vendors = () => {
  const { data, error } = useQuery(showing('GET /operator/vendors', {}, 5_000))
  if (data === undefined) return <Unread error={error} />
  return (
    <>
      <PageHead
        title="Vendors"
        about={`Health is that of the process that answered this page. Attempts are those of the newest ${countText(data.of_calls)} calls of all organisations for which vendors were asked, answered or not; times are those of the answered ones.`}
      />
      <Stack>
        <Panel title="On">
          <VendorTable data={data} />
        </Panel>
        <LastDay />
        {data.off.length > 0 && <Off off={data.off} />}
      </Stack>
    </>
  )
}
