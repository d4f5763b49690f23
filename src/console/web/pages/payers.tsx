/** For operators: who pays by x402 vouchers, what their channels hold, and the calls that those were charged for. */

import { Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { type Shown, useShown } from '../parts/api.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { shortId } from '../parts/format.ts'
import { Search } from '../parts/forms/field.tsx'
import { Copy, Empty, Money, PageHead, Panel, RowButton, When } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { useView } from '../parts/use-view.ts'

type Sums = Pick<
  Shown<'GET /operator/payers'>['data'][number],
  'deposited_usd' | 'charged_usd' | 'claimed_usd' | 'claimable_usd' | 'left_usd'
>

const sums: readonly Column<Sums>[] = [
  {
    head: 'Deposited',
    figure: true,
    cell: ({ deposited_usd }) => <Money usd={deposited_usd} />,
    on: 'wide',
  },
  { head: 'Charged', figure: true, cell: ({ charged_usd }) => <Money usd={charged_usd} /> },
  { head: 'Claimed', figure: true, cell: ({ claimed_usd }) => <Money usd={claimed_usd} />, on: 'wide' },
  {
    head: 'To claim',
    title: 'Charged and not claimed yet',
    figure: true,
    cell: ({ claimable_usd }) => <Money usd={claimable_usd} />,
  },
  {
    head: 'Left',
    title: 'Deposited and not charged',
    figure: true,
    cell: ({ left_usd }) => <Money usd={left_usd} />,
  },
]

/** An address or a channel, shortened, to copy whole. */
const Named = ({ id, name }: { id: string; name: string }) => (
  <Copy text={id} shown={shortId(id)} name={`${name} ${id}`} />
)

const Account = ({ payer }: { payer: string }) => {
  const { data, error } = useShown('GET /operator/payers/:payer', { payer })
  if (data === undefined) return <Unread error={error} />
  return (
    <Stack>
      <DataTable
        label="Channels"
        rows={data.channels}
        keyOf={({ channel }) => channel}
        columns={[
          { head: 'Channel', cell: ({ channel }) => <Named id={channel} name="Copy the channel" /> },
          ...sums,
          { head: 'Leaves', cell: ({ leaves_at }) => <When at={leaves_at} /> },
        ]}
      />
      <Title order={3} size="h5">
        Newest calls
      </Title>
      {data.calls.length === 0 ? (
        <Text size="sm">None was charged yet.</Text>
      ) : (
        <DataTable
          label="Newest calls"
          rows={data.calls}
          keyOf={({ request_id }) => request_id}
          columns={[
            { head: 'Call', cell: ({ request_id }) => <Named id={request_id} name="Copy the call" /> },
            { head: 'When', cell: ({ at }) => <When at={at} /> },
            { head: 'Charged', figure: true, cell: ({ charged_usd }) => <Money usd={charged_usd} /> },
          ]}
        />
      )}
    </Stack>
  )
}

const List = ({ search, onOpen }: { search: string; onOpen: (payer: string) => void }) => {
  const { data, error } = useShown('GET /operator/payers', { limit: 1_000 })
  if (data === undefined) return <Unread error={error} />
  const found = data.data.filter(({ payer }) => payer.includes(search.trim().toLowerCase()))
  if (data.data.length === 0)
    return <Empty title="No payers">Who deposits and pays by x402 vouchers is listed here.</Empty>
  if (found.length === 0) return <Empty title="No payer matches">No address contains “{search}”.</Empty>
  return (
    <DataTable
      label="Payers"
      rows={found}
      keyOf={({ payer }) => payer}
      columns={[
        { head: 'Payer', cell: ({ payer }) => <Named id={payer} name="Copy the address" /> },
        ...sums,
        {
          head: '',
          cell: ({ payer }) => (
            <RowButton onClick={() => onOpen(payer)} aria-label={`Open ${payer}`}>
              Open
            </RowButton>
          ),
        },
      ]}
    />
  )
}

export const Payers = () => {
  const { query, show } = useView('/payers')
  const [search, setSearch] = useState('')
  return (
    <>
      <PageHead
        title="Payers"
        about="Who pays call by call out of a deposit, by x402 vouchers; those with the most charged first."
      />
      <Stack>
        <Search of="payers" by="address" value={search} onSearch={setSearch} />
        <Panel>
          <List search={search} onOpen={(payer) => show({ payer })} />
        </Panel>
      </Stack>
      <Dialog
        opened={query.payer !== undefined}
        size="xl"
        title={`Payer ${shortId(query.payer ?? '')}`}
        onClose={() => show({ payer: undefined })}
      >
        {query.payer !== undefined && <Account payer={query.payer} />}
      </Dialog>
    </>
  )
}
