/** Budgets of tags and end users: what calls for them may cost, set, changed and taken away. */
import { Button, Group, NativeSelect, SimpleGrid, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown, showing } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { Form } from '../form.tsx'
import { AMOUNT_HINT, typedUsd } from '../format.ts'
import { CapBar, Empty, Failed, Loading, Panel } from '../ui.tsx'

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

type Texts = Readonly<Record<string, string>>

const CapFields = ({ texts, onChange }: { texts: Texts; onChange: (change: Texts) => void }) => (
  <SimpleGrid cols={{ base: 1, xs: 2 }}>
    {caps.map(([member, label]) => (
      <TextInput
        key={member}
        label={label}
        placeholder="none"
        inputMode="decimal"
        value={texts[member] ?? ''}
        onChange={(event) => onChange({ [member]: event.currentTarget.value })}
        error={typedUsd(texts[member] ?? '') === null ? AMOUNT_HINT : undefined}
      />
    ))}
  </SimpleGrid>
)

const BudgetForm = ({ budget, onDone }: { budget: BudgetShown | undefined; onDone: () => void }) => {
  const [tag, setTag] = useState(budget?.tag ?? 'user')
  const [value, setValue] = useState(budget?.value ?? '')
  const [beyond, setBeyond] = useState<string>(budget?.beyond ?? 'refuse')
  const [texts, setTexts] = useState<Texts>(
    Object.fromEntries(
      budget === undefined ? [] : capsOf(budget).map(({ member, cap }) => [member, cap ?? '']),
    ),
  )
  const amounts = caps.map(([member]) => [member, typedUsd(texts[member] ?? '')] as const)
  const save = useMutation({
    mutationFn: () =>
      act('PUT /budgets/:tag', {
        tag: tag.trim(),
        ...Object.fromEntries(amounts.map(([member, amount]) => [member, amount ?? null])),
        ...(value.trim() === ''
          ? { beyond, ...(budget === undefined ? {} : { values_max: budget.values_max }) }
          : { value: value.trim() }),
      }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onDone()
    },
  })
  const ready =
    tag.trim() !== '' &&
    amounts.every(([, amount]) => amount !== null) &&
    amounts.some(([, amount]) => amount !== undefined)
  return (
    <Form save={save} verb={budget === undefined ? 'Set' : 'Save'} ready={ready}>
      <TextInput
        label="Tag"
        description="As calls name it in X-Turnpike-Tags; end users are the tag user"
        required
        readOnly={budget !== undefined}
        maxLength={64}
        value={tag}
        onChange={(event) => setTag(event.currentTarget.value)}
      />
      <TextInput
        label="Value"
        description="Empty: each value without a budget of its own gets one like this"
        readOnly={budget !== undefined}
        maxLength={256}
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
      <CapFields texts={texts} onChange={(change) => setTexts({ ...texts, ...change })} />
      {value.trim() === '' && (
        <NativeSelect
          label="Values beyond the most"
          value={beyond}
          data={[
            { value: 'refuse', label: 'Refuse their calls' },
            { value: 'other', label: 'Count them together, as other' },
          ]}
          onChange={(event) => setBeyond(event.currentTarget.value)}
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
            <Text size="xs" c="dimmed">
              {budget.value === null
                ? `${budget.values} of ${budget.values_max} have one`
                : budget.from_default
                  ? 'as the default'
                  : ''}
            </Text>
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
            <Button size="compact-sm" variant="default" onClick={() => onEdit(budget)}>
              Change
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => onDelete(budget)}>
              Remove
            </Button>
          </Group>
        ),
      },
    ]}
  />
)

const Removal = ({ budget, onDone }: { budget: BudgetShown | undefined; onDone: () => void }) => {
  const remove = useMutation({
    mutationFn: ({ tag, value }: BudgetShown) =>
      act('DELETE /budgets/:tag', { tag, ...(value === null ? {} : { value }) }),
    onSuccess: async () => {
      onDone()
      await queries.invalidateQueries()
    },
  })
  return (
    <Confirm
      opened={budget !== undefined}
      title={`Remove the budget of ${budget === undefined ? '' : nameOf(budget)}?`}
      verb="Remove budget"
      pending={remove.isPending}
      error={remove.error}
      onYes={() => budget !== undefined && remove.mutate(budget)}
      onClose={onDone}
    >
      Calls for it are then bound by the default of the tag, if there is one. With a default go the budgets
      that it made.
    </Confirm>
  )
}

export const Budgets = ({ mayChange }: { mayChange: boolean }) => {
  const { data, error } = useQuery(showing('GET /budgets', {}, 10_000))
  const [form, setForm] = useState<{ budget: BudgetShown | undefined }>()
  const [removing, setRemoving] = useState<BudgetShown>()
  return (
    <Panel
      title="Budgets of tags and end users"
      action={
        mayChange ? (
          <Button size="xs" variant="default" onClick={() => setForm({ budget: undefined })}>
            Set budget
          </Button>
        ) : undefined
      }
    >
      <Failed error={error} />
      {data === undefined ? (
        error === null && <Loading rows={3} />
      ) : data.data.length === 0 ? (
        <Empty title="No budgets">
          A budget bounds what calls for a team, a feature or an end user may cost. Calls say what they are
          for in the header X-Turnpike-Tags, or in their bodies.
        </Empty>
      ) : (
        <>
          <Found
            rows={data.data}
            mayChange={mayChange}
            onEdit={(budget) => setForm({ budget })}
            onDelete={setRemoving}
          />
          {data.has_more && (
            <Text size="sm" c="dimmed">
              There are more: GET /v1/budgets lists all.
            </Text>
          )}
        </>
      )}
      <Dialog
        opened={form !== undefined}
        title={form?.budget === undefined ? 'New budget' : `Budget of ${nameOf(form.budget)}`}
        onClose={() => setForm(undefined)}
      >
        {form !== undefined && <BudgetForm budget={form.budget} onDone={() => setForm(undefined)} />}
      </Dialog>
      <Removal budget={removing} onDone={() => setRemoving(undefined)} />
    </Panel>
  )
}
