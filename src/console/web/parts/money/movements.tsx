/** The movements of the wallet, newest first, each with the balance after it; page by page. */
import { Button, Group, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Shown, showing } from '../api.ts'
import { dayText } from '../format.ts'
import { Copy, Empty, Failed, Loading, Money, TableBox, When } from '../ui.tsx'

const kinds: Readonly<Record<string, string>> = {
  usage: 'Calls of the day',
  topup: 'Top-up',
  grant: 'Credit given',
  refund: 'Refund of a call',
  writeoff: 'Write-off',
  adjust: 'Adjustment',
}

type Movement = Shown<'GET /wallet/movements'>['data'][number]

const Row = ({ moved: { at, kind, ref, note, amount_usd, balance_usd } }: { moved: Movement }) => (
  <Table.Tr>
    <Table.Td>{kind === 'usage' ? `${dayText(at.slice(0, 10))} (UTC)` : <When at={at} />}</Table.Td>
    <Table.Td>
      {kind === 'topup' && amount_usd.startsWith('-') ? 'Invoice paid' : (kinds[kind] ?? kind)}
      {note !== null && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Table.Td>
    <Table.Td maw={220}>
      {kind !== 'usage' && (
        <Copy text={ref} shown={ref.length > 24 ? `${ref.slice(0, 22)}…` : ref} name="reference" />
      )}
    </Table.Td>
    <Table.Td className="right">
      <Money usd={amount_usd} />
    </Table.Td>
    <Table.Td className="right">
      <Money usd={balance_usd} />
    </Table.Td>
  </Table.Tr>
)

export const Movements = () => {
  const [pages, setPages] = useState<readonly string[]>([])
  const before = pages.at(-1)
  const { data, error } = useQuery({
    ...showing('GET /wallet/movements', { before }, before === undefined ? 10_000 : undefined),
    placeholderData: keepPreviousData,
  })
  if (error !== null) return <Failed error={error} />
  if (data === undefined) return <Loading rows={5} />
  if (data.data.length === 0)
    return (
      <Empty title="No movements yet">
        Top-ups, credit and calls show here, each with the balance after it.
      </Empty>
    )
  const { next } = data
  return (
    <>
      <TableBox>
        <Table verticalSpacing={6} aria-label="Movements">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>When</Table.Th>
              <Table.Th>What</Table.Th>
              <Table.Th>Reference</Table.Th>
              <Table.Th className="right">Amount</Table.Th>
              <Table.Th className="right">Balance</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.data.map((moved) => (
              <Row key={`${moved.kind} ${moved.ref}`} moved={moved} />
            ))}
          </Table.Tbody>
        </Table>
      </TableBox>
      <Group justify="center" mt="md">
        {pages.length > 0 && (
          <Button variant="default" size="xs" onClick={() => setPages(pages.slice(0, -1))}>
            Newer
          </Button>
        )}
        {next !== null && (
          <Button variant="default" size="xs" onClick={() => setPages([...pages, next])}>
            Older
          </Button>
        )}
      </Group>
    </>
  )
}
