/** Signing in: by password, with a code if the person has TOTP; other ways are below it. */

import { PasswordInput, Stack, TextInput } from '@mantine/core'
import { useContext } from 'react'
import { ask } from '../parts/api.ts'
import { Form } from '../parts/forms/form.tsx'
import { useTexts } from '../parts/forms/use-texts.ts'
import { useWithCode } from '../parts/sign-in/code-input.tsx'
import { Interrupted, useEntered } from '../parts/sign-in/entered.ts'
import { OtherWays } from '../parts/sign-in/other-ways.tsx'
import { Front } from '../parts/ui.tsx'

export const SignIn = () => {
  const { texts, field } = useTexts({ email: '', password: '' })
  const interrupted = useContext(Interrupted) !== undefined
  const { save, field: code } = useWithCode(
    (more) => ask('POST', '/session/password', { ...texts, ...more }),
    useEntered(),
  )
  return (
    <Front
      about={
        interrupted
          ? 'Your session has ended. Sign in to go on where you were.'
          : 'Every model vendor behind one address and one key.'
      }
    >
      <Stack>
        <Form save={save} verb="Sign in" place="front">
          <TextInput {...field('email', 'E-mail address')} type="email" autoComplete="username" required />
          <PasswordInput {...field('password', 'Password')} autoComplete="current-password" required />
          {code}
        </Form>
        <OtherWays email={texts.email} />
      </Stack>
    </Front>
  )
}
