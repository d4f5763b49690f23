/** For operators: the vendors, their keys, what fails, and how the newest calls went. */
import { Button, Checkbox, Group, NativeSelect, PasswordInput, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown, showing } from '../parts/api.ts'
import { Asked } from '../parts/confirm.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { countText } from '../parts/format.ts'
import { failedColumn, LatencyReport } from '../parts/latency.tsx'
import { PageHead, Panel, State } from '../parts/ui.tsx'
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

const Removal = ({ vendor, end }: { vendor: Vendor; end: string }) => {
  const remove = useMutation({
    mutationFn: () =>
      act('DELETE /operator/vendors/:vendor/keys/:key', { vendor: vendor.id, key: end.slice(-4) }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Asked
      verb="Remove"
      name={`Remove the key ${end} of ${vendor.name}`}
      title={`Remove the key ${end} of ${vendor.name}?`}
      yes="Remove the key"
      does={remove}
    >
      No new call uses it from then on. Calls that run end as they are. It stays valid at the vendor.
    </Asked>
  )
}

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
  const [vendor, setVendor] = useState('')
  const [key, setKey] = useState('')
  const [untested, setUntested] = useState(false)
  const add = useMutation({
    mutationFn: () => act('POST /operator/vendors/:vendor/keys', { vendor, key: key.trim(), untested }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onDone()
    },
  })
  return (
    <Form
      save={add}
      verb="Try and add"
      ready={vendor !== '' && key.trim() !== ''}
      hint="Choose the vendor, and paste its key."
    >
      <NativeSelect
        label="Vendor"
        required
        data={[{ value: '', label: 'Choose' }, ...names]}
        value={vendor}
        onChange={(event) => setVendor(event.currentTarget.value)}
      />
      <PasswordInput
        label="Key"
        description="It is tried at the vendor, which costs nothing, and then in use on all processes."
        required
        autoComplete="off"
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
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
            <Text size="xs" c="dimmed" className="mono">
              {id}
            </Text>
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

/** The last day of all organisations, by vendor. */
const LastDay = () => {
  const { data, error } = useQuery(showing('GET /operator/latency', { by: 'vendor' }, 30_000))
  if (error !== null || data === undefined) return <Unread error={error} />
  return <LatencyReport data={data} nameOf={({ label }) => label} />
}

export const Vendors = () => {
  const { data, error } = useQuery(showing('GET /operator/vendors', {}, 5_000))
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
