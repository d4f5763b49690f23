/** What people and commands did in the organisation, newest first. */
import { Button, Group, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { limitList } from '../../../tenancy/limits.ts'
import { type Shown, showing } from '../parts/api.ts'
import { shortId } from '../parts/format.ts'
import { Copy, Empty, PageHead, Panel, TableBox, When } from '../parts/ui.tsx'
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
  'credit_line.granted': 'set the credit line',
  'invoice.paid': 'paid an invoice',
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
  return isMoney(name) ? `${plain} $${String(value)}` : `${plain} ${String(value)}`
}

const changeText = (values: Record<string, unknown> | null): string =>
  values === null ? '' : Object.entries(values).map(memberText).join(', ')

const EventTable = ({ rows }: { rows: Shown<'GET /events'>['data'] }) => (
  <TableBox wide>
    <Table verticalSpacing={6} aria-label="Activity" className="settings">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>When</Table.Th>
          <Table.Th>Who</Table.Th>
          <Table.Th>What</Table.Th>
          <Table.Th>Before</Table.Th>
          <Table.Th>After</Table.Th>
          <Table.Th>Of</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((event) => (
          <Table.Tr key={event.id}>
            <Table.Td>
              <When at={event.at} />
            </Table.Td>
            <Table.Td>
              <Text size="sm">
                {event.actor}
                {event.operator ? ' (operator)' : ''}
              </Text>
              {event.address !== null && (
                <Text size="xs" c="dimmed">
                  {event.address}
                </Text>
              )}
            </Table.Td>
            <Table.Td>{words[event.what] ?? event.what}</Table.Td>
            <Table.Td maw={200} className="label">
              <Text size="xs" c="dimmed">
                {changeText(event.before)}
              </Text>
            </Table.Td>
            <Table.Td maw={200} className="label">
              <Text size="xs">{changeText(event.after)}</Text>
            </Table.Td>
            <Table.Td>
              <Copy text={event.subject} shown={shortId(event.subject)} name="id" />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </TableBox>
)

export const Activity = () => {
  const [before, setBefore] = useState<string>()
  const { data, error } = useQuery({
    ...showing('GET /events', { before }),
    placeholderData: keepPreviousData,
  })
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
        <Group justify="center" mt={data.has_more || before !== undefined ? 'md' : 0}>
          {before !== undefined && (
            <Button variant="default" size="xs" onClick={() => setBefore(undefined)}>
              Newest
            </Button>
          )}
          {data.has_more && (
            <Button variant="default" size="xs" onClick={() => setBefore(data.data.at(-1)?.id)}>
              Older
            </Button>
          )}
        </Group>
      </Panel>
    </>
  )
}
