/** A table of keys with what they spent against their caps. */
import { Anchor, Table, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Shown } from '../api.ts'
import { CapBar, State, TableBox, When } from '../ui.tsx'

type KeyRow = Shown<'GET /keys'>['data'][number]

const Row = ({ row, tenants }: { row: KeyRow; tenants: boolean }) => (
  <Table.Tr>
    <Table.Td maw={240} className="label">
      <Anchor
        component={Link}
        to={tenants ? `/tenants/${row.tenant ?? row.id}` : `/keys/${row.id}`}
        fw={550}
        size="sm"
      >
        {row.label}
      </Anchor>
      <Text size="xs" c="dimmed" className="mono one-line">
        {row.prefix}…
      </Text>
    </Table.Td>
    {tenants && (
      <Table.Td>
        {row.reference ?? (
          <Text span c="dimmed" size="sm">
            none
          </Text>
        )}
      </Table.Td>
    )}
    <Table.Td>
      <State of={row.status} />
    </Table.Td>
    <Table.Td>
      <CapBar used={row.spent_usd} cap={row.spend_cap_usd} label={`Lifetime cap of ${row.label}`} />
    </Table.Td>
    <Table.Td>
      <CapBar
        used={row.spent_this_month_usd}
        cap={row.monthly_cap_usd}
        label={`Monthly cap of ${row.label}`}
      />
    </Table.Td>
    <Table.Td className="number">
      {row.rpm_limit ?? (
        <Text span c="dimmed" size="sm">
          plan
        </Text>
      )}
    </Table.Td>
    <Table.Td>
      <When at={row.last_used_at} ago />
    </Table.Td>
    {!tenants && (
      <Table.Td maw={180}>
        <Text size="sm" truncate title={row.made_by ?? undefined}>
          {row.made_by ?? 'command line'}
        </Text>
      </Table.Td>
    )}
  </Table.Tr>
)

export const KeyTable = ({ rows, tenants = false }: { rows: readonly KeyRow[]; tenants?: boolean }) => (
  <TableBox>
    <Table verticalSpacing="sm" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{tenants ? 'Tenant' : 'Key'}</Table.Th>
          {tenants && <Table.Th>Reference</Table.Th>}
          <Table.Th>Status</Table.Th>
          <Table.Th>Spent</Table.Th>
          <Table.Th>This month</Table.Th>
          <Table.Th>Per minute</Table.Th>
          <Table.Th>Last used</Table.Th>
          {!tenants && <Table.Th>Made by</Table.Th>}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Row key={row.id} row={row} tenants={tenants} />
        ))}
      </Table.Tbody>
    </Table>
  </TableBox>
)
