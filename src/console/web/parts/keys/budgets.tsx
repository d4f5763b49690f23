/** Budgets of tags and end users: what calls for them may cost, set, changed and taken away. */
import { Group, NativeSelect, SimpleGrid, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown, useShown } from '../api.ts'
import { Asked } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { typedUsd } from '../format.ts'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { amountIn, useTexts } from '../forms/use-texts.ts'
import { ListPanel } from '../list-panel.tsx'
import { CapBar } from '../money/cap-bar.tsx'
import { Aside, Note, RowButton } from '../ui.tsx'

type BudgetShown = Shown<'PUT /budgets/:tag'>

const caps = [
  ['spend_cap_usd', 'In all, in USD', 'spent_usd'],
  ['monthly_cap_usd', 'Per month, in USD', 'spent_this_month_usd'],
  ['weekly_cap_usd', 'Per week, in USD', 'spent_this_week_usd'],
  ['daily_cap_usd', 'Per day, in USD', 'spent_today_usd'],
] as const

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
    <Form
      save={save}
      verb={budget === undefined ? 'Set' : 'Save'}
      ready={ready}
      {...(amounts.every(([, amount]) => amount === undefined) ? { hint: 'Give at least one amount.' } : {})}
    >
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

const Removal = ({ budget }: { budget: BudgetShown }) => (
  <Asked
    verb="Remove"
    title={`Remove the budget of ${nameOf(budget)}?`}
    yes="Remove budget"
    send={() => act('DELETE /budgets/:tag', { tag: budget.tag, value: budget.value ?? undefined })}
  >
    Calls for it are then bound by the default of the tag, if there is one. With a default go the budgets that
    it made.
  </Asked>
)

const Found = ({
  rows,
  mayChange,
  onEdit,
}: {
  rows: readonly BudgetShown[]
  mayChange: boolean
  onEdit: (budget: BudgetShown) => void
}) => (
  <DataTable
    label="Budgets"
    rows={rows}
    keyOf={({ id }) => id}
    columns={[
      {
        head: 'For',
        className: 'label',
        cell: (budget) => (
          <>
            {nameOf(budget)}
            <Aside>
              {budget.value === null
                ? `${budget.values} of ${budget.values_max} ${budget.values === 1 ? 'has' : 'have'} one`
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
            <Removal budget={budget} />
          </Group>
        ),
      },
    ]}
  />
)

export const Budgets = ({ mayChange }: { mayChange: boolean }) => {
  const [form, setForm] = useState<{ budget: BudgetShown | undefined }>()
  return (
    <>
      <ListPanel
        title="Budgets of tags and end users"
        make="Set budget"
        onMake={mayChange && (() => setForm({ budget: undefined }))}
        list={useShown('GET /budgets', {}, 10_000)}
        none={[
          'No budgets',
          'A budget bounds what calls for a team, a feature or an end user may cost. Calls say what they are for in the header X-Turnpike-Tags, or in their bodies.',
        ]}
      >
        {(list) => (
          <>
            <Found rows={list.data} mayChange={mayChange} onEdit={(budget) => setForm({ budget })} />
            {list.has_more && <Note>There are more: GET /v1/budgets lists all.</Note>}
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
    </>
  )
}
