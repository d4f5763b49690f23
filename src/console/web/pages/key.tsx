/** One key: what it spent against its caps, its limits, and disable, enable, rotate, delete. */
import { Alert, Anchor, Button, Checkbox, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { act, type Shown, useShown } from '../parts/api.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { countText } from '../parts/format.ts'
import { Form } from '../parts/forms/form.tsx'
import { useOneAtATime } from '../parts/forms/one-at-a-time.ts'
import { useChange } from '../parts/forms/use-change.ts'
import { differing, useEdits } from '../parts/forms/use-edits.ts'
import { bodyOf, KeyFields, textsOf } from '../parts/keys/key-fields.tsx'
import { type NewKeyShown, ShownOnce } from '../parts/keys/new-key.tsx'
import { AllCalls, CallTable } from '../parts/money/call-table.tsx'
import { CapBar } from '../parts/money/cap-bar.tsx'
import { State } from '../parts/state.tsx'
import { Aside, Copy, Failed, Figure, PageHead, Panel, Told, When } from '../parts/ui.tsx'
import { UnreadPage } from '../parts/unread.tsx'
import { useMay } from '../parts/use-may.ts'

type KeyRow = Shown<'GET /keys/:key'>

const Edit = ({ row }: { row: KeyRow }) => {
  const stored = textsOf(row)
  const { texts, edit, save } = useEdits(stored, (sent) =>
    act('PUT /keys/:key', { key: row.id, ...differing(bodyOf(sent) ?? {}, bodyOf(stored)) }),
  )
  return (
    <Panel title="Limits">
      <Form
        save={save}
        verb="Save"
        ready={bodyOf(texts) !== undefined}
        place="page"
        done="Saved. The new limits apply on every process."
      >
        <KeyFields texts={texts} edit={edit} mayManage={useMay('keys')} />
      </Form>
    </Panel>
  )
}

const Rotate = ({ row }: { row: KeyRow }) => {
  const [made, setMade] = useState<NewKeyShown>()
  const rotate = useChange(() => act('POST /keys/:key/rotate', { key: row.id }), { told: setMade })
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
            It has the same limits, for both keys together, and what was spent counts. It manages what the old
            one manages. The old key stays valid. Move your traffic to the new one, and delete the old one
            when its last use no longer changes.
          </Text>
          {made !== undefined && made.status !== 'enabled' && (
            <Text size="sm">It is disabled, as the old one is; enable it on its own page.</Text>
          )}
          {made !== undefined && <ShownOnce made={made} onClose={() => setMade(undefined)} />}
        </Stack>
      </Dialog>
      <Failed error={rotate.error} />
    </>
  )
}

const countOf = (below: number): string => (below === 1 ? 'the key' : `the ${countText(below)} keys`)

/** Keys below go on unless they are named: a reseller's key may have all tenants below it. */
const Delete = ({ row }: { row: KeyRow }) => {
  const [asks, setAsks] = useState(false)
  const [along, setAlong] = useState(false)
  const navigate = useNavigate()
  const remove = useChange(() => act('DELETE /keys/:key', { key: row.id, with_children: along }), {
    after: () => navigate({ to: row.parent === null ? '/keys' : '/tenants' }),
  })
  const close = () => {
    setAsks(false)
    setAlong(false)
  }
  return (
    <>
      <Button variant="default" className="danger" onClick={() => setAsks(true)}>
        Delete
      </Button>
      <Confirm
        opened={asks}
        title={`Delete ${row.label}?`}
        verb={along ? 'Delete keys' : 'Delete key'}
        does={remove}
        onYes={() => remove.mutate()}
        onClose={close}
        more={
          row.keys_below > 0 && (
            <Checkbox
              label={`Also delete ${countOf(row.keys_below)} below it`}
              description={
                along
                  ? 'Their calls are refused too, for good.'
                  : 'Else they go on, billed to your wallet as before; a key that takes the place of this one manages them, and no other that you make later.'
              }
              checked={along}
              onChange={(event) => setAlong(event.currentTarget.checked)}
            />
          )
        }
      >
        Calls with {row.prefix}… are refused from then on, for good. What it used stays in the reports.
      </Confirm>
    </>
  )
}

const Actions = ({ row }: { row: KeyRow }) => {
  // One that expired is not disabled: enabling it would change nothing.
  const off = row.status !== 'enabled' && row.status !== 'expired'
  const toggle = useChange((disabled: boolean) => act('PUT /keys/:key', { key: row.id, disabled }))
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate(!off)}>
          {off ? 'Enable' : 'Disable'}
        </Button>
        <Rotate row={row} />
        <Delete row={row} />
      </Group>
      {toggle.isSuccess && (
        <Told>{toggle.variables ? 'Disabled on every process.' : 'Enabled on every process.'}</Told>
      )}
      <Failed error={toggle.error} />
    </Stack>
  )
}

const OfTenant = ({ row }: { row: KeyRow }) =>
  row.tenant === null ? null : (
    <>
      ·{' '}
      <Anchor component={Link} to={`/tenants/${row.tenant}`} size="sm">
        Tenant
      </Anchor>
    </>
  )

/** The keys before and after it by rotation. */
const Around = ({ row: { replaces, replaced_by: next } }: { row: KeyRow }) => (
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

/** How much of what was spent is what vendors bill for own keys; nothing without such calls. */
const Estimated = ({ usd }: { usd: string }) =>
  Number(usd) === 0 ? null : (
    <Aside>{usd} USD of it is estimated: your vendors bill it for your own keys</Aside>
  )

/** In all and this month; this week and today where that has a cap. */
const Spent = ({ row }: { row: KeyRow }) => (
  <>
    <Figure name="Spent in total">
      <CapBar used={row.spent_usd} cap={row.spend_cap_usd} label="Lifetime cap" />
      <Estimated usd={row.estimated_usd} />
    </Figure>
    <Figure name="This month">
      <CapBar used={row.spent_this_month_usd} cap={row.monthly_cap_usd} label="Monthly cap" />
      <Estimated usd={row.estimated_this_month_usd} />
    </Figure>
    {row.weekly_cap_usd !== null && (
      <Figure name="This week">
        <CapBar used={row.spent_this_week_usd} cap={row.weekly_cap_usd} label="Weekly cap" />
      </Figure>
    )}
    {row.daily_cap_usd !== null && (
      <Figure name="Today">
        <CapBar used={row.spent_today_usd} cap={row.daily_cap_usd} label="Daily cap" />
      </Figure>
    )}
  </>
)

export const KeyPage = () => {
  const { id = '' } = useParams({ strict: false })
  const mayChange = useMay('keys', 'keys_own')
  const { data: row, error } = useShown('GET /keys/:key', { key: id }, 3_000)
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
          <Spent row={row} />
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
        <Panel title="Newest calls" action={<AllCalls of={{ key: row.id }} />}>
          <CallTable asked={{ key: row.id, own: 'true' }} live />
        </Panel>
      </Stack>
    </>
  )
}
