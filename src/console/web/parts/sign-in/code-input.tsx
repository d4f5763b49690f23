/** A sign-in that may need the code of an authenticator app, asked for once it does. */
import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../api.ts'

/** Whether a sign-in was right as far as it went, and needs a code. */
const needsCode = (error: unknown): boolean => error instanceof ApiError && error.code === 'code_required'

const CodeInput = ({ value, onChange }: { value: string; onChange: (code: string) => void }) => (
  <TextInput
    label="Code of your authenticator app"
    autoComplete="one-time-code"
    autoFocus
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
)

/** What sends the sign-in, with the code if one was typed, and the field of that once it is asked for. */
export const useWithCode = (send: (code: object) => Promise<unknown>, entered: () => Promise<void>) => {
  const [code, setCode] = useState('')
  const [asks, setAsks] = useState(false)
  const signIn = useMutation({
    mutationFn: () => send(code === '' ? {} : { code }),
    onSuccess: entered,
    onError: (error) => setAsks(asks || needsCode(error)),
  })
  const error = needsCode(signIn.error) ? null : signIn.error
  return { save: { ...signIn, error }, field: asks && <CodeInput value={code} onChange={setCode} /> }
}
