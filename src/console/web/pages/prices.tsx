/** For operators: what is sold, at which price, and how that price came about. */

import { Stack } from '@mantine/core'
import { useState } from 'react'
import { type Shown, useShown } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { counted } from '../parts/format.ts'
import { Search } from '../parts/forms/field.tsx'
import { PriceLines } from '../parts/money/price-lines.tsx'
import { Aside, Empty, PageHead, Panel } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

type ListedModel = Shown<'GET /models'>['data'][number]

const marginOf = (markup: string): string => {
  const more = (Number(markup) - 1) * 100
  return more === 0
    ? 'at the vendors’ own prices'
    : `at the vendors’ prices plus ${more.toFixed(2).replace(/\.?0+$/, '')} %`
}

const Found = ({ found, setup }: { found: readonly ListedModel[]; setup: Shown<'GET /operator/setup'> }) => (
  <DataTable
    label="Models and prices"
    rows={found}
    keyOf={({ id }) => id}
    columns={[
      {
        head: 'Model',
        cell: ({ id, category, aliases }) => (
          <>
            {id}
            <Aside>{[category.replaceAll('_', ' '), ...aliases].join(', ')}</Aside>
          </>
        ),
      },
      {
        head: 'Sold; tokens by the million',
        cell: ({ prices }) =>
          Object.keys(prices).length === 0 ? 'by its inputs' : <PriceLines prices={prices} />,
      },
      {
        head: 'Before markup',
        cell: ({ prices }) => <PriceLines prices={prices} factor={1 / Number(setup.markup)} named={false} />,
      },
      {
        head: 'Price from',
        cell: ({ id }) => (setup.overridden.includes(id) ? 'yours (turnpike.yaml)' : 'price table'),
      },
    ]}
  />
)

export const Prices = () => {
  const models = useShown('GET /models')
  const setup = useShown('GET /operator/setup')
  const [search, setSearch] = useState('')
  const error = models.error ?? setup.error
  if (models.data === undefined || setup.data === undefined) return <Unread error={error} rows={8} />
  const found = models.data.data.filter(({ id, aliases }) =>
    `${id} ${aliases.join(' ')}`.toLowerCase().includes(search.toLowerCase()),
  )
  return (
    <>
      <PageHead
        title="Models and prices"
        about={`${counted(models.data.data.length, 'model is', 'models are')} sold ${marginOf(setup.data.markup)}${setup.data.discount === '1' ? '' : `; discounted ones at ${setup.data.discount} of that`}.`}
      />
      <Stack>
        <Search of="models" by="model or alias" value={search} onSearch={setSearch} />
        <Panel>
          {found.length === 0 ? (
            <Empty title="No model matches">Nothing is called “{search}”.</Empty>
          ) : (
            <Found found={found} setup={setup.data} />
          )}
        </Panel>
      </Stack>
    </>
  )
}
