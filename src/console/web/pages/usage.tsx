/** Use over time: a chart and a table for the view in the page's address, and the same as CSV. */
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { act, queryOf, type Shown } from '../parts/api.ts'
import { StackedBars } from '../parts/chart.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { countText, percentText } from '../parts/format.ts'
import { Choice, DayField, Field } from '../parts/forms/field.tsx'
import { NameOf } from '../parts/keys/name-of.tsx'
import { Aside, Empty, Failed, Loading, Money, PageHead, Panel } from '../parts/ui.tsx'
import {
  DAY,
  dayOf,
  everyName,
  filterOf,
  groupNames,
  slotNames,
  unlimited,
  type View,
  viewOf,
} from '../parts/usage-view.ts'
import { useView } from '../parts/use-view.ts'

type Use = Shown<'GET /usage'>
type Row = Use['rows'][number]

/** There may be thousands of keys, so at first only the most expensive ones are requested. */
const KEYS_SHOWN = 250
const BARS_BY_KEY = 5

/** A view with what the server said of it: they are one value, so that no answer is read by the view of another. */
type Answered = { readonly view: View; readonly chart: Use; readonly table: Use }

const answerOf = async (view: View): Promise<Answered> => {
  const filter = filterOf(view)
  const byKey = view.by === 'key'
  const [chart, table] = await Promise.all([
    act('GET /usage', {
      ...filter,
      group_by: `${view.slot},${view.by}`,
      ...(byKey ? { top: BARS_BY_KEY } : {}),
    }),
    act('GET /usage', {
      ...filter,
      group_by: view.by,
      sort: 'cost',
      ...(byKey && view.rows === '' ? { limit: KEYS_SHOWN } : {}),
    }),
  ])
  return { view, chart, table }
}

const slotsOf = ({ view: { from, to, slot }, chart }: Answered): readonly string[] => {
  if (slot !== 'day') return [...new Set(chart.rows.map((row) => row[slot] ?? ''))].sort()
  const [first, last] = [Date.parse(from), Date.parse(to)]
  return Array.from({ length: Math.max(0, Math.min(366, (last - first) / DAY + 1)) }, (_, at) =>
    dayOf(first + at * DAY),
  )
}

const nameOf = ({ by }: View, row: Row): string => {
  const name = row[by] ?? ''
  if (by === 'tag') return name === '' ? 'none named' : name
  if (by === 'sub_wallet') return name === '' ? 'none' : row.sub_wallet_label || name
  // A label may be empty.
  return by === 'key' ? row.label || name : name
}

type Show = (change: Partial<View>) => void

const Filters = ({ view, show }: { view: View; show: Show }) => (
  <Group align="flex-end" gap="sm" className="no-print">
    <DayField label="From (UTC)" value={view.from} onChange={(from) => show({ from })} />
    <DayField label="To" value={view.to} onChange={(to) => show({ to })} />
    <Choice label="Group by" names={groupNames} value={view.by} onChange={(by) => show({ by })} />
    <Choice label="Per" names={slotNames} value={view.slot} onChange={(slot) => show({ slot })} />
    <Field
      label="Model"
      placeholder="all"
      width={170}
      value={view.model}
      onChange={(model) => show({ model })}
    />
  </Group>
)

/** The share of the input that came from caches; its title says the counts, with what was written to them. */
const FromCache = ({ of }: { of: Row | Use['total'] }) => (
  <span
    title={`${countText(of.cached_tokens)} of ${countText(of.input_tokens)} read, ${countText(of.cache_write_tokens)} written`}
  >
    {of.cache_hit_rate === null ? '–' : percentText(of.cache_hit_rate)}
  </span>
)

const Name = ({ view, row, show }: { view: View; row: Row; show: Show }) => {
  const name = nameOf(view, row)
  if (name === '') return 'recovered calls'
  if (unlimited.includes(view.by)) return name
  const only = { [view.by]: row[view.by] ?? '', by: view.by === 'key' ? 'model' : 'key' } as const
  return (
    <Anchor
      component="button"
      type="button"
      size="sm"
      ta="left"
      title="Show only this"
      onClick={() => show(only)}
    >
      {name}
    </Anchor>
  )
}

/** Columns whose cells in rows and in the total are made alike. */
const summed = (total: Use['total']): readonly Column<Row>[] => {
  const column = (
    head: string,
    cell: (of: Row | Use['total']) => ReactNode,
    title?: string,
  ): Column<Row> => ({
    ...{ head, cell, figure: true, foot: cell(total) },
    ...(title === undefined ? {} : { title }),
  })
  return [
    column('Calls', (of) => countText(of.requests)),
    column('Input units', (of) => countText(of.input_tokens)),
    column('Output units', (of) => countText(of.output_tokens)),
    column('From cache', (of) => <FromCache of={of} />, 'Of the input, what vendors read from their caches'),
    column(
      'Cache saved',
      (of) => <Money usd={of.cache_saved_usd} />,
      'What that input would have cost without caches, less what it cost',
    ),
    column('Cost', (of) => <Money usd={of.cost_usd} />),
  ]
}

const Totals = ({ answered: { view, table: use }, show }: { answered: Answered; show: Show }) => (
  <>
    <DataTable
      label="Use by group"
      rows={use.rows}
      keyOf={(row) => row[view.by] ?? ''}
      columns={[
        {
          head: groupNames[view.by],
          className: 'label',
          cell: (row) => <Name view={view} row={row} show={show} />,
          foot: 'Total',
        },
        ...summed(use.total),
      ]}
    />
    {use.has_more && (
      <Group gap="xs" mt="xs" className="no-print">
        <Aside>The {countText(use.rows.length)} most expensive ones; the total includes all.</Aside>
        {view.rows === '' && (
          <Button size="compact-xs" variant="default" onClick={() => show({ rows: 'all' })}>
            Show all
          </Button>
        )}
      </Group>
    )}
  </>
)

const Report = ({ view, show }: { view: View; show: Show }) => {
  const { data, error } = useQuery({
    queryKey: ['usage', view],
    queryFn: () => answerOf(view),
    placeholderData: keepPreviousData,
  })
  if (error !== null) return <Failed error={error} />
  if (data === undefined) return <Loading rows={8} />
  if (data.table.total.requests === 0)
    return (
      <Panel>
        <Empty title="Nothing was used">No call of these days fits.</Empty>
      </Panel>
    )
  const { slot, by } = data.view
  const bars = data.chart.rows.map((row) => ({
    slot: row[slot] ?? '',
    group: nameOf(data.view, row),
    value: row.cost_usd,
  }))
  return (
    <Stack>
      <Panel title="Cost">
        <StackedBars slots={slotsOf(data)} bars={bars} about={`Cost by ${slot} and ${by}`} />
      </Panel>
      <Panel title={`By ${groupNames[by].toLowerCase()}`}>
        <Totals answered={data} show={show} />
      </Panel>
    </Stack>
  )
}

const Only = ({ view, show }: { view: View; show: Show }) => {
  const set = (['key', 'vendor', 'status'] as const).filter((name) => view[name] !== '')
  return set.map((name) => (
    <Text size="sm" key={name}>
      Only the {name} <NameOf what={name} id={view[name]} />.{' '}
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
