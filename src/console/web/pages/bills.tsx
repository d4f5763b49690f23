/** Invoices to tenants: who bills, months to close, and all that were written, as files too. The address describes the view. */
import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { act, type Shown, usePage, useShown } from '../parts/api.ts'
import { downloadFile } from '../parts/csv.ts'
import { Dialog } from '../parts/dialog.tsx'
import { counted } from '../parts/format.ts'
import { Form } from '../parts/forms/form.tsx'
import { useChange } from '../parts/forms/use-change.ts'
import { BillTable } from '../parts/money/bill-table.tsx'
import { BillerForm } from '../parts/money/biller-form.tsx'
import { monthChoice, monthText, recentMonths } from '../parts/months.ts'
import { nextOf, PagesOf } from '../parts/pages-of.tsx'
import { Empty, Failed, Note, PageHead, Panel, SmallButton, Told } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { useMay } from '../parts/use-may.ts'
import { type Query, useView } from '../parts/use-view.ts'

type Closed = Shown<'POST /bills'>

const toldOf = ({ month, data }: Closed): string => {
  const many = (outcome: string) => data.filter((one) => one.outcome === outcome).length
  return `${monthText(month)}: ${counted(many('closed'), 'invoice')} written, ${counted(many('was_closed'), 'was', 'were')} there, ${counted(many('nothing_due'), 'tenant owes', 'tenants owe')} nothing.`
}

const CloseMonth = ({ onClosed }: { onClosed: (closed: Closed) => void }) => {
  // The present month is never over.
  const [month, setMonth] = useState(recentMonths()[1] ?? '')
  const close = useChange(() => act('POST /bills', { month }), { told: onClosed })
  return (
    <Form save={close} verb="Write invoices">
      <Text size="sm">
        Every tenant with use in the month gets an invoice under the next number. It stays as it is then,
        whatever changes later. Those that are there already stay.
      </Text>
      <NativeSelect
        label="Month"
        data={monthChoice(recentMonths().slice(1))}
        value={month}
        onChange={(event) => setMonth(event.currentTarget.value)}
      />
    </Form>
  )
}

const FORMS = [
  ['csv', 'CSV'],
  ['datev', 'DATEV'],
  ['quickbooks', 'QuickBooks'],
] as const

type Filters = Readonly<Record<'month' | 'status' | 'tenant', string | undefined>>

const Files = ({ filters }: { filters: Filters }) => {
  const file = useMutation({
    mutationFn: async (form: string) => downloadFile(await act('GET /bills-file', { ...filters, form })),
  })
  return (
    <>
      <Note>For accounting:</Note>
      {FORMS.map(([form, name]) => (
        <SmallButton
          key={form}
          loading={file.isPending && file.variables === form}
          onClick={() => file.mutate(form)}
        >
          {name}
        </SmallButton>
      ))}
      <Failed error={file.error} />
    </>
  )
}

const STATES = [
  { value: '', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'paid', label: 'Paid' },
  { value: 'credited', label: 'Taken back' },
]

const List = ({
  filters,
  after,
  bill,
  onPage,
  onOpen,
}: {
  bill: string | undefined
  onOpen: (id: string | undefined) => void
  filters: Filters
  after: string | undefined
  onPage: (after: string | undefined) => void
}) => {
  const { data, error } = usePage('GET /bills', { ...filters, after, limit: 100 })
  if (data === undefined) return <Unread error={error} />
  if (data.data.length === 0 && Object.values(filters).some((value) => (value ?? '') !== ''))
    return <Empty title="No invoice matches">Choose another month, status or tenant.</Empty>
  if (data.data.length === 0)
    return <Empty title="No invoices">Close a month that is over, and each tenant with use gets one.</Empty>
  return (
    <>
      <BillTable rows={data.data} open={bill} onOpen={onOpen} />
      <PagesOf from={after} on={nextOf(data)} go={onPage} />
    </>
  )
}

const Choices = ({ filters, show }: { filters: Filters; show: (change: Query) => void }) => {
  const { month, status, tenant } = filters
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label="Month"
        data={[{ value: '', label: 'All months' }, ...monthChoice(recentMonths())]}
        value={month ?? ''}
        onChange={(event) => show({ month: event.currentTarget.value, after: undefined })}
      />
      <NativeSelect
        aria-label="Status"
        data={STATES}
        value={status ?? ''}
        onChange={(event) => show({ status: event.currentTarget.value, after: undefined })}
      />
      {tenant !== undefined && (
        <Button variant="default" onClick={() => show({ tenant: undefined, after: undefined })}>
          Of one tenant; show all
        </Button>
      )}
      <Files filters={filters} />
    </Group>
  )
}

export const Bills = () => {
  const { query, show } = useView('/bills')
  const mayChange = useMay('invoices')
  const [closed, setClosed] = useState<Closed>()
  const { data: biller, error } = useShown('GET /biller')
  const { month, status, tenant, after, open } = query
  const filters = { month, status, tenant }
  const done = () => show({ open: undefined })
  if (biller === undefined) return <Unread error={error} />
  return (
    <>
      <PageHead
        title="Invoices"
        about="What you bill your tenants. They are yours: your wallet and our prices have no part in them."
      >
        {mayChange && (
          <>
            <Button variant="default" onClick={() => show({ open: 'biller' })}>
              Who bills
            </Button>
            <Button onClick={() => show({ open: biller.profile === null ? 'biller' : 'close' })}>
              Close a month
            </Button>
          </>
        )}
      </PageHead>
      <Stack>
        {biller.profile === null && (
          <Alert color="yellow" variant="outline" className="failed">
            Say who bills first: your name, address, currency and taxes stand on each invoice.
          </Alert>
        )}
        {closed !== undefined && <Told>{toldOf(closed)}</Told>}
        <Choices filters={filters} show={show} />
        <Panel>
          <List
            filters={filters}
            after={after}
            bill={query.bill}
            onPage={(next) => show({ after: next })}
            onOpen={(id) => show({ bill: id })}
          />
        </Panel>
      </Stack>
      <Dialog opened={open === 'biller'} onClose={done} title="Who bills" size="lg">
        <BillerForm profile={biller.profile} onDone={done} />
      </Dialog>
      <Dialog opened={open === 'close'} onClose={done} title="Close a month">
        <CloseMonth
          onClosed={(made) => {
            setClosed(made)
            done()
          }}
        />
      </Dialog>
    </>
  )
}
