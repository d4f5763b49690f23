/** What is sold: models with their prices, searched and filtered. */
import { Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type Shown, useShown } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { counted, shortCount } from '../parts/format.ts'
import { PriceLines } from '../parts/money/price-lines.tsx'
import { Aside, Copy, Empty, Note, PageHead, Panel, When } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

type Model = Shown<'GET /models'>['data'][number]
const MOST = 200

const Prices = ({ prices, unit }: Pick<Model, 'prices' | 'unit'>) => (
  <>
    <PriceLines prices={prices} />
    {Object.keys(prices).length === 0 && <Aside>free, by {unit}</Aside>}
  </>
)

const ModelTable = ({ rows }: { rows: readonly Model[] }) => (
  <DataTable
    label="Models"
    rows={rows}
    keyOf={({ id }) => id}
    columns={[
      { head: 'Model', className: 'label', cell: ({ id }) => <Copy text={id} name="name of the model" /> },
      { head: 'Category', cell: ({ category }) => category },
      {
        head: 'Context',
        figure: true,
        cell: ({ context_length: most }) => (most === 0 ? '—' : shortCount(most)),
      },
      {
        head: 'Price; tokens by the million',
        cell: ({ prices, coming, unit }) => (
          <>
            <Prices prices={prices} unit={unit} />
            {coming !== null && (
              <>
                <Aside mt={4}>
                  from <When at={coming.from} />
                </Aside>
                <Prices prices={coming.prices} unit={unit} />
              </>
            )}
          </>
        ),
      },
      {
        head: 'Handling',
        cell: ({ handling: { zdr, no_training: training, region } }) => (
          <Aside maw={160}>
            {[
              zdr === 'unknown' ? '' : `zdr ${zdr}`,
              training === 'unknown' ? '' : `no training ${training}`,
              region ?? '',
            ]
              .filter((text) => text !== '')
              .join(', ')
              .replaceAll('_', ' ') || 'not known'}
          </Aside>
        ),
      },
      {
        head: 'Capabilities',
        cell: ({ capabilities }) => <Aside maw={260}>{capabilities.join(', ').replaceAll('_', ' ')}</Aside>,
      },
    ]}
  />
)

export const Models = () => {
  const { data, error } = useShown('GET /models')
  const [search, setSearch] = useState('')
  const [category, setCategory] = useState('')
  if (data === undefined) return <Unread error={error} rows={8} />
  const categories = [...new Set(data.data.map((model) => model.category))].sort()
  const found = data.data.filter(
    (model) =>
      (category === '' || model.category === category) &&
      model.id.toLowerCase().includes(search.toLowerCase()),
  )
  return (
    <>
      <PageHead
        title="Models"
        about={`${counted(data.data.length, 'model is', 'models are')} sold here. Press a name to copy it.`}
      />
      <Stack>
        <Group>
          <TextInput
            aria-label="Search models"
            placeholder="Search by name"
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            miw={240}
          />
          <NativeSelect
            aria-label="Category"
            value={category}
            data={[{ value: '', label: 'All categories' }, ...categories]}
            onChange={(event) => setCategory(event.currentTarget.value)}
          />
        </Group>
        <Panel>
          {found.length === 0 ? (
            <Empty title="No model matches">Try another name or category.</Empty>
          ) : (
            <ModelTable rows={found.slice(0, MOST)} />
          )}
        </Panel>
        {found.length > MOST && <Note>{found.length - MOST} more; narrow the search.</Note>}
      </Stack>
    </>
  )
}
