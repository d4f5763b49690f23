/** For operators: what the server was started with, and where each value came from. Read-only. */

import { SimpleGrid, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { type Shown, useShown } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { counted, countText } from '../parts/format.ts'
import { Search } from '../parts/forms/field.tsx'
import { Empty, Figure, Money, Note, PageHead, Panel } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

type Setting = Shown<'GET /operator/setup'>['settings'][number]

const sources = { environment: 'environment', default: 'default', unset: 'not set' } as const

const writtenOf = ({ value, secret, from }: Setting): string =>
  secret && from !== 'unset' ? 'hidden' : (value ?? '—')

const SettingTable = ({ rows }: { rows: readonly Setting[] }) => (
  <DataTable
    label="Settings"
    rows={rows}
    keyOf={({ name }) => name}
    wide
    className="settings"
    columns={[
      { head: 'Setting', className: 'mono one-line', cell: ({ name }) => name },
      { head: 'Value', className: 'mono label', cell: writtenOf },
      {
        head: 'From',
        cell: ({ from }) => (
          <Text size="sm" fw={from === 'environment' ? 650 : 400}>
            {sources[from]}
          </Text>
        ),
      },
      {
        head: 'Meaning',
        cell: ({ allowed, meaning }) => (
          <Note title={allowed}>
            {meaning.split('`').map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}
          </Note>
        ),
      },
    ]}
  />
)

const Gifts = ({ data: { trials, referrals } }: { data: Shown<'GET /operator/setup'> }) => (
  <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
    <Figure
      name="A trial"
      below={
        <>
          <Money usd={trials.given_today_usd} /> of <Money usd={trials.daily_usd} /> given today
        </>
      }
    >
      <Money usd={trials.amount_usd} />
    </Figure>
    <Figure name="Trials" below={`${counted(trials.active, 'has', 'have')} not ended`}>
      {countText(trials.claimed)}
    </Figure>
    <Figure name="Referrals" below={`${counted(referrals.codes, 'account has', 'accounts have')} a code`}>
      {countText(referrals.claimed)}
    </Figure>
    <Figure name="Given for referrals" below="to both sides">
      <Money usd={referrals.given_usd} />
    </Figure>
  </SimpleGrid>
)

export const SetupPage = () => {
  const { data, error } = useShown('GET /operator/setup')
  const [search, setSearch] = useState('')
  if (data === undefined) return <Unread error={error} />
  const found = data.settings.filter(({ name, meaning }) =>
    `${name} ${meaning}`.toLowerCase().includes(search.toLowerCase()),
  )
  return (
    <>
      <PageHead
        title="Setup"
        about="What this server was started with. Change it in the environment or turnpike.yaml, and restart."
      />
      <Stack>
        <Gifts data={data} />
        <Panel title="Settings">
          <Stack>
            <Search of="settings" by="name or meaning" value={search} onSearch={setSearch} />
            {found.length === 0 ? (
              <Empty title="No setting matches">Nothing is called “{search}”.</Empty>
            ) : (
              <SettingTable rows={found} />
            )}
          </Stack>
        </Panel>
      </Stack>
    </>
  )
}
