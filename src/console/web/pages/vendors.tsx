/** For operators: the vendors, their keys, what fails, and how the newest calls went. */
import { Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Shown, showing } from '../parts/api.ts'
import { countText } from '../parts/format.ts'
import { PageHead, Panel, State, TableBox } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

type Vendor = Shown<'GET /operator/vendors'>['data'][number]

const ms = (value: number | null): string => (value === null ? '—' : `${countText(value)} ms`)

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

/** A share of few attempts says little, so that they are named; what is not none is not shown as none. */
const Rate = ({ vendor: { calls, failed } }: { vendor: Vendor }) => {
  if (calls === 0) return '—'
  const percent = (100 * failed) / calls
  return (
    <span title={`${countText(failed)} of ${countText(calls)}`}>
      {failed > 0 && percent < 1 ? '< 1' : failed < calls ? Math.min(99, Math.round(percent)) : 100} %
    </span>
  )
}

const VendorTable = ({ data }: { data: Shown<'GET /operator/vendors'> }) => (
  <TableBox>
    <Table aria-label="Vendors">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Vendor</Table.Th>
          <Table.Th>Keys, by their last four letters</Table.Th>
          <Table.Th>Health</Table.Th>
          <Table.Th className="right" title="Attempts at it, of the newest calls">
            Attempts
          </Table.Th>
          <Table.Th className="right">Failed</Table.Th>
          <Table.Th className="right">First byte</Table.Th>
          <Table.Th className="right">Took</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {data.data.map((vendor) => (
          <Table.Tr key={vendor.id}>
            <Table.Td>
              {vendor.name}
              <Text size="xs" c="dimmed" className="mono">
                {vendor.id}
              </Text>
            </Table.Td>
            <Table.Td className="mono">
              {vendor.keys.length === 0 ? 'none needed' : vendor.keys.join(', ')}
            </Table.Td>
            <Table.Td>
              <Health failing={vendor.failing} />
            </Table.Td>
            <Table.Td className="right number">{countText(vendor.calls)}</Table.Td>
            <Table.Td className="right number">
              <Rate vendor={vendor} />
            </Table.Td>
            <Table.Td className="right number">{ms(vendor.first_byte_ms)}</Table.Td>
            <Table.Td className="right number">{ms(vendor.took_ms)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </TableBox>
)

const Off = ({ off }: { off: Shown<'GET /operator/vendors'>['off'] }) => (
  <Panel title="Off">
    <Text size="sm" mb="sm" c="dimmed">
      To turn one on, set its variable and restart.
    </Text>
    <TableBox>
      <Table verticalSpacing={4} aria-label="Vendors that are off">
        <Table.Tbody>
          {off.map(({ id, variable }) => (
            <Table.Tr key={id}>
              <Table.Td>{id}</Table.Td>
              <Table.Td className="mono">{variable}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </TableBox>
  </Panel>
)

export const Vendors = () => {
  const { data, error } = useQuery(showing('GET /operator/vendors', {}, 5_000))
  if (data === undefined) return <Unread error={error} />
  return (
    <>
      <PageHead
        title="Vendors"
        about={`Health is that of the process that answered this page. Attempts are those of the newest ${countText(data.of_calls)} calls of all organisations for which vendors were asked, answered or not; times are medians.`}
      />
      <Stack>
        <Panel title="On">
          <VendorTable data={data} />
        </Panel>
        {data.off.length > 0 && <Off off={data.off} />}
      </Stack>
    </>
  )
}
