/** One tenant's month as a sheet of paper: the use, and its price. The amounts are rounded to cents so that they add up as shown. */

import { Box, Group, Table, Text, Title } from '@mantine/core'
import { countText, payableUsd } from '../format.ts'
import { monthText } from '../months.ts'
import { TableBox } from '../table-box.tsx'
import { Note } from '../ui.tsx'

type Counted = { readonly requests: number; readonly input_tokens: number; readonly output_tokens: number }

type Sheet = {
  readonly from: string
  readonly label: string
  readonly reference: string | null
  readonly month: string
  readonly complete: boolean
  readonly lines: readonly (Counted & { readonly model: string; readonly billed_usd: string })[]
  readonly total: Counted & { readonly billed_usd: string }
}

const Counts = ({ of }: { of: Counted }) =>
  [of.requests, of.input_tokens, of.output_tokens].map((count, at) => (
    // The columns never change their order.
    <Table.Td key={['requests', 'input', 'output'][at]} className="right number">
      {countText(count)}
    </Table.Td>
  ))

const Lines = ({ sheet }: { sheet: Sheet }) => {
  const { lines: amounts, total } = payableUsd(sheet.lines.map(({ billed_usd }) => billed_usd))
  return (
    <TableBox>
      <Table verticalSpacing={6} aria-label={`Statement of ${sheet.label}`}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Model</Table.Th>
            <Table.Th className="right">Calls</Table.Th>
            <Table.Th className="right">Input tokens</Table.Th>
            <Table.Th className="right">Output tokens</Table.Th>
            <Table.Th className="right">Amount in USD</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sheet.lines.map((line, at) => (
            <Table.Tr key={line.model}>
              <Table.Td>{line.model === '' ? 'recovered calls' : line.model}</Table.Td>
              <Counts of={line} />
              <Table.Td className="right number">{amounts[at]}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
        <Table.Tfoot>
          <Table.Tr>
            <Table.Th scope="row">Total</Table.Th>
            <Counts of={sheet.total} />
            <Table.Td className="right number" fw={700}>
              {total}
            </Table.Td>
          </Table.Tr>
        </Table.Tfoot>
      </Table>
    </TableBox>
  )
}

export const StatementSheet = ({ sheet }: { sheet: Sheet }) => (
  <Box className="sheet" component="section" aria-label={`Statement of ${sheet.label}`}>
    <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
      <Box>
        <Note>{sheet.from}</Note>
        <Title order={2} size="h4">
          {sheet.label}
        </Title>
        {sheet.reference !== null && <Note>{sheet.reference}</Note>}
      </Box>
      <Box>
        <Text fw={600}>{monthText(sheet.month)}</Text>
        <Note>{sheet.complete ? 'Whole month, UTC' : 'So far: calls of the month may go on'}</Note>
      </Box>
    </Group>
    {sheet.lines.length === 0 ? (
      <Text size="sm">Nothing was used in this month.</Text>
    ) : (
      <Lines sheet={sheet} />
    )}
  </Box>
)
