/**
 * Statements of a month, one sheet per tenant: to look through, to print, or as CSV. The address describes the view.
 */
import { Alert, Box, Button, Card, Group, NativeSelect, Stack } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { queryOf, type Shown, usePage } from '../parts/api.ts'
import { Earned } from '../parts/money/earned.tsx'
import { StatementSheet } from '../parts/money/statement-sheet.tsx'
import { monthChoice, recentMonths } from '../parts/months.ts'
import { Aside, Empty, Failed, Loading, Money, PageHead, Panel } from '../parts/ui.tsx'

type StatementShown = Shown<'GET /statement'>

const Sheets = ({ data }: { data: StatementShown }) => (
  <Stack gap="md">
    {data.tenants.map((tenant) => (
      <Card key={tenant.id} withBorder padding="lg" radius="md" className="paper">
        <StatementSheet
          sheet={{ ...tenant, from: data.organisation, month: data.month, complete: data.complete }}
        />
        <Aside mt="sm" className="no-print">
          You pay us <Money usd={tenant.total.cost_usd} /> for this; your margin is {tenant.margin_percent} %.
          Neither is printed.
        </Aside>
      </Card>
    ))}
  </Stack>
)

const NotOver = () => (
  <Alert color="yellow" variant="outline" className="failed no-print" mb="md">
    The month is not over yet, or its last calls may still be running. Bill it two hours after its last day
    ends in UTC.
  </Alert>
)

export const Statement = () => {
  const search: Record<string, string | undefined> = useSearch({ strict: false })
  const navigate = useNavigate()
  const months = recentMonths()
  const month = search.month ?? months[0] ?? ''
  const asked = { month, tenant: search.tenant }
  const { data, error } = usePage('GET /statement', asked)
  const show = (next: string) =>
    void navigate({
      to: '/statement',
      search: { month: next, ...(search.tenant === undefined ? {} : { tenant: search.tenant }) },
      replace: true,
    })
  return (
    <>
      <div className="no-print">
        <PageHead
          title="Statements"
          about="What your tenants used in a month and what you bill for it, by your prices. Your own wallet pays our price; this is a report."
        >
          <Group gap="xs">
            <NativeSelect
              aria-label="Month"
              data={monthChoice(months.includes(month) ? months : [month, ...months])}
              value={month}
              onChange={(event) => show(event.currentTarget.value)}
            />
            <Button
              component="a"
              variant="default"
              href={`/console/api/statement.csv${queryOf(asked)}`}
              download
            >
              CSV
            </Button>
            <Button onClick={() => window.print()}>Print</Button>
          </Group>
        </PageHead>
      </div>
      <Failed error={error} />
      {data === undefined && error === null && <Loading rows={6} />}
      {data !== undefined && (
        <>
          {!data.complete && <NotOver />}
          <Box className="no-print" mb="lg">
            <Earned bill="You bill" tenants={data.tenants.length} of={data} />
          </Box>
          {data.tenants.length === 0 ? (
            <Panel>
              <Empty title="No tenant used anything">Choose another month.</Empty>
            </Panel>
          ) : (
            <Sheets data={data} />
          )}
        </>
      )}
    </>
  )
}
