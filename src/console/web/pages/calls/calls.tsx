/** All calls of the organisation, live, however they ended: filtered by what the page's address says, as a file too. */
import { Box, Button, Group, Switch, Text } from '@mantine/core'
import { useState } from 'react'
import { queryOf } from '../../parts/api.ts'
import { Choice, DayField, dayIn, Field, known } from '../../parts/forms/field.tsx'
import { NameOf } from '../../parts/keys/name-of.tsx'
import { CallList } from '../../parts/money/call-table.tsx'
import { PageHead, Panel, SmallButton } from '../../parts/ui.tsx'
import { DAY, dayOf } from '../../parts/usage-view.ts'
import { type Query, useView } from '../../parts/use-view.ts'

const outcomes = {
  '': 'Any',
  not_ok: 'Not OK',
  ok: 'OK',
  refused: 'Refused',
  failed: 'Failed',
  client_gone: 'Caller left',
  vendor_failed: 'Vendor failed',
  cost_ceiling: 'Cost ceiling',
  deadline: 'Deadline',
} as const

/** Filters that other pages set; each has a button that removes it. */
const fromElsewhere = { key: 'key', tenant: 'tenant', batch: 'batch' } as const

/** What the server is asked: the last day counts in full. */
const askedBy = ({ before: _before, call: _call, ...query }: Query): Query => {
  const [from, to] = [dayIn(query.from), dayIn(query.to)]
  const names = [
    'key',
    'tenant',
    'batch',
    'own',
    'id',
    'status',
    'code',
    'tag',
    'model',
    'vendor',
    'cost_from_usd',
  ] as const
  return {
    ...Object.fromEntries(names.map((name) => [name, query[name] === '' ? undefined : query[name]])),
    from: from === '' ? undefined : from,
    to: to === '' ? undefined : dayOf(Date.parse(to) + DAY),
  }
}

const Filters = ({ query, show }: { query: Query; show: (change: Query) => void }) => {
  const field = (name: string, label: string, width: number, placeholder?: string) => (
    <Field
      key={name}
      value={query[name]}
      onChange={(value) => show({ [name]: value })}
      {...{ label, width, ...(placeholder === undefined ? {} : { placeholder }) }}
    />
  )
  const day = (name: 'from' | 'to', label: string) => (
    <DayField label={label} value={dayIn(query[name])} onChange={(value) => show({ [name]: value })} />
  )
  return (
    <Group align="flex-end" gap="xs">
      {field('id', 'Request id', 120, 'X-Request-Id')}
      <Choice
        label="Outcome"
        names={outcomes}
        value={known(outcomes, query.status, '')}
        onChange={(status) => show({ status })}
      />
      {field('code', 'Code', 95, 'e.g. 402')}
      {field('model', 'Model', 120)}
      {field('vendor', 'Vendor', 90)}
      {field('tag', 'Tag', 110, 'user=ann')}
      {field('cost_from_usd', 'Cost from', 80, 'USD')}
      {day('from', 'From (UTC)')}
      {day('to', 'To')}
    </Group>
  )
}

export const Calls = () => {
  const { query, show } = useView('/calls')
  const [live, setLive] = useState(true)
  const [isOpen, setOpen] = useState(false)
  const asked = askedBy(query)
  /** Another filter has pages of its own. */
  const filter = (change: Query) => show({ ...change, before: '' })
  return (
    <>
      <PageHead
        title="Calls"
        about="One row for each call, charged, refused or failed: what it used, cost and took, or why not. What was asked and answered is never kept."
      >
        <Switch label="Live" checked={live} onChange={(event) => setLive(event.currentTarget.checked)} />
        <Button component="a" variant="default" href={`/console/api/calls.csv${queryOf(asked)}`} download>
          Download CSV
        </Button>
      </PageHead>
      <Panel>
        <SmallButton mb="md" hiddenFrom="sm" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Hide filters' : 'Filters'}
        </SmallButton>
        <Box mb="md" {...(isOpen ? {} : { visibleFrom: 'sm' })}>
          <Filters query={query} show={filter} />
        </Box>
        {Object.entries(fromElsewhere).map(([name, what]) =>
          (query[name] ?? '') === '' ? null : (
            <Text size="sm" mb="md" key={name}>
              Only the {what} <NameOf what={name} id={query[name] ?? ''} />.{' '}
              <Button size="compact-xs" variant="default" onClick={() => filter({ [name]: '', own: '' })}>
                All {what}s
              </Button>
            </Text>
          ),
        )}
        <CallList
          asked={asked}
          withKey
          live={live}
          before={query.before}
          go={(before) => show({ before })}
          opened={query.call}
          open={(call) => show({ call })}
        />
      </Panel>
    </>
  )
}
