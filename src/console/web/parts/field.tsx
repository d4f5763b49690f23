/** A field of a filter. */
import { TextInput } from '@mantine/core'
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
