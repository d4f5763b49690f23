/** What people and commands did in the organisation, newest first. */
import { Text } from '@mantine/core'
import { useState } from 'react'
import { limitList } from '../../../tenancy/limits.ts'
import { type Shown, usePage } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { shortId } from '../parts/format.ts'
import { nextOf, PagesOf } from '../parts/pages-of.tsx'
import { Aside, Copy, Empty, PageHead, Panel, When } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

const words: Readonly<Record<string, string>> = {
  'key.created': 'made a key',
  'key.changed': 'changed a key',
  'key.disabled': 'disabled a key',
  'key.enabled': 'enabled a key',
  'key.deleted': 'deleted a key',
  'batch.cancelled': 'cancelled a batch',
  'login.approved': 'signed an agent in',
  'login.denied': 'refused an agent',
  'agent_settings.changed': 'changed what agents are told',
  'tenant.price_set': 'set a price for tenants',
  'tenant.link_made': 'made a link for a tenant',
  'tenant.link_revoked': 'revoked a link of a tenant',
  'member.added': 'added a person',
  'member.changed': 'changed a role',
  'member.removed': 'removed a person',
  'wallet.created': 'made the wallet',
  'wallet.funded': 'added money',
  'wallet.withdrawn': 'took money out',
  'wallet.credited': 'gave credit',
  'wallet.checkout_opened': 'opened a top-up',
  'wallet.card_removed': 'removed the saved card',
  'wallet.rules_changed': 'changed the rules',
  'vendor.key_added': 'added a key of a vendor',
  'vendor.key_removed': 'removed a key of a vendor',
  'credit_line.granted': 'set the credit line',
  'wallet.renamed': 'renamed the organisation',
  'alert.created': 'made an alert',
  'alert.changed': 'changed an alert',
  'alert.deleted': 'deleted an alert',
  'alert_channel.created': 'made a channel of alerts',
  'alert_channel.deleted': 'deleted a channel of alerts',
  'alert_channel.tested': 'tested a channel of alerts',
  'invoice.paid': 'paid an invoice',
  'biller.put': 'changed who bills',
  'tenant.billing': 'changed whom an invoice is written to',
  'bill.closed': 'made an invoice',
  'bill.mailed': 'mailed an invoice',
  'bill.paid': 'noted the payment of an invoice',
  'bill.credited': 'took an invoice back',
  'sub_wallet.created': 'made a sub-wallet',
  'sub_wallet.changed': 'changed a sub-wallet',
  'sub_wallet.deleted': 'deleted a sub-wallet',
  'account.suspended': 'suspended the organisation',
  'account.resumed': 'lifted the suspension of the organisation',
  'operator.added': 'made somebody an operator',
  'operator.removed': 'made somebody no operator any more',
  'operator.acts_for': 'began to act for the organisation',
}

/** Labels that need no name in front. */
const named = new Set(['label', 'note', 'role', 'email'])
const caps: ReadonlySet<string> = new Set(
  limitList.flatMap(([name, { form }]) => (form === 'usd' ? [name] : [])),
)
const isMoney = (name: string): boolean => caps.has(name) || name.endsWith('_usd')

/** Lists and records without their signs; ids as short as elsewhere. */
const valueText = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(valueText).join(', ')
  if (typeof value === 'object' && value !== null) return Object.values(value).map(valueText).join(' ')
  const text = String(value)
  return /^[a-z]+_[0-9a-z]{24,32}$/.test(text) ? shortId(text) : text
}

const memberText = ([name, value]: [string, unknown]): string => {
  const plain = (name === 'rpm' ? 'requests per minute' : name)
    .replace('_usd', '')
    .replaceAll('_', ' ')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  if (named.has(name)) return String(value)
  if (value === null) return `no ${plain}`
  if (name === 'disabled') return value === false ? 'enabled' : 'disabled'
  if (value === true) return plain
  if (value === false) return `not ${plain}`
  return isMoney(name) ? `${plain} $${String(value)}` : `${plain} ${valueText(value)}`
}

const changeText = (values: Record<string, unknown> | null): string =>
  values === null ? '' : Object.entries(values).map(memberText).join(', ')

const whoText = (actor: string, operator: boolean): string => `${actor}${operator ? ' (operator)' : ''}`

const EventTable = ({ rows }: { rows: Shown<'GET /events'>['data'] }) => (
  <DataTable
    label="Activity"
    rows={rows}
    keyOf={({ id }) => id}
    className="settings"
    columns={[
      { head: 'When', on: 'wide', cell: ({ at }) => <When at={at} /> },
      {
        head: 'Who',
        on: 'wide',
        className: 'label',
        cell: ({ actor, operator, address }) => (
          <>
            <Text size="sm">{whoText(actor, operator)}</Text>
            <Aside>{address}</Aside>
          </>
        ),
      },
      {
        head: 'What',
        className: 'label',
        cell: ({ at, what, actor, operator, after }) => (
          <>
            <Text size="sm">{words[what] ?? what.replaceAll(/[._]/g, ' ')}</Text>
            <Text size="xs" maw={200} hiddenFrom="sm">
              {changeText(after)}
            </Text>
            <Aside maw={200} hiddenFrom="sm">
              <When at={at} /> · {whoText(actor, operator)}
            </Aside>
          </>
        ),
      },
      {
        head: 'Change',
        on: 'wide',
        className: 'label',
        cell: ({ before, after }) => (
          <Text size="xs" maw={440}>
            {before !== null && (
              <Text span inherit c="dimmed">
                {changeText(before)} →{' '}
              </Text>
            )}
            {changeText(after)}
          </Text>
        ),
      },
      { head: 'Of', cell: ({ subject }) => <Copy text={subject} shown={shortId(subject)} name="id" /> },
    ]}
  />
)

export const Activity = () => {
  const [before, setBefore] = useState<string>()
  const { data, error } = usePage('GET /events', { before })
  if (data === undefined) return <Unread error={error} rows={8} />
  return (
    <>
      <PageHead
        title="Activity"
        about="Everything that changed money, keys, limits or people. The record cannot be changed."
      />
      <Panel>
        {data.data.length === 0 ? (
          <Empty title="Nothing yet">What people do here is recorded, with who did it and from where.</Empty>
        ) : (
          <EventTable rows={data.data} />
        )}
        <PagesOf from={before} on={nextOf(data)} go={setBefore} />
      </Panel>
    </>
  )
}
