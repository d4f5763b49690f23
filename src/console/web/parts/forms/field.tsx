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
  const [typed, setTyped] = useState<string>()
  const send = () => typed !== undefined && typed.trim() !== value && onChange(typed.trim())
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      w={width}
      value={typed ?? value}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={() => {
        send()
        setTyped(undefined)
      }}
      onKeyDown={(event) => event.key === 'Enter' && send()}
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

type Typing = { readonly currentTarget: { readonly value: string } }

/**
 * A field shows what is typed until it is left. The address, which says its value, follows a moment later: a field that
 * showed the address would put the caret to its end, and forget half a date.
 */
const useTyped = (value: string, onTyped: (text: string) => void) => {
  const [typed, setTyped] = useState<string>()
  return {
    value: typed ?? value,
    onChange: ({ currentTarget: { value: text } }: Typing) => {
      setTyped(text)
      onTyped(text)
    },
    onBlur: () => setTyped(undefined),
  }
}

/** The day that an address says; an address may say anything. */
export const dayIn = (text = ''): string => (Number.isNaN(Date.parse(text)) ? '' : text)

/** Who types a year, types the years 2, 20 and 202 before it: those are not asked for. */
const FIRST_DAY = '2000-01-01'

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
    {...useTyped(value, (day) => (day === '' || day >= FIRST_DAY) && onChange(day))}
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
    {...useTyped(value, onSearch)}
  />
)
