/** The code of an authenticator app, asked for once a sign-in needs it. */
import { TextInput } from '@mantine/core'
import { ApiError } from '../api.ts'

/** Whether a sign-in was right as far as it went, and needs a code. */
export const needsCode = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'code_required'

export const CodeInput = ({ value, onChange }: { value: string; onChange: (code: string) => void }) => (
  <TextInput
    label="Code of your authenticator app"
    autoComplete="one-time-code"
    autoFocus
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
)
