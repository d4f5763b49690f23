/** The movements of the wallet, newest first, each with the balance after it; page by page. */
import { Group } from '@mantine/core'
import { useState } from 'react'
import { type Shown, usePage } from '../api.ts'
import { type Column, DataTable } from '../data-table.tsx'
import { dayText } from '../format.ts'
import { Aside, Copy, Empty, Failed, Loading, Money, SmallButton, When } from '../ui.tsx'

const kinds: Readonly<Record<string, string>> = {
  usage: 'Calls of the day',
  topup: 'Top-up',
  grant: 'Credit given',
  refund: 'Refund of a call',
  writeoff: 'Write-off',
  adjust: 'Adjustment',
}

type Movement = Shown<'GET /wallet/movements'>['data'][number]

const columns: readonly Column<Movement>[] = [
  {
    head: 'When',
    cell: ({ kind, at }) => (kind === 'usage' ? `${dayText(at.slice(0, 10))} (UTC)` : <When at={at} />),
  },
  {
    head: 'What',
    className: 'label',
    cell: ({ kind, amount_usd: amount, note }) => (
      <>
        {kind === 'topup' && amount.startsWith('-') ? 'Invoice paid' : (kinds[kind] ?? kind)}
        <Aside>{note}</Aside>
      </>
    ),
  },
  {
    head: 'Reference',
    cell: ({ kind, ref }) =>
      kind !== 'usage' && (
        <Copy text={ref} shown={ref.length > 24 ? `${ref.slice(0, 22)}…` : ref} name="reference" />
      ),
  },
  { head: 'Amount', figure: true, cell: ({ amount_usd }) => <Money usd={amount_usd} /> },
  { head: 'Balance', figure: true, cell: ({ balance_usd }) => <Money usd={balance_usd} /> },
]

export const Movements = () => {
  const [pages, setPages] = useState<readonly string[]>([])
  const before = pages.at(-1)
  const { data, error } = usePage(
    'GET /wallet/movements',
    { before },
    before === undefined ? 10_000 : undefined,
  )
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
      <DataTable
        label="Movements"
        rows={data.data}
        keyOf={({ kind, ref }) => `${kind} ${ref}`}
        columns={columns}
      />
      <Group justify="center" mt="md">
        {pages.length > 0 && <SmallButton onClick={() => setPages(pages.slice(0, -1))}>Newer</SmallButton>}
        {next !== null && <SmallButton onClick={() => setPages([...pages, next])}>Older</SmallButton>}
      </Group>
    </>
  )
}
