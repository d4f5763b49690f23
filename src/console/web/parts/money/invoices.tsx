/** The credit line, its invoices, and paying them. */
import { Button, Group, Stack, Table, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { CapBar, Copy, Failed, Money, Panel, State, TableBox, When } from '../ui.tsx'

type WalletShown = Shown<'GET /wallet'>
type Invoice = WalletShown['invoices'][number]
type Method = 'wallet' | 'stripe'

const isDue = ({ status }: Invoice): boolean => status === 'open' || status === 'past_due'

const Row = ({
  invoice,
  onPay,
  byCard,
}: {
  invoice: Invoice
  onPay: ((by: Method) => void) | undefined
  byCard: boolean
}) => (
  <Table.Tr>
    <Table.Td>{invoice.month}</Table.Td>
    <Table.Td>
      <Copy text={invoice.id} name="invoice" />
    </Table.Td>
    <Table.Td className="right">
      <Money usd={invoice.total_usd} />
    </Table.Td>
    <Table.Td>
      <State of={invoice.status} />
    </Table.Td>
    <Table.Td>
      <When at={invoice.paid_at ?? invoice.due_at} />
    </Table.Td>
    <Table.Td>
      {onPay !== undefined && isDue(invoice) && (
        <Group gap="xs" wrap="nowrap" justify="flex-end">
          <Button size="compact-sm" variant="default" onClick={() => onPay('wallet')}>
            Pay from wallet
          </Button>
          {byCard && (
            <Button size="compact-sm" variant="default" onClick={() => onPay('stripe')}>
              Pay by card
            </Button>
          )}
        </Group>
      )}
    </Table.Td>
  </Table.Tr>
)

const InvoiceTable = ({
  data,
  onPay,
}: {
  data: WalletShown
  onPay: ((invoice: Invoice, by: Method) => void) | undefined
}) => (
  <TableBox>
    <Table aria-label="Invoices">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Month</Table.Th>
          <Table.Th>Invoice</Table.Th>
          <Table.Th className="right">Total</Table.Th>
          <Table.Th>Status</Table.Th>
          <Table.Th>Due or paid</Table.Th>
          <Table.Th>
            <span className="hide">Actions</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {data.invoices.map((invoice) => (
          <Row
            key={invoice.id}
            invoice={invoice}
            byCard={data.card}
            onPay={onPay === undefined ? undefined : (by) => onPay(invoice, by)}
          />
        ))}
      </Table.Tbody>
    </Table>
  </TableBox>
)

export const Credit = ({ data, mayPay }: { data: WalletShown; mayPay: boolean }) => {
  const [paying, setPaying] = useState<Invoice>()
  const pay = useMutation({
    mutationFn: ({ id, method }: { id: string; method: Method }) =>
      act('POST /wallet/invoices/:invoice/pay', { invoice: id, method }),
    onSuccess: async ({ checkout }) => {
      if (checkout !== null) return location.assign(checkout.url)
      setPaying(undefined)
      await queries.invalidateQueries()
    },
  })
  const { credit, invoices } = data
  if (credit === null && invoices.length === 0) return null
  const start = (invoice: Invoice, method: Method) =>
    method === 'wallet' ? setPaying(invoice) : pay.mutate({ id: invoice.id, method })
  return (
    <Panel title="Credit line and invoices">
      <Stack>
        {credit !== null && (
          <Group gap="xl">
            <CapBar used={credit.owed_usd} cap={credit.limit_usd} label="Credit line" />
            <Text size="sm" c="dimmed">
              {credit.status === 'past_due'
                ? 'An invoice is past due: calls on credit are refused until it is paid.'
                : credit.status === 'withdrawn'
                  ? 'Withdrawn: what is owed stays owed.'
                  : `Calls with X-Payment-Protocol: mpp are billed at the end of the month, due in ${credit.net_days} days.`}
            </Text>
          </Group>
        )}
        {paying === undefined && <Failed error={pay.error} />}
        {invoices.length > 0 && <InvoiceTable data={data} onPay={mayPay ? start : undefined} />}
      </Stack>
      <Confirm
        opened={paying !== undefined}
        title={`Pay invoice ${paying?.id ?? ''}?`}
        verb="Pay from wallet"
        pending={pay.isPending}
        error={pay.error}
        onYes={() => paying !== undefined && pay.mutate({ id: paying.id, method: 'wallet' })}
        onClose={() => setPaying(undefined)}
      >
        <Money usd={paying?.total_usd ?? '0'} strong /> is taken from the wallet for {paying?.month}.
      </Confirm>
    </Panel>
  )
}
