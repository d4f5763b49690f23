/** One tenant: its keys, its use and bill, its price, its read-only links, and its suspension. */
import { Alert, Anchor, Box, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { act, type Shown, useShown } from '../parts/api.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { counted, countText } from '../parts/format.ts'
import { useChange } from '../parts/forms/use-change.ts'
import { KeyTable } from '../parts/keys/key-table.tsx'
import { AllCalls, CallTable } from '../parts/money/call-table.tsx'
import { TenantBilling } from '../parts/money/party-fields.tsx'
import { PriceForm } from '../parts/money/price-form.tsx'
import {
  Aside,
  Code,
  Copy,
  Empty,
  Failed,
  Figure,
  Money,
  PageHead,
  Panel,
  RowButton,
  SmallButton,
  Told,
  When,
} from '../parts/ui.tsx'
import { Unread, UnreadPage } from '../parts/unread.tsx'
import { useMay } from '../parts/use-may.ts'

type TenantShown = Shown<'GET /tenants/:tenant'>
type TenantLinkShown = Shown<'POST /tenants/:tenant/links'>

const isOff = ({ keys }: TenantShown): boolean =>
  keys.length > 0 && keys.every(({ status }) => status === 'disabled')

const Suspension = ({ tenant }: { tenant: TenantShown }) => {
  const [asks, setAsks] = useState(false)
  const off = isOff(tenant)
  const change = useChange(
    (suspended: boolean) => act('PUT /tenants/:tenant', { tenant: tenant.id, suspended }),
    { told: () => setAsks(false) },
  )
  return (
    <Stack gap="xs" align="flex-end">
      <Button
        variant={off ? 'filled' : 'default'}
        className={off ? '' : 'danger'}
        loading={change.isPending}
        onClick={() => (off ? change.mutate(false) : setAsks(true))}
      >
        {off ? 'Resume' : 'Suspend'}
      </Button>
      {change.isSuccess && (
        <Told>{change.variables ? 'Suspended on every process.' : 'Resumed on every process.'}</Told>
      )}
      {!asks && <Failed error={change.error} />}
      <Confirm
        opened={asks}
        title={`Suspend ${tenant.label}?`}
        verb="Suspend tenant"
        does={change}
        onYes={() => change.mutate(true)}
        onClose={() => setAsks(false)}
      >
        Its calls are refused from then on, with all its keys and those below them. Answers that are under way
        come to their end. You can resume it at any time.
      </Confirm>
    </Stack>
  )
}

const ThisMonth = ({ tenant }: { tenant: TenantShown }) => {
  const { data, error } = useShown('GET /statement', { tenant: tenant.id }, 10_000)
  const total = data?.tenants[0]?.total
  if (total === undefined) return <Unread error={error} rows={2} />
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }}>
      <Figure name="You bill this month" below={`${tenant.margin_percent} % above our price`}>
        <Money usd={total.billed_usd} />
      </Figure>
      <Figure name="You pay us" below="from your wallet, as it was used">
        <Money usd={total.cost_usd} />
      </Figure>
      <Figure name="Calls this month" below={`${counted(total.input_tokens, 'token')} in`}>
        {countText(total.requests)}
      </Figure>
    </SimpleGrid>
  )
}

const NewLink = ({ made, onClose }: { made: TenantLinkShown | undefined; onClose: () => void }) => (
  <Dialog opened={made !== undefined} onClose={onClose} title="A link for the tenant" keep>
    <Stack>
      <Alert color="yellow" variant="outline" className="failed" title="Copy it now">
        It is shown only this once. Whoever has it sees this tenant’s use at your price, until you revoke it;
        never our price, a key or another tenant.
      </Alert>
      {made !== undefined && <Code text={made.link} name="link for the tenant" />}
      <Group justify="flex-end">
        <Button onClick={onClose}>I have copied it</Button>
      </Group>
    </Stack>
  </Dialog>
)

const LinkRows = ({ tenant, onRevoke }: { tenant: TenantShown; onRevoke: (id: string) => void }) => (
  <Stack gap="xs" component="ul" className="rows">
    {tenant.links.map(({ id, made_by, created_at }) => (
      <Group key={id} component="li" justify="space-between" wrap="nowrap">
        <Box miw={0}>
          <Text size="sm">
            Made <When at={created_at} />
          </Text>
          <Aside truncate>by {made_by}</Aside>
        </Box>
        <RowButton onClick={() => onRevoke(id)}>Revoke</RowButton>
      </Group>
    ))}
  </Stack>
)

const Links = ({ tenant }: { tenant: TenantShown }) => {
  const [made, setMade] = useState<TenantLinkShown>()
  const make = useChange(() => act('POST /tenants/:tenant/links', { tenant: tenant.id }), { told: setMade })
  const revoke = useChange((link: string) =>
    act('DELETE /tenants/:tenant/links/:link', { tenant: tenant.id, link }),
  )
  return (
    <Panel
      title="Read-only links"
      action={
        <SmallButton loading={make.isPending} onClick={() => make.mutate()}>
          Make a link
        </SmallButton>
      }
    >
      <Failed error={make.error ?? revoke.error} />
      {tenant.links.length === 0 ? (
        <Empty title="No link yet">
          A link shows this tenant its own use at your price, without an account. You can revoke it.
        </Empty>
      ) : (
        <LinkRows tenant={tenant} onRevoke={revoke.mutate} />
      )}
      <NewLink made={made} onClose={() => setMade(undefined)} />
    </Panel>
  )
}

export const TenantPage = () => {
  const { id = '' } = useParams({ strict: false })
  const mayChange = useMay('tenants')
  const { data: tenant, error } = useShown('GET /tenants/:tenant', { tenant: id }, 5_000)
  const { data: billed } = useShown('GET /tenants/:tenant/billing', { tenant: id })
  const mayBill = useMay('invoices')
  if (tenant === undefined) return <UnreadPage error={error} />
  return (
    <>
      <PageHead
        title={tenant.label}
        about={
          <>
            <Anchor component={Link} to="/tenants" size="sm">
              Tenants
            </Anchor>{' '}
            · {tenant.reference ?? 'no reference'} · <Copy text={tenant.id} name="id of the tenant" />
          </>
        }
      >
        <Button component={Link} variant="default" to="/statement" search={{ tenant: tenant.id } as never}>
          Statement
        </Button>
        <Button component={Link} variant="default" to="/bills" search={{ tenant: tenant.id } as never}>
          Invoices
        </Button>
        {mayChange && tenant.keys.length > 0 && <Suspension tenant={tenant} />}
      </PageHead>
      <Stack>
        <ThisMonth tenant={tenant} />
        <Panel title="Keys">
          {tenant.keys.length === 0 ? (
            <Empty title="All its keys are deleted">What they used stays in the statements.</Empty>
          ) : (
            <KeyTable rows={tenant.keys} />
          )}
        </Panel>
        {mayChange && (
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Panel title="Your price">
              <PriceForm key={String(tenant.own_margin)} tenant={tenant} />
            </Panel>
            <Links tenant={tenant} />
          </SimpleGrid>
        )}
        {mayBill && billed !== undefined && <TenantBilling tenant={tenant.id} billing={billed.billing} />}
        <Panel title="Newest calls" action={<AllCalls of={{ tenant: tenant.id }} />}>
          <CallTable asked={{ tenant: tenant.id }} live />
        </Panel>
      </Stack>
    </>
  )
}
