/** The fields of a key's limits, and what they come to as the body of a request. */
import { SimpleGrid, TextInput } from '@mantine/core'
import { typedUsd } from './format.ts'

type LimitTexts = {
  readonly spend: string
  readonly month: string
  readonly stop: string
  readonly rpm: string
}

export const noLimits: LimitTexts = { spend: '', month: '', stop: '', rpm: '' }

/** The members of the body; an empty field is null, which removes the limit. Undefined where a field cannot be read. */
export const limitsOf = (texts: LimitTexts): Readonly<Record<string, number | null>> | undefined => {
  const amounts = [typedUsd(texts.spend), typedUsd(texts.month), typedUsd(texts.stop)]
  const rpm =
    texts.rpm.trim() === '' ? undefined : /^[1-9]\d{0,8}$/.test(texts.rpm.trim()) ? Number(texts.rpm) : null
  if (amounts.includes(null) || rpm === null) return undefined
  return {
    spend_cap_usd: amounts[0] ?? null,
    monthly_cap_usd: amounts[1] ?? null,
    stop_at_remaining_usd: amounts[2] ?? null,
    rpm_limit: rpm ?? null,
  }
}

const wrongAmount = (text: string): string | undefined =>
  typedUsd(text) === null ? 'An amount such as 25 or 0.5' : undefined

export const LimitsForm = ({
  value,
  onChange,
}: {
  value: LimitTexts
  onChange: (value: LimitTexts) => void
}) => {
  const field = (name: keyof LimitTexts) => ({
    value: value[name],
    onChange: (event: { currentTarget: HTMLInputElement }) =>
      onChange({ ...value, [name]: event.currentTarget.value }),
  })
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <TextInput
        label="Lifetime cap in USD"
        description="In all; then the key is refused"
        placeholder="none"
        inputMode="decimal"
        error={wrongAmount(value.spend)}
        {...field('spend')}
      />
      <TextInput
        label="Monthly cap in USD"
        description="Per calendar month in UTC"
        placeholder="none"
        inputMode="decimal"
        error={wrongAmount(value.month)}
        {...field('month')}
      />
      <TextInput
        label="Requests per minute"
        description="Empty takes the plan's rate"
        placeholder="plan"
        inputMode="numeric"
        {...field('rpm')}
      />
      <TextInput
        label="Stop at, in USD"
        description="Leaves this much in the wallet"
        placeholder="none"
        inputMode="decimal"
        error={wrongAmount(value.stop)}
        {...field('stop')}
      />
    </SimpleGrid>
  )
}
