/** The credit line, its invoices, and paying them. */
import { Group, Stack } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { counted } from '../format.ts'
import { useChange } from '../forms/use-change.ts'
import { State } from '../state.tsx'
import { Copy, Failed, Money, Note, Panel, RowButton, When } from '../ui.tsx'
import { CapBar } from './cap-bar.tsx'

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
              <RowButton onClick={() => onPay(invoice, 'wallet')}>Pay from wallet</RowButton>
              {data.card && <RowButton onClick={() => onPay(invoice, 'stripe')}>Pay by card</RowButton>}
            </Group>
          ),
      },
    ]}
  />
)

export const Credit = ({ data, mayPay }: { data: WalletShown; mayPay: boolean }) => {
  const [paying, setPaying] = useState<Invoice>()
  const pay = useChange(
    ({ id, method }: { id: string; method: Method }) =>
      act('POST /wallet/invoices/:invoice/pay', { invoice: id, method }),
    { told: ({ checkout }) => (checkout === null ? setPaying(undefined) : location.assign(checkout.url)) },
  )
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
            <Note>
              {credit.status === 'past_due'
                ? 'An invoice is past due: calls on credit are refused until it is paid.'
                : credit.status === 'withdrawn'
                  ? 'Withdrawn: what is owed stays owed.'
                  : `Calls with X-Payment-Protocol: mpp are billed at the end of the month, due in ${counted(credit.net_days, 'day')}.`}
            </Note>
          </Group>
        )}
        {paying === undefined && <Failed error={pay.error} />}
        {invoices.length > 0 && <InvoiceTable data={data} onPay={mayPay ? start : undefined} />}
      </Stack>
      <Confirm
        opened={paying !== undefined}
        title={`Pay invoice ${paying?.id ?? ''}?`}
        verb="Pay from wallet"
        does={pay}
        onYes={() => paying !== undefined && pay.mutate({ id: paying.id, method: 'wallet' })}
        onClose={() => setPaying(undefined)}
      >
        <Money usd={paying?.total_usd ?? '0'} strong /> is taken from the wallet for {paying?.month}.
      </Confirm>
    </Panel>
  )
}
