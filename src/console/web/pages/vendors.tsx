/** For operators: the vendors, their keys, what fails, and how the newest calls went. */
import { Button, Checkbox, Group, NativeSelect, PasswordInput, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown, useShown } from '../parts/api.ts'
import { Asked } from '../parts/confirm.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { countText } from '../parts/format.ts'
import { Form } from '../parts/forms/form.tsx'
import { useChange } from '../parts/forms/use-change.ts'
import { useTexts } from '../parts/forms/use-texts.ts'
import { failedColumn, LatencyReport } from '../parts/latency.tsx'
import { State } from '../parts/state.tsx'
import { Aside, PageHead, Panel } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

type VendorList = Shown<'GET /operator/vendors'>
type Vendor = VendorList['data'][number]

const Health = ({ failing }: { failing: Vendor['failing'] }) =>
  failing.length === 0 ? (
    <State of="ok" />
  ) : (
    <Stack gap={2}>
      {failing.map(({ key, model, failures, seconds }) => (
        <Text size="sm" key={`${key} ${model}`}>
          {model ?? 'all models'} at {key}: {failures} {failures === 1 ? 'failure' : 'failures'} in a row,
          tried again {seconds === 0 ? 'by the next call' : `in ${seconds} s`}
        </Text>
      ))}
    </Stack>
  )

const Removal = ({ vendor: { id, name }, end }: { vendor: Vendor; end: string }) => (
  <Asked
    verb="Remove"
    name={`Remove the key ${end} of ${name}`}
    title={`Remove the key ${end} of ${name}?`}
    yes="Remove the key"
    send={() => act('DELETE /operator/vendors/:vendor/keys/:key', { vendor: id, key: end.slice(-4) })}
  >
    No new call uses it from then on. Calls that run end as they are. It stays valid at the vendor.
  </Asked>
)

const Keys = ({ vendor }: { vendor: Vendor }) => {
  const { keys, added } = vendor
  if (keys.length === 0) return 'none needed'
  return (
    <Stack gap={4}>
      {[...new Set(keys)].map((end) => (
        <Group key={end} gap="xs" wrap="nowrap">
          <span className="mono">{end}</span>
          {added.includes(end) && <Removal vendor={vendor} end={end} />}
        </Group>
      ))}
    </Stack>
  )
}

/** A key for a vendor that is on or off; it is tried there first. */
const NewKey = ({ data, onDone }: { data: VendorList; onDone: () => void }) => {
  const names = [
    ...data.data.map(({ id, name }) => ({ value: id, label: name })),
    ...data.off.map(({ id }) => id),
  ]
  const { texts, field } = useTexts({ vendor: '', key: '' })
  const [untested, setUntested] = useState(false)
  const { vendor } = texts
  const key = texts.key.trim()
  const add = useChange(() => act('POST /operator/vendors/:vendor/keys', { vendor, key, untested }), {
    after: onDone,
  })
  return (
    <Form
      save={add}
      verb="Try and add"
      ready={vendor !== '' && key !== ''}
      hint="Choose the vendor, and paste its key."
    >
      <NativeSelect
        {...field('vendor', 'Vendor')}
        required
        data={[{ value: '', label: 'Choose' }, ...names]}
      />
      <PasswordInput
        {...field(
          'key',
          'Key',
          'It is tried at the vendor, which costs nothing, and then in use on all processes.',
        )}
        required
        autoComplete="off"
      />
      <Checkbox
        label="Add it also if the vendor does not say whether it takes it"
        checked={untested}
        onChange={(event) => setUntested(event.currentTarget.checked)}
      />
    </Form>
  )
}

const VendorTable = ({ data }: { data: VendorList }) => (
  <DataTable
    label="Vendors"
    rows={data.data}
    keyOf={({ id }) => id}
    columns={[
      {
        head: 'Vendor',
        cell: ({ name, id }) => (
          <>
            {name}
            <Aside className="mono">{id}</Aside>
          </>
        ),
      },
      {
        head: 'Keys, by their last four letters',
        cell: (vendor) => <Keys vendor={vendor} />,
      },
      { head: 'Health', cell: ({ failing }) => <Health failing={failing} /> },
      {
        head: 'Attempts',
        title: 'Attempts at it, of the newest calls',
        figure: true,
        cell: ({ calls }) => countText(calls),
      },
      failedColumn,
    ]}
  />
)

const Off = ({ off }: { off: VendorList['off'] }) => (
  <Panel title="Off">
    <Text size="sm" mb="sm" c="dimmed">
      To turn one on, add a key of it here, or set its variable and restart.
    </Text>
    <DataTable
      label="Vendors that are off"
      rows={off}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Vendor', cell: ({ id }) => id },
        { head: 'Variable', className: 'mono', cell: ({ variable }) => variable },
      ]}
    />
  </Panel>
)

const LastDay = () => {
  const { data, error } = useShown('GET /operator/latency', { by: 'vendor' }, 30_000)
  if (error !== null || data === undefined) return <Unread error={error} />
  return <LatencyReport data={data} nameOf={({ label }) => label} />
}

export const Vendors = () => {
  const { data, error } = useShown('GET /operator/vendors', {}, 5_000)
  const [adds, setAdds] = useState(false)
  if (data === undefined) return <Unread error={error} />
  return (
    <>
      <PageHead
        title="Vendors"
        about={`Health is that of the process that answered this page. Attempts are those of the newest ${countText(data.of_calls)} calls of all organisations for which vendors were asked, answered or not.`}
      >
        <Button onClick={() => setAdds(true)}>Add a key</Button>
      </PageHead>
      <Dialog opened={adds} onClose={() => setAdds(false)} title="A key of a vendor">
        <NewKey data={data} onDone={() => setAdds(false)} />
      </Dialog>
      <Stack>
        <Panel title="On">
          <VendorTable data={data} />
        </Panel>
        <LastDay />
        {data.off.length > 0 && <Off off={data.off} />}
      </Stack>
    </>
  )
}
