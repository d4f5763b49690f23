/** One call in full: how it ended and why, what it used at which prices, the attempts at vendors, its receipt. */
import { Anchor, Button, Group, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type Shown, showing } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { countText } from '../format.ts'
import { State } from '../state.tsx'
import { TableBox } from '../table-box.tsx'
import { Code, Copy, Money, Note, SmallButton, When } from '../ui.tsx'
import { Unread } from '../unread.tsx'
import { Receipt } from './call-cost.tsx'
import { askAgain, reasonOf, seconds, wordsOf } from './call-words.ts'

type CallShown = Shown<'GET /calls/:call'>

const outcomes: Readonly<Record<string, string>> = {
  refused: 'the call itself was at fault',
  gone: 'the caller left',
  failed: 'failed',
  may_bill: 'stopped answering',
  busy: 'asked to be left alone',
  key_refused: 'refused the house’s key',
}

const Facts = ({ label, facts }: { label: string; facts: readonly (readonly [string, ReactNode])[] }) => (
  <Table verticalSpacing={4} aria-label={label} className="facts">
    <Table.Tbody>
      {facts.map(([name, value]) => (
        <Table.Tr key={name}>
          <Table.Th scope="row">{name}</Table.Th>
          <Table.Td>{value}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
)

const tagsOf = ({ tags }: CallShown): readonly (readonly [string, string])[] => {
  const pairs = Object.entries(tags ?? {}).map(([tag, value]) => `${tag}=${value}`)
  return pairs.length === 0 ? [] : [['For', pairs.join(', ')]]
}

const Why = ({ call }: { call: CallShown }) =>
  call.code === null ? null : (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {reasonOf(call)}
      </Text>
      <Text size="sm">{call.reason?.replaceAll('`', '')}</Text>
      {call.limit_owner !== null && (
        <Text size="sm">
          {call.limit_owner === 'key'
            ? 'The limit is the key’s own.'
            : 'The limit is that of a key above it.'}
        </Text>
      )}
    </Stack>
  )

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <Stack gap={6}>
    <Title order={3} size="h6">
      {title}
    </Title>
    {children}
  </Stack>
)

const Units = ({ call: { tokens, prices, estimated } }: { call: CallShown }) => (
  <Section title={estimated ? 'Units, estimated' : 'Units'}>
    <Table verticalSpacing={4} aria-label="Units">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Class</Table.Th>
          <Table.Th className="right">Units</Table.Th>
          <Table.Th className="right">USD a million</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {Object.entries(tokens).map(([name, count]) => (
          <Table.Tr key={name}>
            <Table.Td>{wordsOf(name)}</Table.Td>
            <Table.Td className="right number">{countText(count)}</Table.Td>
            <Table.Td className="right number">{prices?.[name] ?? '—'}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Section>
)

const Attempts = ({ call: { attempts, vendor, code, took_ms } }: { call: CallShown }) => (
  <Section title="Attempts at vendors">
    <Table verticalSpacing={4} aria-label="Attempts at vendors">
      <Table.Tbody>
        {attempts.map((one, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: attempts have an order and nothing else of their own.
          <Table.Tr key={at}>
            <Table.Td>{one.vendor}</Table.Td>
            <Table.Td>
              {one.http_status === null ? '' : `${one.http_status}, `}
              {outcomes[one.outcome] ?? one.outcome}
            </Table.Td>
            <Table.Td className="right number">{seconds(one.took_ms)}</Table.Td>
          </Table.Tr>
        ))}
        {code === null && vendor !== null && (
          <Table.Tr>
            <Table.Td>{vendor}</Table.Td>
            <Table.Td>answered</Table.Td>
            <Table.Td className="right number">
              {seconds(
                took_ms === null ? null : took_ms - attempts.reduce((sum, one) => sum + one.took_ms, 0),
              )}
            </Table.Td>
          </Table.Tr>
        )}
      </Table.Tbody>
    </Table>
  </Section>
)

/** Leads to all calls that have this in common with the one that is shown. */
const Alike = ({ call }: { call: CallShown }) => {
  const ways: readonly (readonly [string, Record<string, string | null>])[] = [
    ['this key', { key: call.key.id }],
    ...(call.model === null ? [] : [['this model', { model: call.model }] as const]),
    ...(call.code === null ? [] : [['this reason', { code: call.code }] as const]),
  ]
  return (
    <Group gap="xs">
      {ways.map(([name, search]) => (
        <Button
          key={name}
          component={Link}
          to="/calls"
          search={search as never}
          size="compact-sm"
          variant="default"
        >
          Calls with {name}
        </Button>
      ))}
    </Group>
  )
}

const Details = ({ call }: { call: CallShown }) => {
  const [receipt, setReceipt] = useState(false)
  const again = askAgain(call, location.origin)
  return (
    <Stack gap="lg">
      <Group gap="sm">
        <State of={call.status ?? 'recovered'} />
        <Note>
          <When at={call.at} />
        </Note>
      </Group>
      <Why call={call} />
      <Facts
        label="The call"
        facts={[
          ['Request', <Copy key="id" text={call.id} name="request id" />],
          [
            'Key',
            <Anchor key="key" component={Link} to={`/keys/${call.key.id}`} size="sm">
              {call.key.label || call.key.prefix}
            </Anchor>,
          ],
          ['Model', call.model ?? '—'],
          ['Vendor', call.vendor ?? (call.code === null ? '—' : 'none was asked')],
          ['Cost', call.code === null ? <Money key="cost" usd={call.cost_usd} /> : 'not charged'],
          ...(call.first_byte_ms === null ? [] : [['First byte', seconds(call.first_byte_ms)] as const]),
          ['Took', seconds(call.took_ms)],
          ...tagsOf(call),
        ]}
      />
      {Object.keys(call.tokens).length > 0 && <Units call={call} />}
      {(call.attempts.length > 0 || call.code === null) && <Attempts call={call} />}
      {call.prices !== null && (
        <Section title="Receipt">
          {receipt ? (
            <Receipt id={call.id} />
          ) : (
            <SmallButton w="fit-content" onClick={() => setReceipt(true)}>
              Show the receipt
            </SmallButton>
          )}
        </Section>
      )}
      {again !== undefined && (
        <Section title="Ask again">
          <Code text={again} name="the command" />
        </Section>
      )}
      <Alike call={call} />
    </Stack>
  )
}

/** Shown at the side while an id is given. */
export const CallDialog = ({ id, onClose }: { id: string | undefined; onClose: () => void }) => {
  const { data, error } = useQuery({
    ...showing('GET /calls/:call', { call: id }),
    enabled: id !== undefined,
  })
  return (
    <Dialog opened={id !== undefined} onClose={onClose} title="Call" side>
      {data === undefined ? (
        <Unread error={error} rows={8} />
      ) : (
        <TableBox>
          <Details key={data.id} call={data} />
        </TableBox>
      )}
    </Dialog>
  )
}
