/** The fields of a key's limits, and the request body that they make. */
import { SimpleGrid, TextInput } from '@mantine/core'
import { AMOUNT_HINT, typedUsd } from './format.ts'

type LimitTexts = {
  readonly spend: string
  readonly month: string
  readonly stop: string
  readonly rpm: string
}

export const noLimits: LimitTexts = { spend: '', month: '', stop: '', rpm: '' }

/** A rate that somebody typed; undefined if empty, null if it is not a possible rate. */
const typedRate = (text: string): number | undefined | null => {
  const plain = text.trim()
  if (plain === '') return undefined
  return /^[1-9]\d{0,8}$/.test(plain) ? Number(plain) : null
}

/** The members of the body; an empty field is null, which removes the limit. Undefined if a field cannot be read. */
export const limitsOf = (texts: LimitTexts): Readonly<Record<string, number | null>> | undefined => {
  const amounts = [typedUsd(texts.spend), typedUsd(texts.month), typedUsd(texts.stop)]
  const rpm = typedRate(texts.rpm)
  if (amounts.includes(null) || rpm === null) return undefined
  return {
    spend_cap_usd: amounts[0] ?? null,
    monthly_cap_usd: amounts[1] ?? null,
    stop_at_remaining_usd: amounts[2] ?? null,
    rpm_limit: rpm ?? null,
  }
}

const wrongAmount = (text: string): string | undefined => (typedUsd(text) === null ? AMOUNT_HINT : undefined)

const wrongRate = (text: string): string | undefined =>
  typedRate(text) === null ? 'A whole number such as 60' : undefined

const fields = [
  ['spend', 'Lifetime cap in USD', 'In total; then calls of the key are refused', 'none'],
  ['month', 'Monthly cap in USD', 'Per calendar month in UTC', 'none'],
  ['rpm', 'Requests per minute', "Empty means the plan's rate", 'plan'],
  ['stop', 'Stop at, in USD', 'Leaves this much in the wallet', 'none'],
] as const

export const LimitsForm = ({
  value,
  onChange,
}: {
  value: LimitTexts
  onChange: (edit: Partial<LimitTexts>) => void
}) => (
  <SimpleGrid cols={{ base: 1, xs: 2 }}>
    {fields.map(([name, label, description, placeholder]) => (
      <TextInput
        key={name}
        label={label}
        description={description}
        placeholder={placeholder}
        inputMode={name === 'rpm' ? 'numeric' : 'decimal'}
        error={name === 'rpm' ? wrongRate(value.rpm) : wrongAmount(value[name])}
        value={value[name]}
        onChange={(event) => onChange({ [name]: event.currentTarget.value })}
      />
    ))}
  </SimpleGrid>
)
