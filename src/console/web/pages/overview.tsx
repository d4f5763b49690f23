/** The overview: what is left, what is spent, on what, and what needs attention. */
import { Anchor, Button, Group, List, SimpleGrid, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { OverviewShown } from '../../schema/reports.ts'
import { reading } from '../parts/api.ts'
import { StackedBars } from '../parts/chart.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { counted, countText } from '../parts/format.ts'
import { Empty, Failed, Figure, Loading, Money, Note, PageHead, Panel } from '../parts/ui.tsx'
import { useMay } from '../parts/use-may.ts'

/** The last thirty days in UTC, oldest first. */
const lastDays = (): readonly string[] => {
  const today = Math.trunc(Date.now() / 86_400_000)
  return Array.from({ length: 30 }, (_, at) =>
    new Date((today - 29 + at) * 86_400_000).toISOString().slice(0, 10),
  )
}

const Balance = ({ usd, held }: { usd: string; held: string }) => (
  <Figure
    name="Balance"
    below={
      held === '0' ? (
        'nothing is held by open calls'
      ) : (
        <>
          of which <Money usd={held} /> is held by open calls
        </>
      )
    }
  >
    <Money usd={usd} />
  </Figure>
)

const Lasts = ({ data }: { data: OverviewShown }) => (
  <Figure
    name="Lasts"
    below={
      <>
        <Money usd={data.spent_week_usd} /> in the seven days before today
      </>
    }
  >
    {data.days_left === null ? '—' : data.days_left > 365 ? 'over a year' : counted(data.days_left, 'day')}
  </Figure>
)

const Figures = ({ data }: { data: OverviewShown }) => (
  <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
    {data.balance_usd !== null && <Balance usd={data.balance_usd} held={data.held_usd ?? '0'} />}
    <Figure name="Spent today" below={`${counted(data.requests_today, 'call')} (UTC day)`}>
      <Money usd={data.spent_today_usd} />
    </Figure>
    <Figure name="Spent this month" below="calendar month in UTC">
      <Money usd={data.spent_this_month_usd} />
    </Figure>
    {data.balance_usd !== null && <Lasts data={data} />}
  </SimpleGrid>
)

const Busiest = ({ keys }: { keys: OverviewShown['keys'] }) => (
  <Panel title="Busiest keys, seven days">
    {keys.length === 0 ? (
      <Note>No calls in the last seven days.</Note>
    ) : (
      <DataTable
        label="Busiest keys"
        rows={keys}
        keyOf={({ id }) => id}
        className="facts"
        columns={[
          {
            head: 'Key',
            className: 'label',
            cell: ({ id, label }) => (
              <Anchor component={Link} to={`/keys/${id}`} size="sm">
                {label}
              </Anchor>
            ),
          },
          { head: 'Calls', figure: true, cell: ({ requests }) => countText(requests) },
          { head: 'Cost', figure: true, cell: ({ cost_usd }) => <Money usd={cost_usd} /> },
        ]}
      />
    )}
  </Panel>
)

const Attention = ({ list }: { list: OverviewShown['attention'] }) => (
  <Panel title="Needs attention">
    {list.length === 0 ? (
      <Note>Nothing. Keys are within their caps, the wallet is funded, and calls are answered.</Note>
    ) : (
      <List spacing="xs" size="sm">
        {list.map(({ text, to, search = {} }) => (
          <List.Item key={text}>
            <Anchor component={Link} to={to} search={search as never} size="sm">
              {text}
            </Anchor>
          </List.Item>
        ))}
      </List>
    )}
  </Panel>
)

const First = () => {
  const navigate = useNavigate()
  return (
    <Panel>
      <Empty
        title="Make your first key"
        action={
          <Button onClick={() => void navigate({ to: '/keys', search: { new: 'key' } })}>Create a key</Button>
        }
      >
        A key with a cap, a ready snippet for your client, and the first call appears here within two seconds.
      </Empty>
    </Panel>
  )
}

export const Overview = () => {
  const mayPlay = useMay('play')
  const mayMake = useMay('keys', 'keys_own')
  const { data, error } = useQuery(reading<OverviewShown>('/overview', 10_000))
  const navigate = useNavigate()
  if (data === undefined)
    return (
      <>
        <PageHead title="Overview" />
        <Failed error={error} />
        {error === null && <Loading rows={6} />}
      </>
    )
  return (
    <>
      <PageHead title="Overview">
        {mayPlay && (
          <Button variant="default" onClick={() => void navigate({ to: '/playground' })}>
            Playground
          </Button>
        )}
        {mayMake && (
          <Button onClick={() => void navigate({ to: '/keys', search: { new: 'key' } })}>Create a key</Button>
        )}
      </PageHead>
      <Stack>
        <Figures data={data} />
        {mayMake && !data.has_keys && <First />}
        <Panel
          title="Spending by day and model"
          action={
            <Group gap="xs">
              <Anchor component={Link} to="/usage" size="sm">
                All usage
              </Anchor>
            </Group>
          }
        >
          {data.by_day.length === 0 ? (
            <Empty title="No calls yet">What your keys spend shows here by day, stacked by model.</Empty>
          ) : (
            <StackedBars
              slots={lastDays()}
              bars={data.by_day.map(({ day, model, cost_usd }) => ({
                slot: day,
                group: model,
                value: cost_usd,
              }))}
              about="Spending of the last thirty days, by day and model"
            />
          )}
        </Panel>
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Busiest keys={data.keys} />
          <Attention list={data.attention} />
        </SimpleGrid>
      </Stack>
    </>
  )
}
