/** Use over time: a chart and a table for the view in the page's address, and the same as CSV. */
import { Anchor, Button, Group, NativeSelect, Stack, Table, Text, TextInput } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { UsageShown } from '../../schema/reports.ts'
import { queryOf, reading } from '../parts/api.ts'
import { StackedBars } from '../parts/chart.tsx'
import { countText } from '../parts/format.ts'
import { Empty, Failed, Loading, Money, PageHead, Panel, TableBox } from '../parts/ui.tsx'
import { type Query, useView } from '../parts/use-view.ts'
import { Windowed } from '../parts/windowed.tsx'

const DAY = 86_400_000
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

const groupNames = { model: 'Model', key: 'Key', vendor: 'Vendor', status: 'Status' } as const
type Group_ = keyof typeof groupNames
const everyName = { key: 'All keys', vendor: 'All vendors', status: 'Any status' } as const
const slotNames = { day: 'Day', hour: 'Hour', month: 'Month' } as const

const isGroup = (text: string | undefined): text is Group_ =>
  text !== undefined && Object.hasOwn(groupNames, text)

type View = {
  from: string
  to: string
  by: Group_
  slot: keyof typeof slotNames
  model: string
  vendor: string
  status: string
  key: string
  /** Whether thousands of rows are requested. */
  rows: 'all' | ''
}

/** An address may say anything. */
const dayIn = (text = ''): string | undefined => (Number.isNaN(Date.parse(text)) ? undefined : text)

const viewOf = (query: Query): View => {
  const tomorrow = (Math.trunc(Date.now() / DAY) + 1) * DAY
  const by = isGroup(query.by) ? query.by : 'model'
  return {
    from: dayIn(query.from) ?? dayOf(tomorrow - 30 * DAY),
    to: dayIn(query.to) ?? dayOf(tomorrow - DAY),
    by,
    slot: query.slot === 'hour' && by !== 'key' ? 'hour' : query.slot === 'month' ? 'month' : 'day',
    model: query.model ?? '',
    vendor: query.vendor ?? '',
    status: query.status ?? '',
    key: query.key ?? '',
    rows: query.rows === 'all' ? 'all' : '',
  }
}

/** The last day counts in full. */
const filterOf = ({ from, to, model, vendor, status, key }: View) => ({
  from,
  to: dayOf(Date.parse(to) + DAY),
  model,
  vendor,
  status,
  key,
})

const slotsOf = ({ from, to, slot }: View, rows: UsageShown['rows']): readonly string[] => {
  if (slot !== 'day') return [...new Set(rows.map(({ groups }) => groups[slot] ?? ''))].sort()
  const [first, last] = [Date.parse(from), Date.parse(to)]
  return Array.from({ length: Math.max(0, Math.min(366, (last - first) / DAY + 1)) }, (_, at) =>
    dayOf(first + at * DAY),
  )
}

const slotText = (view: View, row: UsageShown['rows'][number]): string => {
  const text = row.groups[view.slot] ?? ''
  return view.slot === 'day' ? text.slice(0, 10) : text
}

/** The most expensive first. */
const byCost = (rows: UsageShown['rows']): UsageShown['rows'] =>
  rows.toSorted((a, b) => Number(b.cost_usd) - Number(a.cost_usd))

const nameOf = (view: View, row: UsageShown['rows'][number]): string => row.label ?? row.groups[view.by] ?? ''

type Show = (change: Partial<View>) => void

const Filters = ({ view, show }: { view: View; show: Show }) => (
  <Group align="flex-end" gap="sm" className="no-print">
    <TextInput
      label="From (UTC)"
      type="date"
      value={view.from}
      onChange={(event) => show({ from: event.currentTarget.value })}
    />
    <TextInput
      label="To"
      type="date"
      value={view.to}
      onChange={(event) => show({ to: event.currentTarget.value })}
    />
    <NativeSelect
      label="Group by"
      value={view.by}
      data={Object.entries(groupNames).map(([value, label]) => ({ value, label }))}
      onChange={(event) => isGroup(event.currentTarget.value) && show({ by: event.currentTarget.value })}
    />
    <NativeSelect
      label="Per"
      value={view.slot}
      data={Object.entries(slotNames)
        .filter(([name]) => name !== 'hour' || view.by !== 'key')
        .map(([value, label]) => ({ value, label }))}
      onChange={(event) => {
        const { value } = event.currentTarget
        show({ slot: value === 'hour' || value === 'month' ? value : 'day' })
      }}
    />
    <TextInput
      label="Model"
      placeholder="all"
      w={170}
      value={view.model}
      onChange={(event) => show({ model: event.currentTarget.value })}
    />
  </Group>
)

/** There may be thousands of keys, so at first only the most expensive ones are requested. */
const KEYS_SHOWN = 250

const tableQuery = (view: View): string =>
  queryOf({
    ...filterOf(view),
    group_by: view.by,
    ...(view.by === 'key' && view.rows === '' ? { limit: `${KEYS_SHOWN}` } : {}),
  })

const Totals = ({ use, view, show }: { use: UsageShown; view: View; show: Show }) => (
  <TableBox>
    <Windowed
      label="Use by group"
      rows={byCost(use.rows)}
      head={
        <Table.Tr>
          <Table.Th>{groupNames[view.by]}</Table.Th>
          <Table.Th className="right">Calls</Table.Th>
          <Table.Th className="right">Input units</Table.Th>
          <Table.Th className="right">Output units</Table.Th>
          <Table.Th className="right">Cost</Table.Th>
        </Table.Tr>
      }
      row={(row) => (
        <Table.Tr key={row.groups[view.by] ?? ''}>
          <Table.Td>
            {nameOf(view, row) === '' ? (
              'recovered calls'
            ) : (
              <Anchor
                component="button"
                type="button"
                size="sm"
                ta="left"
                title="Show only this"
                onClick={() =>
                  show({ [view.by]: row.groups[view.by] ?? '', by: view.by === 'key' ? 'model' : 'key' })
                }
              >
                {nameOf(view, row)}
              </Anchor>
            )}
          </Table.Td>
          <Table.Td className="right number">{countText(row.requests)}</Table.Td>
          <Table.Td className="right number">{countText(row.input_tokens)}</Table.Td>
          <Table.Td className="right number">{countText(row.output_tokens)}</Table.Td>
          <Table.Td className="right">
            <Money usd={row.cost_usd} />
          </Table.Td>
        </Table.Tr>
      )}
      foot={
        <Table.Tr>
          <Table.Th>Total</Table.Th>
          <Table.Th className="right number">{countText(use.total.requests)}</Table.Th>
          <Table.Th className="right number">{countText(use.total.input_tokens)}</Table.Th>
          <Table.Th className="right number">{countText(use.total.output_tokens)}</Table.Th>
          <Table.Th className="right">
            <Money usd={use.total.cost_usd} strong />
          </Table.Th>
        </Table.Tr>
      }
    />
    {use.has_more && (
      <Group gap="xs" mt="xs" className="no-print">
        <Text size="xs" c="dimmed">
          The {countText(use.rows.length)} most expensive ones; the total includes all.
        </Text>
        {view.rows === '' && (
          <Button size="compact-xs" variant="default" onClick={() => show({ rows: 'all' })}>
            Show all
          </Button>
        )}
      </Group>
    )}
  </TableBox>
)

const Report = ({ view, show }: { view: View; show: Show }) => {
  const filter = filterOf(view)
  const chart = useQuery({
    ...reading<UsageShown>(
      `/usage${queryOf({ ...filter, group_by: `${view.slot},${view.by}`, ...(view.by === 'key' ? { top: '5' } : {}) })}`,
    ),
    placeholderData: keepPreviousData,
  })
  const table = useQuery({
    ...reading<UsageShown>(`/usage${tableQuery(view)}`),
    placeholderData: keepPreviousData,
  })
  const error = chart.error ?? table.error
  if (error !== null) return <Failed error={error} />
  if (chart.data === undefined || table.data === undefined) return <Loading rows={8} />
  if (table.data.total.requests === 0)
    return (
      <Panel>
        <Empty title="Nothing was used">No call of these days fits.</Empty>
      </Panel>
    )
  const bars = chart.data.rows.map((row) => ({
    slot: slotText(view, row),
    group: nameOf(view, row),
    usd: row.cost_usd,
  }))
  return (
    <Stack>
      <Panel title="Cost">
        <StackedBars
          slots={slotsOf(view, chart.data.rows)}
          bars={bars}
          about={`Cost by ${view.slot} and ${view.by}`}
        />
      </Panel>
      <Panel title={`By ${groupNames[view.by].toLowerCase()}`}>
        <Totals use={table.data} view={view} show={show} />
      </Panel>
    </Stack>
  )
}

/** The filters of the view beside its days, each with a button that removes it. */
const Only = ({ view, show }: { view: View; show: Show }) => {
  const set = (['key', 'vendor', 'status'] as const).filter((name) => view[name] !== '')
  return set.map((name) => (
    <Text size="sm" key={name}>
      Only the {name} {view[name]}.{' '}
      <Button size="compact-xs" variant="default" onClick={() => show({ [name]: '' })}>
        {everyName[name]}
      </Button>
    </Text>
  ))
}

export const Usage = () => {
  const { query, show } = useView('/usage')
  const view = viewOf(query)
  return (
    <>
      <PageHead
        title="Usage"
        about="Every view is its address: share it, or keep it. The sums are the ledger's, to the nano-dollar."
      >
        <Button
          component="a"
          variant="default"
          href={`/console/api/usage.csv${queryOf({ ...filterOf(view), group_by: `${view.slot},${view.by}` })}`}
          download
        >
          Download CSV
        </Button>
      </PageHead>
      <Stack>
        <Filters view={view} show={show} />
        <Only view={view} show={show} />
        <Report view={view} show={show} />
      </Stack>
    </>
  )
}
