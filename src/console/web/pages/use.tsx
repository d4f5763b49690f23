/**
 * What a tenant sees through its own link: its use, at the reseller's prices, and nothing else. The secret is after the
 * #.
 */
import { Box, Button, Card, Group, Image, NativeSelect, SimpleGrid, Stack, Title } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useState } from 'react'
import type { Written } from '../../../control/face.ts'
import type { useOfTenant } from '../../../control/tenants/statements.ts'
import { askBy, queryOf, textBy } from '../parts/api.ts'
import { StackedBars } from '../parts/chart.tsx'
import { download, downloadFile, logoAddress } from '../parts/csv.ts'
import { counted, countText } from '../parts/format.ts'
import { type BillCells, BillRows } from '../parts/money/bill-table.tsx'
import { StatementSheet } from '../parts/money/statement-sheet.tsx'
import { daysOf, monthChoice, monthText } from '../parts/months.ts'
import { State } from '../parts/state.tsx'
import { Failed, Figure, Loading, Money, Note, Panel, RowButton } from '../parts/ui.tsx'

type TenantUseShown = Written<Awaited<ReturnType<typeof useOfTenant>>>

const Figures = ({ use }: { use: TenantUseShown }) => (
  <SimpleGrid cols={{ base: 1, xs: 3 }} className="no-print">
    <Figure name={monthText(use.month)} below={use.complete ? 'whole month' : 'so far'}>
      <Money usd={use.total.billed_usd} />
    </Figure>
    <Figure
      name="Calls"
      below={`${counted(use.total.input_tokens, 'token')} in, ${countText(use.total.output_tokens)} out`}
    >
      {countText(use.total.requests)}
    </Figure>
    <Figure
      name="Your access now"
      below={
        use.cap_used_percent === null
          ? 'no monthly cap'
          : `${use.cap_used_percent} % of this month’s cap is used`
      }
    >
      <State of={use.access === 'disabled' ? 'suspended' : use.access} />
    </Figure>
  </SimpleGrid>
)

const Shown = ({ use, seller = use.organisation }: { use: TenantUseShown; seller?: string | undefined }) => (
  <Stack gap="md">
    <Figures use={use} />
    <div className="no-print">
      <Panel title="By day">
        <StackedBars
          slots={daysOf(use.month)}
          bars={use.days.map(({ day, billed_usd }) => ({ slot: day, group: 'use', value: billed_usd }))}
          legend={false}
          about={`Use by day in ${monthText(use.month)}; the amounts by model are in the table.`}
        />
      </Panel>
    </div>
    <Card withBorder padding="lg" radius="md" className="paper">
      <StatementSheet sheet={{ ...use, from: seller }} />
    </Card>
  </Stack>
)

type OwnBills = {
  readonly seller: { readonly name: string; readonly logo: string | null } | null
  readonly data: readonly BillCells[]
}

const OwnInvoices = ({ secret, rows }: { secret: string; rows: readonly BillCells[] }) => {
  const pdf = useMutation({
    mutationFn: async (id: string) =>
      downloadFile(await askBy<Parameters<typeof downloadFile>[0]>(secret, `/use/bills/${id}/pdf`)),
  })
  return (
    <div className="no-print">
      <Panel title="Your invoices">
        <Failed error={pdf.error} />
        <BillRows
          rows={rows}
          acts={({ id, number }) => (
            <RowButton onClick={() => pdf.mutate(id)} aria-label={`PDF of ${number}`}>
              PDF
            </RowButton>
          )}
        />
      </Panel>
    </div>
  )
}

/** Whose page it is, under the logo of who bills. */
const Head = ({ use, seller }: { use: TenantUseShown | undefined; seller: OwnBills['seller'] }) => (
  <Box>
    {seller?.logo != null && (
      <Image
        src={logoAddress(seller.logo)}
        alt={seller.name}
        h={44}
        w="auto"
        maw={200}
        fit="contain"
        mb="sm"
      />
    )}
    <Title order={1} size="h2">
      {use === undefined ? 'Your use' : `Use of ${use.label}`}
    </Title>
    {use !== undefined && (
      <Note>
        Billed by {seller?.name ?? use.organisation}. You can look at your own use here, and change nothing.
      </Note>
    )}
  </Box>
)

const UseBy = ({ secret }: { secret: string }) => {
  const [month, setMonth] = useState<string>()
  const query = queryOf({ month })
  const { data, error } = useQuery({
    queryKey: ['use', secret, month],
    queryFn: () => askBy<TenantUseShown>(secret, `/use${query}`),
    placeholderData: keepPreviousData,
  })
  const { data: billed, error: unbilled } = useQuery({
    queryKey: ['use', secret, 'bills'],
    queryFn: () => askBy<OwnBills>(secret, '/use/bills'),
  })
  const seller = billed?.seller ?? null
  const csv = useMutation({
    mutationFn: () => textBy(secret, `/use.csv${query}`),
    onSuccess: (text) => download(`use-${data?.month ?? ''}.csv`, text),
  })
  return (
    <Box component="main" maw={980} mx="auto" p="lg">
      <Group justify="space-between" align="flex-start" mb="lg" gap="sm" className="no-print">
        <Head use={data} seller={seller} />
        {data !== undefined && (
          <Group gap="xs">
            <NativeSelect
              aria-label="Month"
              data={monthChoice(data.months)}
              value={data.month}
              onChange={(event) => setMonth(event.currentTarget.value)}
            />
            <Button variant="default" loading={csv.isPending} onClick={() => csv.mutate()}>
              CSV
            </Button>
            <Button onClick={() => window.print()}>Print</Button>
          </Group>
        )}
      </Group>
      <Failed error={error ?? csv.error ?? unbilled} />
      {data === undefined ? (
        error === null && <Loading rows={6} />
      ) : (
        <Shown use={data} seller={seller?.name} />
      )}
      {billed !== undefined && billed.data.length > 0 && (
        <Box mt="md">
          <OwnInvoices secret={secret} rows={billed.data} />
        </Box>
      )}
    </Box>
  )
}

/** Another link may be opened on this page: only this part of the address changes then. */
export const Use = () => {
  const { hash } = useLocation()
  return <UseBy key={hash} secret={hash} />
}
