/** Budgets of tags and end users: what calls for them may cost, set, changed and taken away. */
import { Group, NativeSelect, SimpleGrid, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, type Shown, showing } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { typedUsd } from '../format.ts'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { amountIn, useTexts } from '../forms/use-texts.ts'
import { ListPanel } from '../list-panel.tsx'
import { Aside, CapBar, RowButton } from '../ui.tsx'

type BudgetShown = Shown<'PUT /budgets/:tag'>

const caps = [
  ['spend_cap_usd', 'In all, in USD', 'spent_usd'],
  ['monthly_cap_usd', 'Per month, in USD', 'spent_this_month_usd'],
  ['weekly_cap_usd', 'Per week, in USD', 'spent_this_week_usd'],
  ['daily_cap_usd', 'Per day, in USD', 'spent_today_usd'],
] as const

/** Each cap of a budget with what was spent under it. */
const capsOf = (budget: BudgetShown) => {
  const members: Readonly<Record<string, unknown>> = budget
  return caps.map(([member, label, spent]) => {
    const cap = members[member]
    return { member, label, cap: typeof cap === 'string' ? cap : null, spent: String(members[spent] ?? '0') }
  })
}

const nameOf = ({ tag, value }: Pick<BudgetShown, 'tag' | 'value'>): string =>
  value === null ? `each ${tag}` : `${tag}=${value}`

const BudgetForm = ({ budget, onDone }: { budget: BudgetShown | undefined; onDone: () => void }) => {
  const was = budget === undefined ? [] : capsOf(budget)
  const { texts, field } = useTexts({
    ...{ tag: budget?.tag ?? 'user', value: budget?.value ?? '', beyond: budget?.beyond ?? 'refuse' },
    ...(Object.fromEntries(
      caps.map(([member]) => [member, was.find((one) => one.member === member)?.cap ?? '']),
    ) as Record<(typeof caps)[number][0], string>),
  })
  const [tag, value] = [texts.tag.trim(), texts.value.trim()]
  const amounts = caps.map(([member]) => [member, typedUsd(texts[member])] as const)
  const save = useChange(
    () =>
      act('PUT /budgets/:tag', {
        tag,
        ...Object.fromEntries(amounts.map(([member, amount]) => [member, amount ?? null])),
        ...(value === '' ? { beyond: texts.beyond, values_max: budget?.values_max } : { value }),
      }),
    { after: onDone },
  )
  const ready =
    tag !== '' &&
    amounts.every(([, amount]) => amount !== null) &&
    amounts.some(([, amount]) => amount !== undefined)
  return (
    <Form save={save} verb={budget === undefined ? 'Set' : 'Save'} ready={ready}>
      <TextInput
        {...field('tag', 'Tag', 'As calls name it in X-Turnpike-Tags; end users are the tag user')}
        required
        readOnly={budget !== undefined}
        maxLength={64}
      />
      <TextInput
        {...field('value', 'Value', 'Empty: each value without a budget of its own gets one like this')}
        readOnly={budget !== undefined}
        maxLength={256}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {caps.map(([member, label]) => (
          <TextInput key={member} {...field(member, label)} {...amountIn(texts[member])} placeholder="none" />
        ))}
      </SimpleGrid>
      {value === '' && (
        <NativeSelect
          {...field('beyond', 'Values beyond the most')}
          data={[
            { value: 'refuse', label: 'Refuse their calls' },
            { value: 'other', label: 'Count them together, as other' },
          ]}
        />
      )}
    </Form>
  )
}

const Found = ({
  rows,
  mayChange,
  onEdit,
  onDelete,
}: {
  rows: readonly BudgetShown[]
  mayChange: boolean
  onEdit: (budget: BudgetShown) => void
  onDelete: (budget: BudgetShown) => void
}) => (
  <DataTable
    label="Budgets"
    rows={rows}
    keyOf={({ id }) => id}
    columns={[
      {
        head: 'For',
        cell: (budget) => (
          <>
            {nameOf(budget)}
            <Aside>
              {budget.value === null
                ? `${budget.values} of ${budget.values_max} have one`
                : budget.from_default
                  ? 'as the default'
                  : ''}
            </Aside>
          </>
        ),
      },
      ...caps.map(([member, label]) => ({
        head: label.replace(', in USD', ''),
        cell: (budget: BudgetShown) => {
          const its = capsOf(budget).find((one) => one.member === member)
          return its === undefined || its.cap === null ? (
            '–'
          ) : (
            <CapBar used={its.spent} cap={its.cap} label={`${label} of ${nameOf(budget)}`} />
          )
        },
      })),
      mayChange && {
        head: '',
        cell: (budget) => (
          <Group gap="xs" wrap="nowrap" justify="flex-end">
            <RowButton onClick={() => onEdit(budget)}>Change</RowButton>
            <RowButton onClick={() => onDelete(budget)}>Remove</RowButton>
          </Group>
        ),
      },
    ]}
  />
)

const Removal = ({ budget, onDone }: { budget: BudgetShown | undefined; onDone: () => void }) => {
  const remove = useChange(
    ({ tag, value }: BudgetShown) => act('DELETE /budgets/:tag', { tag, value: value ?? undefined }),
    { told: onDone },
  )
  return (
    <Confirm
      opened={budget !== undefined}
      title={`Remove the budget of ${budget === undefined ? '' : nameOf(budget)}?`}
      verb="Remove budget"
      does={remove}
      onYes={() => budget !== undefined && remove.mutate(budget)}
      onClose={onDone}
    >
      Calls for it are then bound by the default of the tag, if there is one. With a default go the budgets
      that it made.
    </Confirm>
  )
}

export const Budgets = ({ mayChange }: { mayChange: boolean }) => {
  const [form, setForm] = useState<{ budget: BudgetShown | undefined }>()
  const [removing, setRemoving] = useState<BudgetShown>()
  return (
    <>
      <ListPanel
        title="Budgets of tags and end users"
        make="Set budget"
        onMake={mayChange && (() => setForm({ budget: undefined }))}
        list={useQuery(showing('GET /budgets', {}, 10_000))}
        none={[
          'No budgets',
          'A budget bounds what calls for a team, a feature or an end user may cost. Calls say what they are for in the header X-Turnpike-Tags, or in their bodies.',
        ]}
      >
        {(list) => (
          <>
            <Found
              rows={list.data}
              mayChange={mayChange}
              onEdit={(budget) => setForm({ budget })}
              onDelete={setRemoving}
            />
            {list.has_more && (
              <Text size="sm" c="dimmed">
                There are more: GET /v1/budgets lists all.
              </Text>
            )}
          </>
        )}
      </ListPanel>
      <Dialog
        opened={form !== undefined}
        title={form?.budget === undefined ? 'New budget' : `Budget of ${nameOf(form.budget)}`}
        onClose={() => setForm(undefined)}
      >
        {form !== undefined && <BudgetForm budget={form.budget} onDone={() => setForm(undefined)} />}
      </Dialog>
      <Removal budget={removing} onDone={() => setRemoving(undefined)} />
    </>
  )
}
