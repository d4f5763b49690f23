/** Sub-wallets: named ceilings on the wallet's money, created, changed and deleted. */
import { Group } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown, useShown } from '../api.ts'
import { Asked } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { ListPanel } from '../list-panel.tsx'
import { CapBar } from '../money/cap-bar.tsx'
import { Copy, Money, RowButton } from '../ui.tsx'
import { CeilingForm } from './ceiling-form.tsx'

type SubWalletShown = Shown<'PUT /sub-wallets/:sub_wallet'>

const SubForm = ({ sub, onDone }: { sub: SubWalletShown | undefined; onDone: () => void }) => (
  <CeilingForm
    of={sub === undefined ? undefined : { name: sub.label, budget_usd: sub.budget_usd }}
    label="Ceiling in USD"
    description="What calls under it may cost in all; it holds no money of its own"
    most={10_000}
    save={({ name, budget_usd }) => {
      const typed = { label: name, budget_usd }
      return sub === undefined
        ? act('POST /sub-wallets', typed)
        : act('PUT /sub-wallets/:sub_wallet', { sub_wallet: sub.id, ...typed })
    }}
    onDone={onDone}
  />
)

const Deletion = ({ sub: { id, label } }: { sub: SubWalletShown }) => (
  <Asked
    verb="Delete"
    title={`Delete ${label}?`}
    yes="Delete sub-wallet"
    send={() => act('DELETE /sub-wallets/:sub_wallet', { sub_wallet: id })}
  >
    Nothing can be spent under it any more, not even by a key that is bound to it. This cannot be undone.
  </Asked>
)

const Found = ({
  rows,
  mayChange,
  onEdit,
}: {
  rows: readonly SubWalletShown[]
  mayChange: boolean
  onEdit: (sub: SubWalletShown) => void
}) => (
  <DataTable
    label="Sub-wallets"
    rows={rows}
    keyOf={({ id }) => id}
    columns={[
      { head: 'Name', className: 'label', cell: ({ label }) => label || 'without a name' },
      {
        head: 'Id',
        cell: ({ id }) => (
          <Copy
            text={id}
            shown={`${id.slice(0, 10)}…${id.slice(-4)}`}
            name="id for the header X-Sub-Wallet"
          />
        ),
      },
      {
        head: 'Spent',
        cell: ({ spent_usd: spent, budget_usd: budget, label }) => (
          <CapBar used={spent} cap={budget} label={`Ceiling of ${label}`} />
        ),
      },
      { head: 'Left', figure: true, cell: (sub) => <Money usd={sub.remaining_usd} /> },
      mayChange && {
        head: '',
        cell: (sub) => (
          <Group gap="xs" wrap="nowrap" justify="flex-end">
            <RowButton onClick={() => onEdit(sub)}>Change</RowButton>
            <Deletion sub={sub} />
          </Group>
        ),
      },
    ]}
  />
)

export const SubWallets = ({ mayChange }: { mayChange: boolean }) => {
  const [form, setForm] = useState<{ sub: SubWalletShown | undefined }>()
  return (
    <>
      <ListPanel
        title="Sub-wallets"
        make="Create sub-wallet"
        onMake={mayChange && (() => setForm({ sub: undefined }))}
        list={useShown('GET /sub-wallets', {}, 10_000)}
        none={[
          'No sub-wallets',
          'A sub-wallet is a ceiling that several keys share: name it in the header X-Sub-Wallet of a call, or bind a key to it.',
        ]}
      >
        {({ data }) => <Found rows={data} mayChange={mayChange} onEdit={(sub) => setForm({ sub })} />}
      </ListPanel>
      <Dialog
        opened={form !== undefined}
        title={form?.sub === undefined ? 'New sub-wallet' : `Change ${form.sub.label}`}
        onClose={() => setForm(undefined)}
      >
        {form !== undefined && <SubForm sub={form.sub} onDone={() => setForm(undefined)} />}
      </Dialog>
    </>
  )
}
