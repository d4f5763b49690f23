/** The keys that the organisation has at vendors itself: tried and added, turned on and off, removed. */
import { Checkbox, Group, PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown, useShown } from '../api.ts'
import { Asked } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { useTexts } from '../forms/use-texts.ts'
import { ListPanel } from '../list-panel.tsx'
import { Aside, Failed, RowButton } from '../ui.tsx'

type OwnKey = Shown<'GET /own-keys'>['data'][number]

/** Adds a key, or puts it in the place of one. */
const KeyForm = ({ instead, onDone }: { instead: OwnKey | undefined; onDone: () => void }) => {
  const { texts, field } = useTexts({ vendor: instead?.vendor ?? '', key: '' })
  const [untested, setUntested] = useState(false)
  const [vendor, value] = [texts.vendor.trim(), texts.key.trim()]
  const save = useChange(() => act('POST /own-keys', { vendor, value, untested, instead: instead?.id }), {
    after: onDone,
  })
  return (
    <Form
      save={save}
      verb={instead === undefined ? 'Try and add' : 'Try and replace'}
      ready={vendor !== '' && value !== ''}
      hint="Name the vendor, and paste its key."
    >
      <TextInput
        {...field('vendor', 'Vendor', "Its id: the part of a model's name before the slash")}
        required
        readOnly={instead !== undefined}
        maxLength={40}
      />
      <PasswordInput
        {...field(
          'key',
          'Key',
          'It is tried at the vendor, which costs nothing, and kept sealed. It is never shown again.',
        )}
        required
        autoComplete="off"
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
  const { id, vendor, key, enabled, fall_back } = row
  const change = (to: object) => act('PUT /own-keys/:own_key', { own_key: id, ...to })
  const turn = useChange(() => change({ enabled: !enabled }))
  return (
    <>
      <Group gap="xs" wrap="nowrap" justify="flex-end">
        <RowButton loading={turn.isPending} onClick={() => turn.mutate()}>
          {enabled ? 'Turn off' : 'Turn on'}
        </RowButton>
        <RowButton onClick={() => onReplace(row)}>Replace</RowButton>
        <Asked
          verb={fall_back ? 'Do not fall back' : 'Fall back'}
          name={`Whether calls at ${vendor} fall back, key ${key}`}
          title={fall_back ? `No house's key at ${vendor}?` : `Fall back to the house's key at ${vendor}?`}
          yes={fall_back ? 'Do not fall back' : 'Fall back'}
          send={() => change({ fall_back: !fall_back })}
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
          send={() => act('DELETE /own-keys/:own_key', { own_key: id })}
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
  const [form, setForm] = useState<{ instead: OwnKey | undefined }>()
  return (
    <>
      <ListPanel
        title="Own keys of vendors"
        make="Add own key"
        onMake={() => setForm({ instead: undefined })}
        list={useShown('GET /own-keys', {}, 10_000)}
        loading={2}
        none={[
          'No own keys',
          'With a key of your own at a vendor, the vendor bills you for its models and calls here cost a fee at most. Calls then use no key of the house, unless you let them fall back.',
        ]}
      >
        {({ data }) => (
          <DataTable
            label="Own keys of vendors"
            rows={data}
            keyOf={({ id }) => id}
            columns={[
              {
                head: 'Vendor',
                cell: ({ vendor, fall_back }) => (
                  <>
                    {vendor}
                    <Aside>{fall_back ? "falls back to the house's key" : 'own keys alone'}</Aside>
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
      </ListPanel>
      <Dialog
        opened={form !== undefined}
        title={form?.instead === undefined ? 'A key of your own' : `In the place of ${form.instead.key}`}
        onClose={() => setForm(undefined)}
      >
        {form !== undefined && <KeyForm instead={form.instead} onDone={() => setForm(undefined)} />}
      </Dialog>
    </>
  )
}
