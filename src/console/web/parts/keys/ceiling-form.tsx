/** The name and the ceiling of what several keys spend under: a sub-wallet's, or a team's. */
import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../api.ts'
import { Form } from '../form.tsx'
import { AMOUNT_HINT, typedUsd } from '../format.ts'
import { differing } from '../use-edits.ts'

type Ceiling = {
  readonly name: string
  readonly budget_usd: string | null
  readonly monthly_cap_usd?: string | null
}
/** What was typed; of one that is there, only what differs. */
type Typed = {
  readonly name?: string
  readonly budget_usd?: number | null | undefined
  readonly monthly_cap_usd?: number | null | undefined
}

export const CeilingForm = ({
  of,
  label,
  description,
  most,
  monthly = false,
  save: saved,
  onDone,
}: {
  of: Ceiling | undefined
  label: string
  description: string
  /** In USD. */
  most: number
  /** Whether it may have a bound for the month too, or alone. */
  monthly?: boolean
  save: (typed: Typed) => Promise<unknown>
  onDone: () => void
}) => {
  const [name, setName] = useState(of?.name ?? '')
  const [text, setText] = useState(of?.budget_usd ?? '')
  const [month, setMonth] = useState(of?.monthly_cap_usd ?? '')
  const budget = typedUsd(text)
  const cap = typedUsd(month)
  const bounds = (of: number | null | undefined) => (monthly ? { monthly_cap_usd: of ?? null } : {})
  const typed = { name, budget_usd: budget, ...bounds(cap) }
  const save = useMutation({
    mutationFn: () =>
      saved(
        of === undefined
          ? typed
          : differing(typed, {
              name: of.name,
              budget_usd: typedUsd(of.budget_usd ?? ''),
              ...bounds(typedUsd(of.monthly_cap_usd ?? '')),
            }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onDone()
    },
  })
  const right =
    name.trim() !== '' &&
    (monthly && text === ''
      ? typeof cap === 'number'
      : typeof budget === 'number' && budget > 0 && budget <= most) &&
    (month === '' || typeof cap === 'number')
  return (
    <Form save={save} verb={of === undefined ? 'Create' : 'Save'} ready={right}>
      <TextInput
        label="Name"
        required
        data-autofocus
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={label}
        description={description}
        required={!monthly}
        inputMode="decimal"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={text !== '' && typeof budget !== 'number' ? AMOUNT_HINT : undefined}
      />
      {monthly && (
        <TextInput
          label="In a month, in USD"
          description="Begins anew with each calendar month (UTC); empty for no such bound"
          inputMode="decimal"
          value={month}
          onChange={(event) => setMonth(event.currentTarget.value)}
          error={month !== '' && typeof cap !== 'number' ? AMOUNT_HINT : undefined}
        />
      )}
    </Form>
  )
}
