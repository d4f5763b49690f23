/** A field for each limit of a key, made from the limits' rows, and the members that they set. */
import { SimpleGrid, TextInput } from '@mantine/core'
import { instantFrom } from '../../../../core/time.ts'
import { type LimitRow, limitList } from '../../../../tenancy/limits.ts'
import { AMOUNT_HINT, typedUsd } from '../format.ts'

/** What is typed, by the limit's member. */
type LimitTexts = Readonly<Record<string, string>>

const rows = limitList.map(([, row]) => row)

export const noLimits: LimitTexts = Object.fromEntries(rows.map(({ member }) => [member, '']))

const shownText = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? ''))

/** The texts of the limits that a key has. */
export const textsOf = (shown: Readonly<Record<string, unknown>>): LimitTexts =>
  Object.fromEntries(rows.map(({ member }) => [member, shownText(shown[member])]))

/** A count that somebody typed; undefined if empty, null if it is not a possible one. */
const typedCount = (text: string): number | undefined | null => {
  const plain = text.trim()
  if (plain === '') return undefined
  return /^[1-9]\d{0,8}$/.test(plain) ? Number(plain) : null
}

const typedTime = (text: string): string | undefined | null =>
  text.trim() === '' ? undefined : instantFrom(text.trim()) === undefined ? null : text.trim()

const typedList = (text: string): readonly string[] | undefined => {
  const all = text.split(/[\s,]+/).filter((one) => one !== '')
  return all.length === 0 ? undefined : all
}

/** How each form is read, undefined if empty and null if it cannot be, and what it looks like. */
const forms = {
  usd: { typed: typedUsd, hint: AMOUNT_HINT, inputMode: 'decimal' },
  count: { typed: typedCount, hint: 'A whole number such as 60', inputMode: 'numeric' },
  time: { typed: typedTime, hint: 'A day or a moment (UTC) such as 2026-12-31T18:00:00Z', inputMode: 'text' },
  list: { typed: typedList, hint: 'Several, with commas between them', inputMode: 'text' },
} as const

type Typed = number | string | readonly string[]

const typed = ({ form }: LimitRow, text: string): Typed | undefined | null => forms[form].typed(text)

/** The members of the body; an empty field is null, which removes the limit. Undefined if a field cannot be read. */
export const limitsOf = (texts: LimitTexts): Readonly<Record<string, Typed | null>> | undefined => {
  const read = rows.map((row) => [row.member, typed(row, texts[row.member] ?? '')] as const)
  if (read.some(([, value]) => value === null)) return undefined
  return Object.fromEntries(read.map(([member, value]) => [member, value ?? null]))
}

export const LimitsForm = ({
  value,
  onChange,
}: {
  value: LimitTexts
  onChange: (edit: LimitTexts) => void
}) => (
  <SimpleGrid cols={{ base: 1, xs: 2 }}>
    {rows.map((row) => (
      <TextInput
        key={row.member}
        label={row.label}
        description={row.help === row.label ? undefined : row.help}
        placeholder={row.otherwise?.includes('plan') ? 'plan' : (row.otherwise ?? 'none')}
        inputMode={forms[row.form].inputMode}
        error={typed(row, value[row.member] ?? '') === null ? forms[row.form].hint : undefined}
        value={value[row.member] ?? ''}
        onChange={(event) => onChange({ [row.member]: event.currentTarget.value })}
      />
    ))}
  </SimpleGrid>
)
