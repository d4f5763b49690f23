/** The name and the ceiling of what several keys spend under: a sub-wallet's, or a team's. */
import { TextInput } from '@mantine/core'
import { AMOUNT_HINT, typedUsd } from '../format.ts'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { differing } from '../forms/use-edits.ts'
import { nameIn, useTexts } from '../forms/use-texts.ts'

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
  const { texts, field } = useTexts({
    name: of?.name ?? '',
    budget: of?.budget_usd ?? '',
    month: of?.monthly_cap_usd ?? '',
  })
  const [budget, cap] = [typedUsd(texts.budget), typedUsd(texts.month)]
  const isBound = typeof budget === 'number' && budget > 0 && budget <= most
  const bounds = (of: number | null | undefined) => (monthly ? { monthly_cap_usd: of ?? null } : {})
  const typed = { name: texts.name, budget_usd: budget, ...bounds(cap) }
  const save = useChange(
    () =>
      saved(
        of === undefined
          ? typed
          : differing(typed, {
              name: of.name,
              budget_usd: typedUsd(of.budget_usd ?? ''),
              ...bounds(typedUsd(of.monthly_cap_usd ?? '')),
            }),
      ),
    { after: onDone },
  )
  const right =
    texts.name.trim() !== '' &&
    (monthly && texts.budget === '' ? typeof cap === 'number' : isBound) &&
    (texts.month === '' || typeof cap === 'number')
  return (
    <Form
      save={save}
      verb={of === undefined ? 'Create' : 'Save'}
      ready={right}
      {...(texts.budget === '' && texts.month === '' ? { hint: 'Give an amount.' } : {})}
    >
      <TextInput {...field('name', 'Name')} {...nameIn(texts.name)} required data-autofocus maxLength={200} />
      <TextInput
        {...field('budget', label, description)}
        required={!monthly}
        inputMode="decimal"
        error={
          texts.budget === '' || isBound
            ? undefined
            : typeof budget === 'number'
              ? `More than 0, and at most ${most}`
              : AMOUNT_HINT
        }
      />
      {monthly && (
        <TextInput
          {...field('month', 'In a month, in USD', 'Begins anew each month (UTC); empty for none')}
          inputMode="decimal"
          error={texts.month !== '' && typeof cap !== 'number' ? AMOUNT_HINT : undefined}
        />
      )}
    </Form>
  )
}
