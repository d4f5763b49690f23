/** One key: what it spent against its caps, its limits, and disable, enable, rotate, delete. */
import { Alert, Anchor, Button, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { KeyMadeShown, KeyPageShown, KeyShown } from '../../schema/keys.ts'
import { ask, queries, reading } from '../parts/api.ts'
import { CallTable } from '../parts/call-table.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { LimitsForm, limitsOf } from '../parts/limits-form.tsx'
import { ShownOnce } from '../parts/new-key.tsx'
import { useOneAtATime } from '../parts/one-at-a-time.ts'
import { CapBar, Copy, Failed, Figure, PageHead, Panel, State, When } from '../parts/ui.tsx'
import { UnreadPage } from '../parts/unread.tsx'
import { useMay } from '../parts/use-may.ts'

const textsOf = (row: KeyShown) => ({
  spend: row.spend_cap_usd ?? '',
  month: row.monthly_cap_usd ?? '',
  stop: row.stop_at_remaining_usd ?? '',
  rpm: row.rpm_limit === null ? '' : String(row.rpm_limit),
})

const Edit = ({ row }: { row: KeyShown }) => {
  const [label, setLabel] = useState(row.label)
  const [limits, setLimits] = useState(() => textsOf(row))
  const read = limitsOf(limits)
  const save = useMutation({
    mutationFn: () => ask('PUT', `/keys/${row.id}`, { label, limits: read }),
    onSuccess: () => queries.invalidateQueries(),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (read !== undefined) save.mutate()
  }
  return (
    <Panel title="Limits">
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Label"
            required
            maxLength={200}
            value={label}
            onChange={(event) => setLabel(event.currentTarget.value)}
          />
          <LimitsForm value={limits} onChange={setLimits} />
          <Failed error={save.error} />
          <Group>
            <Button type="submit" loading={save.isPending} disabled={read === undefined}>
              Save
            </Button>
            {save.isSuccess && (
              <Text size="sm" role="status">
                Saved. The new limits apply on every process.
              </Text>
            )}
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}

const Rotate = ({ row }: { row: KeyShown }) => {
  const [made, setMade] = useState<KeyMadeShown>()
  const rotate = useMutation({
    mutationFn: () => ask<KeyMadeShown>('POST', `/keys/${row.id}/rotate`),
    onSuccess: async (next) => {
      setMade(next)
      await queries.invalidateQueries()
    },
  })
  const send = useOneAtATime(rotate)
  return (
    <>
      <Button variant="default" loading={rotate.isPending} onClick={send}>
        Rotate
      </Button>
      <Dialog
        opened={made !== undefined}
        onClose={() => setMade(undefined)}
        size="lg"
        title="The new key"
        keep
      >
        <Stack>
          <Text size="sm">
            The old key stays valid. Move your traffic to the new one, and delete the old one when its last
            use no longer changes.
          </Text>
          {made !== undefined && <ShownOnce made={made} onClose={() => setMade(undefined)} />}
        </Stack>
      </Dialog>
      <Failed error={rotate.error} />
    </>
  )
}

const Actions = ({ row }: { row: KeyShown }) => {
  const [deletes, setDeletes] = useState(false)
  const navigate = useNavigate()
  const off = row.status !== 'enabled'
  const toggle = useMutation({
    mutationFn: () => ask('PUT', `/keys/${row.id}`, { limits: { disabled: !off } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  const remove = useMutation({
    mutationFn: () => ask('DELETE', `/keys/${row.id}`),
    onSuccess: async () => {
      await queries.invalidateQueries()
      await navigate({ to: row.parent === null ? '/keys' : '/tenants' })
    },
  })
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate()}>
          {off ? 'Enable' : 'Disable'}
        </Button>
        <Rotate row={row} />
        <Button variant="default" className="danger" onClick={() => setDeletes(true)}>
          Delete
        </Button>
      </Group>
      {toggle.isSuccess && (
        <Text size="sm" role="status">
          {off ? 'Disabled on every process.' : 'Enabled on every process.'}
        </Text>
      )}
      <Failed error={toggle.error} />
      <Confirm
        opened={deletes}
        title={`Delete ${row.label}?`}
        verb="Delete key"
        pending={remove.isPending}
        error={remove.error}
        onYes={() => remove.mutate()}
        onClose={() => setDeletes(false)}
      >
        Calls with {row.prefix}… and with all keys below it are refused from then on, for good. What they used
        stays in the reports.
      </Confirm>
    </Stack>
  )
}

const OfTenant = ({ row }: { row: KeyShown }) =>
  row.tenant === null ? null : (
    <>
      ·{' '}
      <Anchor component={Link} to={`/tenants/${row.tenant}`} size="sm">
        Tenant
      </Anchor>
    </>
  )

/** The keys before and after it by rotation. */
const Around = ({ row: { replaces, replaced_by: next } }: { row: KeyPageShown }) => (
  <>
    {replaces !== null && (
      <>
        · took the place of{' '}
        <Anchor component={Link} to={`/keys/${replaces.id}`} size="sm">
          {replaces.prefix}…
        </Anchor>{' '}
      </>
    )}
    {next !== null && (
      <>
        · rotated to{' '}
        <Anchor component={Link} to={`/keys/${next.id}`} size="sm">
          {next.prefix}…
        </Anchor>
      </>
    )}
  </>
)

export const KeyPage = () => {
  const { id = '' } = useParams({ strict: false })
  const mayChange = useMay('keys', 'keys_own')
  const { data: row, error } = useQuery(reading<KeyPageShown>(`/keys/${id}`, 3_000))
  if (row === undefined) return <UnreadPage error={error} />
  return (
    <>
      <PageHead
        title={row.label}
        about={
          <>
            <Copy text={row.id} name="id of the key" /> · {row.prefix}… <OfTenant row={row} />{' '}
            <Around row={row} />
          </>
        }
      >
        {mayChange && row.status !== 'deleted' && <Actions row={row} />}
      </PageHead>
      <Stack>
        {row.status === 'spend_cap' || row.status === 'monthly_cap' ? (
          <Alert color="yellow" variant="outline" className="failed" title="The cap is reached">
            Calls are refused. Raise the cap below, then enable the key.
          </Alert>
        ) : null}
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
          <Figure name="Status">
            <State of={row.status} />
          </Figure>
          <Figure name="Spent in total">
            <CapBar used={row.spent_usd} cap={row.spend_cap_usd} label="Lifetime cap" />
          </Figure>
          <Figure name="This month">
            <CapBar used={row.spent_this_month_usd} cap={row.monthly_cap_usd} label="Monthly cap" />
          </Figure>
          <Figure
            name="Last used"
            below={
              <>
                made <When at={row.created_at} ago /> by {row.made_by ?? 'the command line'}
              </>
            }
          >
            <When at={row.last_used_at} ago />
          </Figure>
        </SimpleGrid>
        {mayChange && row.status !== 'deleted' && <Edit key={row.id} row={row} />}
        <Panel title="Newest calls">
          <CallTable keyId={row.id} live />
        </Panel>
      </Stack>
    </>
  )
}
