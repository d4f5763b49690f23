/** The credit line, its invoices, and paying them. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { CapBar, Copy, Failed, Money, Panel, State, When } from '../ui.tsx'

type WalletShown = Shown<'GET /wallet'>
type Invoice = WalletShown['invoices'][number]
type Method = 'wallet' | 'stripe'

const isDue = ({ status }: Invoice): boolean => status === 'open' || status === 'past_due'

const InvoiceTable = ({
  data,
  onPay,
}: {
  data: WalletShown
  onPay: ((invoice: Invoice, by: Method) => void) | undefined
}) => (
  <DataTable
    label="Invoices"
    rows={data.invoices}
    keyOf={({ id }) => id}
    columns={[
      { head: 'Month', cell: ({ month }) => month },
      { head: 'Invoice', cell: ({ id }) => <Copy text={id} name="invoice" /> },
      { head: 'Total', figure: true, cell: ({ total_usd }) => <Money usd={total_usd} /> },
      { head: 'Status', cell: ({ status }) => <State of={status} /> },
      { head: 'Due or paid', cell: (invoice) => <When at={invoice.paid_at ?? invoice.due_at} /> },
      {
        head: '',
        cell: (invoice) =>
          onPay !== undefined &&
          isDue(invoice) && (
            <Group gap="xs" wrap="nowrap" justify="flex-end">
              <Button size="compact-sm" variant="default" onClick={() => onPay(invoice, 'wallet')}>
                Pay from wallet
              </Button>
              {data.card && (
                <Button size="compact-sm" variant="default" onClick={() => onPay(invoice, 'stripe')}>
                  Pay by card
                </Button>
              )}
            </Group>
          ),
      },
    ]}
  />
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
