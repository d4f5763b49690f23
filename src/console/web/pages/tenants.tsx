/** A reseller's tenants: created from a pasted list, their use, statements, suspension. */

import { Alert, Button, Group, Stack, Table, Textarea } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { act, type Shown, useShown } from '../parts/api.ts'
import { csvCell, download } from '../parts/csv.ts'
import { Dialog } from '../parts/dialog.tsx'
import { counted } from '../parts/format.ts'
import { ChooseFiles } from '../parts/forms/choose-files.tsx'
import { Search } from '../parts/forms/field.tsx'
import { useOneAtATime } from '../parts/forms/one-at-a-time.ts'
import { useChange } from '../parts/forms/use-change.ts'
import { KeyList } from '../parts/keys/key-list.tsx'
import { readTenants } from '../parts/keys/tenant-list.ts'
import { Earned } from '../parts/money/earned.tsx'
import { PriceForm } from '../parts/money/price-form.tsx'
import { SeesForm } from '../parts/money/sees-form.tsx'
import { TableBox } from '../parts/table-box.tsx'
import { Aside, Empty, Failed, PageHead, Panel, Told } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { useMay } from '../parts/use-may.ts'
import { useView } from '../parts/use-view.ts'

type TenantsMade = Shown<'POST /tenants'>

const Made = ({ made, onClose }: { made: TenantsMade; onClose: () => void }) => {
  const rows = made.data.map(({ label, reference, id, key }) =>
    [label, reference ?? '', id, key].map(csvCell).join(','),
  )
  return (
    <Stack>
      <Alert
        color="yellow"
        variant="outline"
        className="failed"
        title={`Download the ${counted(made.data.length, 'key')} now`}
      >
        They are shown only this once: nobody, not even we, can read them again.
      </Alert>
      <TableBox>
        <Table verticalSpacing={4} aria-label="New tenants">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Tenant</Table.Th>
              <Table.Th>Key</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {made.data.map(({ id, label, key }) => (
              <Table.Tr key={id}>
                <Table.Td>{label}</Table.Td>
                <Table.Td className="mono">{key}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </TableBox>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Done
        </Button>
        <Button
          onClick={() => download('tenant-keys.csv', `label,reference,id,key\r\n${rows.join('\r\n')}\r\n`)}
        >
          Download keys
        </Button>
      </Group>
    </Stack>
  )
}

/** The most that one request creates. */
const MOST = 200

type ListProps = {
  readonly text: string
  readonly setText: (text: string) => void
  readonly onMade: (made: TenantsMade) => void
}

const ListForm = ({ text, setText, onMade }: ListProps) => {
  const { tenants, wrong } = readTenants(text)
  const create = useChange(() => act('POST /tenants', { tenants }), { told: onMade })
  const send = useOneAtATime(create)
  const [isHinted, setHinted] = useState(false)
  const ready = tenants.length > 0 && wrong.length === 0 && tenants.length <= MOST
  return (
    <Stack>
      <Textarea
        label="Tenants, one per line"
        description="Label, your reference, monthly cap in USD. Paste from a spreadsheet, or open a CSV file."
        placeholder={'Acme GmbH, C-1001, 50\nBlue Ltd, C-1002, 20'}
        autosize
        minRows={8}
        maxRows={16}
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {(wrong.length > 0 || tenants.length > MOST) && (
        <Alert color="red" variant="outline" className="failed">
          {wrong.slice(0, 5).join(' ')}
          {tenants.length > MOST && `These are ${tenants.length}; create at most ${MOST} at once.`}
        </Alert>
      )}
      <Failed error={create.error} />
      {isHinted && !ready && (
        <Told alert>
          {tenants.length === 0 ? 'Write at least one tenant above.' : 'First correct what is said above.'}
        </Told>
      )}
      <Group justify="space-between">
        <ChooseFiles
          name="CSV file of tenants"
          accept=".csv,text/csv,text/plain"
          onChosen={([file]) => void file?.text().then(setText)}
        >
          Open CSV
        </ChooseFiles>
        <Button loading={create.isPending} onClick={() => (ready ? send() : setHinted(true))}>
          {tenants.length === 0 ? 'Create tenants' : `Create ${counted(tenants.length, 'tenant')}`}
        </Button>
      </Group>
    </Stack>
  )
}

const NewTenants = ({ opened, onClose }: { opened: boolean; onClose: () => void }) => {
  const [made, setMade] = useState<TenantsMade>()
  // Stays while the page does: Escape, or a click beside it, must not lose a long list.
  const [text, setText] = useState('')
  const close = () => {
    setMade(undefined)
    onClose()
  }
  const done = (keys: TenantsMade) => {
    setMade(keys)
    setText('')
  }
  return (
    <Dialog
      opened={opened || made !== undefined}
      onClose={close}
      size="xl"
      title={made === undefined ? 'New tenants' : 'Their keys'}
      keep={made !== undefined}
    >
      {made === undefined ? (
        <ListForm text={text} setText={setText} onMade={done} />
      ) : (
        <Made made={made} onClose={close} />
      )}
    </Dialog>
  )
}

const Month = () => {
  const { data, error } = useShown('GET /statement/total', {}, 10_000)
  if (data === undefined) return <Unread error={error} rows={2} />
  return <Earned bill="You bill this month" tenants={data.tenants} of={data} />
}

const Prices = ({ opened, onClose }: { opened: boolean; onClose: () => void }) => {
  const { data } = useShown('GET /statement/total', {}, 10_000)
  return (
    <Dialog opened={opened && data !== undefined} onClose={onClose} title="Your prices">
      <Stack>
        <SeesForm />
        <PriceForm present={String(data?.default_margin_percent ?? 0)} onDone={onClose} />
      </Stack>
    </Dialog>
  )
}

export const Tenants = () => {
  const { query, show } = useView('/tenants')
  const mayChange = useMay('tenants')
  const search = query.search ?? ''
  return (
    <>
      <PageHead title="Tenants" about="One child key for each of your customers.">
        <Button component={Link} variant="default" to="/statement">
          Statements
        </Button>
        <Button component={Link} variant="default" to="/bills">
          Invoices
        </Button>
        {mayChange && (
          <>
            <Button variant="default" onClick={() => show({ new: 'price' })}>
              Prices
            </Button>
            <Button onClick={() => show({ new: 'tenants' })}>Create tenants</Button>
          </>
        )}
      </PageHead>
      <Stack>
        <Month />
        <Search
          of="tenants"
          by="label, reference or prefix"
          value={search}
          onSearch={(search) => show({ search, after: undefined })}
        />
        <Panel>
          <KeyList
            which="tenants"
            acts={mayChange}
            sorting={{ by: query.sort, sort: (sort) => show({ sort }) }}
            search={search}
            after={query.after}
            onPage={(after) => show({ after })}
            empty={
              <Empty title={search === '' ? 'No tenants yet' : 'No tenant matches'}>
                Paste a list, and each tenant gets a key of its own: billed to your wallet, capped and
                reported by itself.
              </Empty>
            }
          />
        </Panel>
        <Aside>What a tenant spends counts against your own wallet and caps as well.</Aside>
      </Stack>
      <NewTenants opened={query.new === 'tenants' && mayChange} onClose={() => show({ new: undefined })} />
      <Prices opened={query.new === 'price' && mayChange} onClose={() => show({ new: undefined })} />
    </>
  )
}
