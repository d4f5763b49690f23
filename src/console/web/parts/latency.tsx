/** How calls went over time and by group: two charts and a table, for a page of an organisation and that of operators. */
import { Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Shown } from './api.ts'
import { Lines, StackedBars, units } from './chart.tsx'
import { type Column, DataTable } from './data-table.tsx'
import { countText } from './format.ts'
import { Aside, Empty, Panel } from './ui.tsx'

type Latency = Shown<'GET /latency'>
type Figures = Latency['total']

const msText = (value: number | null): string => (value === null ? '—' : `${countText(value)} ms`)

/** A share of few calls says little, so that they are named; what is not none is not shown as none. */
const Rate = ({ of: { calls, failed } }: { of: Pick<Figures, 'calls' | 'failed'> }) => {
  if (calls === 0) return '—'
  const percent = (100 * failed) / calls
  return (
    <span title={`${countText(failed)} of ${countText(calls)}`}>
      {failed > 0 && percent < 1 ? '< 1' : failed < calls ? Math.min(99, Math.round(percent)) : 100} %
    </span>
  )
}

export const failedColumn: Column<Pick<Figures, 'calls' | 'failed'>> = {
  head: 'Failed',
  title: 'By a vendor or by this server',
  figure: true,
  cell: (of) => <Rate of={of} />,
}

const timeColumns = (total: Figures): readonly Column<Figures>[] => {
  const column = (head: string, cell: (of: Figures) => ReactNode, title: string): Column<Figures> => ({
    ...{ head, cell, title, figure: true, foot: cell(total) },
  })
  return [
    column(
      'First byte',
      (of) => msText(of.first_byte_p50_ms),
      'Half were faster; of a stream, the first token',
    ),
    column('First byte, p95', (of) => msText(of.first_byte_p95_ms), '19 of 20 were faster'),
    column('Took', (of) => msText(of.took_p50_ms), 'Half were faster'),
    column('Took, p95', (of) => msText(of.took_p95_ms), '19 of 20 were faster'),
  ]
}

const ends = { Answered: 'answered', Refused: 'refused', Failed: 'failed' } as const

/** Whoever left before the answer counts as answered: neither refused nor failed. */
const countOf = (part: Figures, end: (typeof ends)[keyof typeof ends]): number =>
  end === 'answered' ? part.calls - part.refused - part.failed : part[end]

const lineNames = {
  'Took, p95': 'took_p95_ms',
  'Took, p50': 'took_p50_ms',
  'First byte, p95': 'first_byte_p95_ms',
  'First byte, p50': 'first_byte_p50_ms',
} as const

const LatencyCharts = ({ parts }: Pick<Latency, 'parts'>) => {
  const slots = parts.map(({ from }) => from)
  return (
    <>
      <Panel title="Outcomes">
        <StackedBars
          slots={slots}
          groups={Object.keys(ends)}
          bars={parts.flatMap((part) =>
            Object.entries(ends).map(([group, end]) => ({
              slot: part.from,
              group,
              value: String(countOf(part, end)),
            })),
          )}
          unit={units.calls}
          about="Calls over time, by how they ended"
        />
      </Panel>
      <Panel title="Times of answered calls">
        <Lines
          slots={slots}
          lines={Object.entries(lineNames).map(([name, member]) => ({
            name,
            values: parts.map((part) => part[member]),
          }))}
          unit={units.ms}
          about="Times of answered calls: until the first byte, and until the last"
        />
      </Panel>
    </>
  )
}

export const LatencyReport = ({
  data,
  nameOf,
}: {
  data: Latency
  nameOf: (row: Latency['rows'][number]) => ReactNode
}) => {
  const { parts, rows, total, newest, by } = data
  if (total.calls === 0) return <Empty title="No calls">No call of this time fits.</Empty>
  const name = { model: 'Model', vendor: 'Vendor', key: 'Key' }[by]
  return (
    <Stack>
      <LatencyCharts parts={parts} />
      <Panel title={`By ${by}`}>
        <DataTable
          label="Latency by group"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            { head: name, className: 'label', cell: nameOf, foot: 'All' },
            {
              head: by === 'vendor' ? 'Attempts' : 'Calls',
              figure: true,
              cell: ({ calls }) => countText(calls),
              foot: countText(total.calls),
            },
            by !== 'vendor' && {
              head: 'Refused',
              figure: true,
              cell: ({ refused }) => countText(refused),
              foot: countText(total.refused),
            },
            { ...failedColumn, foot: <Rate of={total} /> },
            ...timeColumns(total),
          ]}
        />
        {parts.some(({ whole }) => !whole) && (
          <Aside mt="xs">Of the newest {countText(newest)} calls of each bar; there were more.</Aside>
        )}
      </Panel>
    </Stack>
  )
}
