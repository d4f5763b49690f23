/** The fields of filters: what is typed, one of some names, a day. */
import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'

type FieldProps = {
  readonly label: string
  readonly placeholder?: string
  readonly value: string | undefined
  readonly width: number
  readonly onChange: (value: string) => void
}

/** A filter that counts once it is left or Enter is pressed: half a name finds nothing. */
export const Field = ({ label, placeholder = 'any', value = '', width, onChange }: FieldProps) => {
  const [typed, setTyped] = useState(value)
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      w={width}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={() => typed.trim() !== value && onChange(typed.trim())}
      onKeyDown={(event) => event.key === 'Enter' && onChange(typed.trim())}
    />
  )
}

/** The name that a text is, or the usual one: an address may say anything. */
export const known = <Names extends object>(
  names: Names,
  text: string | undefined,
  usual: keyof Names & string,
): keyof Names & string =>
  text !== undefined && Object.hasOwn(names, text) ? (text as keyof Names & string) : usual

/** One of some names, each with its words. */
export const Choice = <Names extends Readonly<Record<string, string>>>({
  label,
  names,
  value,
  onChange,
}: {
  label: string
  names: Names
  value: keyof Names & string
  onChange: (value: keyof Names & string) => void
}) => (
  <NativeSelect
    label={label}
    value={value}
    data={Object.entries(names).map(([name, words]) => ({ value: name, label: words }))}
    onChange={(event) => onChange(known(names, event.currentTarget.value, value))}
  />
)

/** The day that an address says; an address may say anything. */
export const dayIn = (text = ''): string => (Number.isNaN(Date.parse(text)) ? '' : text)

/** A day in UTC; empty for none. */
export const DayField = ({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (day: string) => void
}) => (
  <TextInput
    label={label}
    type="date"
    w={142}
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
)

/** The field that searches a list of a page. */
export const Search = ({
  of,
  by,
  value,
  onSearch,
}: {
  of: string
  by: string
  value: string
  onSearch: (text: string) => void
}) => (
  <TextInput
    aria-label={`Search ${of}`}
    placeholder={`Search by ${by}`}
    maw={360}
    value={value}
    onChange={(event) => onSearch(event.currentTarget.value)}
  />
)
