/** Sub-wallets: named ceilings on the wallet's money, created, changed and deleted. */
import { Button, Group, Table, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown, showing } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { Dialog } from '../dialog.tsx'
import { DialogForm } from '../dialog-form.tsx'
import { AMOUNT_HINT, typedUsd } from '../format.ts'
import { CapBar, Copy, Empty, Failed, Loading, Money, Panel, TableBox } from '../ui.tsx'
import { differing } from '../use-edits.ts'

type SubWalletShown = Shown<'PUT /sub-wallets/:sub_wallet'>

const Form = ({ sub, onDone }: { sub: SubWalletShown | undefined; onDone: () => void }) => {
  const [label, setLabel] = useState(sub?.label ?? '')
  const [text, setText] = useState(sub?.budget_usd ?? '')
  const budget = typedUsd(text)
  const save = useMutation({
    mutationFn: () =>
      sub === undefined
        ? act('POST /sub-wallets', { label, budget_usd: budget })
        : act('PUT /sub-wallets/:sub_wallet', {
            sub_wallet: sub.id,
            ...differing(
              { label, budget_usd: budget },
              { label: sub.label, budget_usd: typedUsd(sub.budget_usd) },
            ),
          }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onDone()
    },
  })
  const right = label.trim() !== '' && typeof budget === 'number' && budget > 0 && budget <= 10_000
  return (
    <DialogForm save={save} verb={sub === undefined ? 'Create' : 'Save'} ready={right}>
      <TextInput
        label="Name"
        required
        data-autofocus
        maxLength={200}
        value={label}
        onChange={(event) => setLabel(event.currentTarget.value)}
      />
      <TextInput
        label="Ceiling in USD"
        description="What calls under it may cost in all; it holds no money of its own"
        required
        inputMode="decimal"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={text !== '' && typeof budget !== 'number' ? AMOUNT_HINT : undefined}
      />
    </DialogForm>
  )
}

const Row = ({
  sub,
  mayChange,
  onEdit,
  onDelete,
}: {
  sub: SubWalletShown
  mayChange: boolean
  onEdit: () => void
  onDelete: () => void
}) => (
  <Table.Tr>
    <Table.Td>{sub.label === '' ? 'without a name' : sub.label}</Table.Td>
    <Table.Td>
      <Copy
        text={sub.id}
        shown={`${sub.id.slice(0, 10)}…${sub.id.slice(-4)}`}
        name="id for the header X-Sub-Wallet"
      />
    </Table.Td>
    <Table.Td>
      <CapBar used={sub.spent_usd} cap={sub.budget_usd} label={`Ceiling of ${sub.label}`} />
    </Table.Td>
    <Table.Td className="right">
      <Money usd={sub.remaining_usd} />
    </Table.Td>
    <Table.Td>
      {mayChange && (
        <Group gap="xs" wrap="nowrap" justify="flex-end">
          <Button size="compact-sm" variant="default" onClick={onEdit}>
            Change
          </Button>
          <Button size="compact-sm" variant="default" onClick={onDelete}>
            Delete
          </Button>
        </Group>
      )}
    </Table.Td>
  </Table.Tr>
)

const Found = ({
  rows,
  mayChange,
  onEdit,
  onDelete,
}: {
  rows: readonly SubWalletShown[]
  mayChange: boolean
  onEdit: (sub: SubWalletShown) => void
  onDelete: (sub: SubWalletShown) => void
}) => (
  <TableBox>
    <Table verticalSpacing="sm" aria-label="Sub-wallets">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Name</Table.Th>
          <Table.Th>Id</Table.Th>
          <Table.Th>Spent</Table.Th>
          <Table.Th className="right">Left</Table.Th>
          <Table.Th>
            <span className="hide">Actions</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((sub) => (
          <Row
            key={sub.id}
            sub={sub}
            mayChange={mayChange}
            onEdit={() => onEdit(sub)}
            onDelete={() => onDelete(sub)}
          />
        ))}
      </Table.Tbody>
    </Table>
  </TableBox>
)

export const SubWallets = ({ mayChange }: { mayChange: boolean }) => {
  const { data, error } = useQuery(showing('GET /sub-wallets', {}, 10_000))
  const [form, setForm] = useState<{ sub: SubWalletShown | undefined }>()
  const [deleting, setDeleting] = useState<SubWalletShown>()
  const remove = useMutation({
    mutationFn: (id: string) => act('DELETE /sub-wallets/:sub_wallet', { sub_wallet: id }),
    onSuccess: async () => {
      setDeleting(undefined)
      await queries.invalidateQueries()
    },
  })
  return (
    <Panel
      title="Sub-wallets"
      action={
        mayChange ? (
          <Button size="xs" variant="default" onClick={() => setForm({ sub: undefined })}>
            Create sub-wallet
          </Button>
        ) : undefined
      }
    >
      <Failed error={error} />
      {data === undefined ? (
        error === null && <Loading rows={3} />
      ) : data.data.length === 0 ? (
        <Empty title="No sub-wallets">
          A sub-wallet is a ceiling that several keys share: name it in the header X-Sub-Wallet of a call, or
          bind a key to it.
        </Empty>
      ) : (
        <Found
          rows={data.data}
          mayChange={mayChange}
          onEdit={(sub) => setForm({ sub })}
          onDelete={setDeleting}
        />
      )}
      <Dialog
        opened={form !== undefined}
        title={form?.sub === undefined ? 'New sub-wallet' : `Change ${form.sub.label}`}
        onClose={() => setForm(undefined)}
      >
        {form !== undefined && <Form sub={form.sub} onDone={() => setForm(undefined)} />}
      </Dialog>
      <Confirm
        opened={deleting !== undefined}
        title={`Delete ${deleting?.label ?? ''}?`}
        verb="Delete sub-wallet"
        pending={remove.isPending}
        error={remove.error}
        onYes={() => deleting !== undefined && remove.mutate(deleting.id)}
        onClose={() => setDeleting(undefined)}
      >
        Nothing can be spent under it any more, not even by a key that is bound to it. This cannot be undone.
      </Confirm>
    </Panel>
  )
}
