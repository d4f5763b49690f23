/** The keys that the organisation has at vendors itself: tried and added, turned on and off, removed. */
import { Button, Checkbox, Group, PasswordInput, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown, showing } from '../api.ts'
import { Asked } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { Form } from '../form.tsx'
import { Empty, Failed, Loading, Panel } from '../ui.tsx'

type OwnKey = Shown<'GET /own-keys'>['data'][number]

/** Adds a key, or puts it in the place of one. */
const KeyForm = ({ instead, onDone }: { instead: OwnKey | undefined; onDone: () => void }) => {
  const [vendor, setVendor] = useState(instead?.vendor ?? '')
  const [key, setKey] = useState('')
  const [untested, setUntested] = useState(false)
  const save = useMutation({
    mutationFn: () =>
      act('POST /own-keys', {
        ...{ vendor: vendor.trim(), value: key.trim(), untested },
        ...(instead === undefined ? {} : { instead: instead.id }),
      }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onDone()
    },
  })
  return (
    <Form
      save={save}
      verb={instead === undefined ? 'Try and add' : 'Try and replace'}
      ready={vendor.trim() !== '' && key.trim() !== ''}
      hint="Name the vendor, and paste its key."
    >
      <TextInput
        label="Vendor"
        description="Its id: the part of a model's name before the slash"
        required
        readOnly={instead !== undefined}
        maxLength={40}
        value={vendor}
        onChange={(event) => setVendor(event.currentTarget.value)}
      />
      <PasswordInput
        label="Key"
        description="It is tried at the vendor, which costs nothing, and kept sealed. It is never shown again."
        required
        autoComplete="off"
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
      />
      <Checkbox
        label="Keep it also if the vendor does not say whether it takes it"
        checked={untested}
        onChange={(event) => setUntested(event.currentTarget.checked)}
      />
    </Form>
  )
}

const Acts = ({ row, onReplace }: { row: OwnKey; onReplace: (row: OwnKey) => void }) => {
  const again = { onSuccess: () => queries.invalidateQueries() }
  const { id, vendor, key, enabled, fall_back } = row
  const turn = useMutation({
    mutationFn: () => act('PUT /own-keys/:own_key', { own_key: id, enabled: !enabled }),
    ...again,
  })
  const remove = useMutation({
    mutationFn: () => act('DELETE /own-keys/:own_key', { own_key: id }),
    ...again,
  })
  const falls = useMutation({
    mutationFn: () => act('PUT /own-keys/:own_key', { own_key: id, fall_back: !fall_back }),
    ...again,
  })
  return (
    <>
      <Group gap="xs" wrap="nowrap" justify="flex-end">
        <Button size="compact-sm" variant="default" loading={turn.isPending} onClick={() => turn.mutate()}>
          {enabled ? 'Turn off' : 'Turn on'}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onReplace(row)}>
          Replace
        </Button>
        <Asked
          verb={fall_back ? 'Do not fall back' : 'Fall back'}
          name={`Whether calls at ${vendor} fall back, key ${key}`}
          title={fall_back ? `No house's key at ${vendor}?` : `Fall back to the house's key at ${vendor}?`}
          yes={fall_back ? 'Do not fall back' : 'Fall back'}
          does={falls}
        >
          {fall_back
            ? 'Calls are refused where your own keys fail.'
            : "Where your own keys fail, calls go out with the house's key and cost the list price."}
        </Asked>
        <Asked
          verb="Remove"
          name={`Remove the own key ${key} of ${vendor}`}
          title={`Remove the own key ${key} of ${vendor}?`}
          yes="Remove the key"
          does={remove}
        >
          No new call uses it from then on. After the last key of a vendor its calls use the house's key
          again, at the list price.
        </Asked>
      </Group>
      <Failed error={turn.error} />
    </>
  )
}

export const OwnKeys = () => {
  const { data, error } = useQuery(showing('GET /own-keys', {}, 10_000))
  const [form, setForm] = useState<{ instead: OwnKey | undefined }>()
  return (
    <Panel
      title="Own keys of vendors"
      action={
        <Button size="xs" variant="default" onClick={() => setForm({ instead: undefined })}>
          Add own key
        </Button>
      }
    >
      <Failed error={error} />
      {data === undefined ? (
        error === null && <Loading rows={2} />
      ) : data.data.length === 0 ? (
        <Empty title="No own keys">
          With a key of your own at a vendor, the vendor bills you for its models and calls here cost a fee at
          most. Calls then use no key of the house, unless you let them fall back.
        </Empty>
      ) : (
        <DataTable
          label="Own keys of vendors"
          rows={data.data}
          keyOf={({ id }) => id}
          columns={[
            {
              head: 'Vendor',
              cell: ({ vendor, fall_back }) => (
                <>
                  {vendor}
                  <Text size="xs" c="dimmed">
                    {fall_back ? "falls back to the house's key" : 'own keys alone'}
                  </Text>
                </>
              ),
            },
            { head: 'Key', className: 'mono', cell: ({ key }) => key },
            { head: 'State', cell: ({ enabled }) => (enabled ? 'on' : 'off') },
            {
              head: 'Added',
              cell: ({ added_at, added_by }) => `${added_at.slice(0, 10)} by ${added_by}`,
            },
            { head: '', cell: (row) => <Acts row={row} onReplace={(instead) => setForm({ instead })} /> },
          ]}
        />
      )}
      <Dialog
        opened={form !== undefined}
        title={form?.instead === undefined ? 'A key of your own' : `In the place of ${form.instead.key}`}
        onClose={() => setForm(undefined)}
      >
        {form !== undefined && <KeyForm instead={form.instead} onDone={() => setForm(undefined)} />}
      </Dialog>
    </Panel>
  )
}
