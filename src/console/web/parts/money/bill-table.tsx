/** Invoices and credit notes as a table, and what may be done with each. */
import { Anchor, Button, Group, Stack, Table, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { act, type Shown, useShown } from '../api.ts'
import { downloadFile } from '../csv.ts'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { useTexts } from '../forms/use-texts.ts'
import { monthText } from '../months.ts'
import { State } from '../state.tsx'
import { Failed, RowButton, Told } from '../ui.tsx'
import { Unread } from '../unread.tsx'
import { useMay } from '../use-may.ts'

type Bill = Shown<'GET /bills'>['data'][number]

/** What anybody who sees a bill sees of it: also the tenant, by its link. */
export type BillCells = Pick<
  Bill,
  'id' | 'number' | 'kind' | 'status' | 'overdue' | 'month' | 'total' | 'currency' | 'issued_at' | 'due_at'
>

const grouped = (amount: string) => amount.replace(/\B(?<!\..*)(?=(\d{3})+(?!\d))/g, ',')
const amountText = ({ kind, total, currency }: BillCells) =>
  `${kind === 'credit_note' ? '−' : ''}${grouped(total)} ${currency}`

const stateOf = ({ status, overdue }: BillCells) =>
  status === null ? 'credit_note' : overdue ? 'past_due' : status

/** The same cells for both readers; `tenant` and `acts` are the reseller's. */
export const BillRows = <Row extends BillCells>({
  rows,
  tenant,
  acts,
}: {
  rows: readonly Row[]
  tenant?: (row: Row) => React.ReactNode
  acts: (row: Row) => React.ReactNode
}) => (
  <DataTable
    label="Invoices"
    rows={rows}
    keyOf={({ id }) => id}
    columns={[
      { head: 'Number', className: 'one-line', cell: ({ number }) => number },
      tenant !== undefined && { head: 'Tenant', className: 'label', cell: tenant },
      { head: 'Month', className: 'one-line', cell: ({ month }) => monthText(month) },
      { head: 'Status', cell: (row) => <State of={stateOf(row)} /> },
      { head: 'Total', figure: true, className: 'one-line', cell: amountText },
      { head: 'Date', className: 'one-line', cell: (row) => row.issued_at.slice(0, 10) },
      {
        head: 'Due',
        className: 'one-line',
        cell: (row) => (row.kind === 'invoice' ? row.due_at.slice(0, 10) : ''),
      },
      { head: '', className: 'right', cell: acts },
    ]}
  />
)

const Sums = ({ bill }: { bill: Shown<'GET /bills/:bill'> }) => (
  <Table verticalSpacing={4} aria-label={`Lines of ${bill.number}`}>
    <Table.Tbody>
      {[
        ...bill.lines.map(({ model, amount }) => [model === '' ? 'recovered calls' : model, amount]),
        ['Net', bill.net],
        ...bill.taxes.map(({ name, percent, amount }) => [`${name} ${percent} %`, amount]),
      ].map(([name, amount]) => (
        <Table.Tr key={name}>
          <Table.Td className="label">{name}</Table.Td>
          <Table.Td className="right number one-line">{grouped(amount ?? '')}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
    <Table.Tfoot>
      <Table.Tr>
        <Table.Th scope="row">Total</Table.Th>
        <Table.Td className="right number one-line" fw={700}>
          {amountText(bill)}
        </Table.Td>
      </Table.Tr>
    </Table.Tfoot>
  </Table>
)

const Credit = ({ bill, onDone }: { bill: string; onDone: () => void }) => {
  const { texts, field } = useTexts({ reason: '' })
  const credit = useChange(() => act('POST /bills/:bill/credit', { bill, ...texts }), { told: onDone })
  return (
    <Form save={credit} verb="Write credit note" danger>
      <Text size="sm">
        A credit note with a number of its own takes the whole invoice back. After that you can close the
        tenant’s month again. Neither can be undone.
      </Text>
      <TextInput {...field('reason', 'Why', 'It stands on the credit note.')} required />
    </Form>
  )
}

/** What may be done with a bill; each tells when it is done. */
const Acts = ({ bill, onCredit }: { bill: Shown<'GET /bills/:bill'>; onCredit: () => void }) => {
  const { id, number, status, mailed_at: mailed } = bill
  const change = useChange(({ does }: { does: () => Promise<unknown>; told: string }) => does())
  const button = (name: string, told: string, does: () => Promise<unknown>) => (
    <Button variant="default" loading={change.isPending} onClick={() => change.mutate({ does, told })}>
      {name}
    </Button>
  )
  const pay = (paid: boolean) => () => act('PUT /bills/:bill/payment', { bill: id, paid })
  return (
    <>
      <Failed error={change.error} />
      <Told>{change.isSuccess ? change.variables.told : ''}</Told>
      <Group gap="xs">
        {button(mailed === null ? 'Mail to tenant' : 'Mail again', `${number} is mailed.`, () =>
          act('POST /bills/:bill/mail', { bill: id }),
        )}
        {status === 'open' && button('Mark as paid', `${number} is paid.`, pay(true))}
        {status === 'paid' && button('Mark as open', `${number} is open again.`, pay(false))}
        {status !== 'credited' && status !== null && (
          <Button variant="default" className="danger" onClick={onCredit}>
            Take back
          </Button>
        )}
      </Group>
    </>
  )
}

const OneBill = ({ id, onDone }: { id: string; onDone: () => void }) => {
  const mayChange = useMay('invoices')
  const [credits, setCredits] = useState(false)
  const { data: bill, error } = useShown('GET /bills/:bill', { bill: id })
  if (bill === undefined) return <Unread error={error} />
  if (credits) return <Credit bill={id} onDone={onDone} />
  return (
    <Stack>
      <Text size="sm">
        <State of={stateOf(bill)} /> · {bill.label} · {monthText(bill.month)}
        {bill.mailed_at !== null && ` · mailed ${bill.mailed_at.slice(0, 10)}`}
        {bill.paid_at !== null && ` · paid ${bill.paid_at.slice(0, 10)}`}
      </Text>
      {bill.reason !== null && <Text size="sm">{bill.reason}</Text>}
      <Sums bill={bill} />
      {mayChange && <Acts bill={bill} onCredit={() => setCredits(true)} />}
    </Stack>
  )
}

export const BillTable = ({
  rows,
  open,
  onOpen,
}: {
  rows: readonly Bill[]
  open: string | undefined
  onOpen: (id: string | undefined) => void
}) => {
  const pdf = useMutation({
    mutationFn: async (bill: string) => downloadFile(await act('GET /bills/:bill/pdf', { bill })),
  })
  const shown = rows.find(({ id }) => id === open)
  return (
    <>
      <Failed error={pdf.error} />
      <BillRows
        rows={rows}
        tenant={({ tenant, label }) => (
          <Anchor component={Link} to={`/tenants/${tenant}`} size="sm">
            {label}
          </Anchor>
        )}
        acts={({ id, number }) => (
          <Group gap="xs" justify="flex-end" wrap="nowrap">
            <RowButton onClick={() => pdf.mutate(id)} aria-label={`PDF of ${number}`}>
              PDF
            </RowButton>
            <RowButton onClick={() => onOpen(id)} aria-label={`Open ${number}`}>
              Open
            </RowButton>
          </Group>
        )}
      />
      <Dialog opened={shown !== undefined} onClose={() => onOpen(undefined)} title={shown?.number ?? ''}>
        {shown !== undefined && <OneBill id={shown.id} onDone={() => onOpen(undefined)} />}
      </Dialog>
    </>
  )
}
