/** For operators: what is sold, at which price, and how that price came about. */
import { Stack, Table, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Shown, showing } from '../parts/api.ts'
import { shortUsd } from '../parts/format.ts'
import { Empty, PageHead, Panel, TableBox } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { Windowed } from '../parts/windowed.tsx'

type ListedModel = Shown<'GET /models'>['data'][number]

const marginOf = (markup: string): string => {
  const more = (Number(markup) - 1) * 100
  return more === 0
    ? 'at the vendors’ own prices'
    : `at the vendors’ prices plus ${more.toFixed(2).replace(/\.?0+$/, '')} %`
}

/** The vendor's own price, which is ours without the markup. */
const beforeMarkup = (price: string, markup: string): string =>
  shortUsd((Number(price) / Number(markup)).toFixed(9))

const Row = ({ model, setup }: { model: ListedModel; setup: Shown<'GET /operator/setup'> }) => {
  const prices = Object.entries(model.prices)
  const own = setup.overridden.includes(model.id)
  return (
    <Table.Tr>
      <Table.Td>
        {model.id}
        <Text size="xs" c="dimmed">
          {[model.category.replaceAll('_', ' '), ...model.aliases].join(', ')}
        </Text>
      </Table.Td>
      <Table.Td className="number">
        {prices.map(([name, price]) => (
          <Text size="sm" key={name} title={`${price} USD`}>
            {shortUsd(price)} {name.replaceAll('_', ' ')}
          </Text>
        ))}
        {prices.length === 0 && <Text size="sm">by its inputs</Text>}
      </Table.Td>
      <Table.Td className="number">
        {prices.map(([name, price]) => (
          <Text size="sm" key={name} c="dimmed">
            {beforeMarkup(price, setup.markup)}
          </Text>
        ))}
      </Table.Td>
      <Table.Td>{own ? 'yours (turnpike.yaml)' : 'price table'}</Table.Td>
    </Table.Tr>
  )
}

const Found = ({ found, setup }: { found: readonly ListedModel[]; setup: Shown<'GET /operator/setup'> }) => (
  <TableBox>
    <Windowed
      label="Models and prices"
      rows={found}
      head={
        <Table.Tr>
          <Table.Th>Model</Table.Th>
          <Table.Th>Sold, per million</Table.Th>
          <Table.Th>Before markup</Table.Th>
          <Table.Th>Price from</Table.Th>
        </Table.Tr>
      }
      row={(model) => <Row key={model.id} model={model} setup={setup} />}
    />
  </TableBox>
)

export const Prices = () => {
  const models = useQuery(showing('GET /models'))
  const setup = useQuery(showing('GET /operator/setup'))
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
        about={`${models.data.data.length} models are sold ${marginOf(setup.data.markup)}${setup.data.discount === '1' ? '' : `; discounted ones at ${setup.data.discount} of that`}.`}
      />
      <Stack>
        <TextInput
          aria-label="Search models"
          placeholder="Search by model or alias"
          maw={360}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
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
