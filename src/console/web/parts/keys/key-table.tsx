/** A table of keys with what they spent against their caps. */
import { Anchor, Table, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Shown } from '../api.ts'
import { CapBar } from '../money/cap-bar.tsx'
import { State } from '../state.tsx'
import { TableBox } from '../table-box.tsx'
import { Aside, When } from '../ui.tsx'

type KeyRow = Shown<'GET /keys'>['data'][number]

/** Which rows are chosen, and by which column they are sorted. */
type Choice = {
  readonly chosen: ReadonlySet<string>
  readonly choose: (ids: readonly string[], on: boolean) => void
}
export type Sorting = { readonly by: string | undefined; readonly sort: (by: string | undefined) => void }

/** Amounts, times and words as they are sorted: amounts are decimal texts. */
const sortKeys: Readonly<Record<string, (row: KeyRow) => string | number>> = {
  name: ({ label }) => label.toLowerCase(),
  reference: ({ reference }) => reference ?? '',
  status: ({ status }) => status,
  spent: ({ spent_usd: spent }) => -Number(spent),
  month: ({ spent_this_month_usd: spent }) => -Number(spent),
  used: ({ last_used_at: at }) => (at === null ? 0 : -Date.parse(at)),
}

const sorted = (rows: readonly KeyRow[], by: string | undefined): readonly KeyRow[] => {
  const keyOf = sortKeys[by ?? '']
  if (keyOf === undefined) return rows
  return rows.toSorted((a, b) => {
    const [one, other] = [keyOf(a), keyOf(b)]
    return one === other ? 0 : one < other ? -1 : 1
  })
}

/** A head that sorts by its column: names from A on, sums and times from the largest; once more as they were. */
const Head = ({ name, by, sorting }: { name: string; by: string; sorting: Sorting | undefined }) => {
  if (sorting === undefined) return <Table.Th>{name}</Table.Th>
  const on = sorting.by === by
  const way = by === 'name' || by === 'reference' || by === 'status' ? 'ascending' : 'descending'
  return (
    <Table.Th aria-sort={on ? way : 'none'}>
      <Anchor
        component="button"
        type="button"
        inherit
        c="inherit"
        onClick={() => sorting.sort(on ? undefined : by)}
      >
        {name}
        {on && <span aria-hidden="true"> {way === 'ascending' ? '↑' : '↓'}</span>}
      </Anchor>
    </Table.Th>
  )
}

const Row = ({ row, tenants, choice }: { row: KeyRow; tenants: boolean; choice: Choice | undefined }) => (
  <Table.Tr>
    {choice !== undefined && (
      <Table.Td>
        <input
          type="checkbox"
          aria-label={`Choose ${row.label}`}
          checked={choice.chosen.has(row.id)}
          onChange={(event) => choice.choose([row.id], event.currentTarget.checked)}
        />
      </Table.Td>
    )}
    <Table.Td maw={240} className="label">
      <Anchor
        component={Link}
        to={tenants ? `/tenants/${row.tenant ?? row.id}` : `/keys/${row.id}`}
        fw={550}
        size="sm"
      >
        {row.label}
      </Anchor>
      <Aside className="mono one-line">{row.prefix}…</Aside>
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

export const KeyTable = ({
  rows,
  tenants = false,
  choice,
  sorting,
}: {
  rows: readonly KeyRow[]
  tenants?: boolean
  choice?: Choice | undefined
  sorting?: Sorting | undefined
}) => (
  <TableBox>
    <Table verticalSpacing="sm" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          {choice !== undefined && (
            <Table.Th>
              <input
                type="checkbox"
                aria-label="Choose all"
                checked={rows.every(({ id }) => choice.chosen.has(id))}
                onChange={(event) =>
                  choice.choose(
                    rows.map(({ id }) => id),
                    event.currentTarget.checked,
                  )
                }
              />
            </Table.Th>
          )}
          <Head name={tenants ? 'Tenant' : 'Key'} by="name" sorting={sorting} />
          {tenants && <Head name="Reference" by="reference" sorting={sorting} />}
          <Head name="Status" by="status" sorting={sorting} />
          <Head name="Spent" by="spent" sorting={sorting} />
          <Head name="This month" by="month" sorting={sorting} />
          <Table.Th>Per minute</Table.Th>
          <Head name="Last used" by="used" sorting={sorting} />
          {!tenants && <Table.Th>Made by</Table.Th>}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {sorted(rows, sorting?.by).map((row) => (
          <Row key={row.id} row={row} tenants={tenants} choice={choice} />
        ))}
      </Table.Tbody>
    </Table>
  </TableBox>
)
