/** Calls as they happen, newest first; older ones page by page. Never any content. */
import { Anchor, Button, Group, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Shown, showing } from '../api.ts'
import { clockText, countText } from '../format.ts'
import { Copy, Empty, Failed, Loading, Money, State, TableBox, When } from '../ui.tsx'

/** A new call appears within this time plus one request. */
const LIVE_MS = 1_000

type CallShown = Shown<'GET /calls'>['data'][number]

const shortNames: Readonly<Record<string, string>> = { input: 'in', output: 'out', cache_read: 'cached' }

const tokensOf = (tokens: CallShown['tokens']): string =>
  Object.entries(tokens)
    .map(([name, count]) => `${countText(count)} ${shortNames[name] ?? name.replaceAll('_', ' ')}`)
    .join(' · ')

const seconds = (ms: number | null): string =>
  ms === null ? '—' : ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`

const isToday = (at: string): boolean => new Date(at).toDateString() === new Date().toDateString()

const Row = ({ call, withKey }: { call: CallShown; withKey: boolean }) => (
  <Table.Tr className={Date.now() - Date.parse(call.at) < 5_000 ? 'new-row' : undefined}>
    <Table.Td className="number">
      {isToday(call.at) ? (
        <time dateTime={call.at} title={call.at}>
          {clockText(call.at)}
        </time>
      ) : (
        <When at={call.at} />
      )}
    </Table.Td>
    {withKey && (
      <Table.Td maw={180}>
        <Anchor component={Link} to={`/keys/${call.key.id}`} size="sm">
          {call.key.label}
        </Anchor>
      </Table.Td>
    )}
    <Table.Td>
      <Text size="sm">{call.model ?? 'recovered after a crash'}</Text>
    </Table.Td>
    <Table.Td>
      <Text size="xs" c="dimmed">
        {tokensOf(call.tokens)}
        {call.estimated ? ' (estimated)' : ''}
      </Text>
    </Table.Td>
    <Table.Td className="right">
      <Money usd={call.cost_usd} />
      {call.refunded_usd !== '0' && (
        <Text size="xs" c="dimmed">
          <Money usd={call.refunded_usd} /> back
        </Text>
      )}
    </Table.Td>
    <Table.Td className="right number">{seconds(call.first_byte_ms)}</Table.Td>
    <Table.Td className="right number">{seconds(call.took_ms)}</Table.Td>
    <Table.Td>
      <State of={call.status ?? 'recovered'} />
    </Table.Td>
    <Table.Td>
      <Copy text={call.id} shown={`${call.id.slice(0, 4)}…${call.id.slice(-6)}`} name="request id" />
    </Table.Td>
  </Table.Tr>
)

export const CallTable = ({
  keyId,
  tenant,
  live,
}: {
  keyId?: string | undefined
  tenant?: string
  live: boolean
}) => {
  const [before, setBefore] = useState<string>()
  const asked = { ...(keyId === undefined ? {} : { key: keyId, own: true }), tenant, before, limit: 50 }
  const { data, error } = useQuery({
    ...showing('GET /calls', asked, live && before === undefined ? LIVE_MS : undefined),
    placeholderData: keepPreviousData,
  })
  if (error !== null) return <Failed error={error} />
  if (data === undefined) return <Loading rows={8} />
  if (data.data.length === 0 && before === undefined)
    return <Empty title="No calls yet">A call made now shows here within two seconds.</Empty>
  return (
    <>
      <TableBox wide>
        <Table verticalSpacing={6} aria-label="Calls">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Time</Table.Th>
              {keyId === undefined && <Table.Th>Key</Table.Th>}
              <Table.Th>Model</Table.Th>
              <Table.Th>Units</Table.Th>
              <Table.Th className="right">Cost</Table.Th>
              <Table.Th className="right">First byte</Table.Th>
              <Table.Th className="right">Took</Table.Th>
              <Table.Th>Status</Table.Th>
              <Table.Th>Request</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.data.map((call) => (
              <Row key={call.id} call={call} withKey={keyId === undefined} />
            ))}
          </Table.Tbody>
        </Table>
      </TableBox>
      <Group justify="center" mt="md">
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
    </>
  )
}
