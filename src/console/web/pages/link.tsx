/**
 * A one-time link: it signs in when the person presses the button, and lets them set a password. The secret is after
 * the #.
 */

import { PasswordInput } from '@mantine/core'
import { useLocation } from '@tanstack/react-router'
import { ask } from '../parts/api.ts'
import { Form } from '../parts/forms/form.tsx'
import { useTexts } from '../parts/forms/use-texts.ts'
import { useWithCode } from '../parts/sign-in/code-input.tsx'
import { useEntered } from '../parts/sign-in/entered.ts'
import { Front } from '../parts/ui.tsx'

export const Link = () => {
  // As on the page of use, another link may be opened here.
  const { hash: token } = useLocation()
  const { texts, field } = useTexts({ password: '' })
  const { save, field: code } = useWithCode(
    (more) => ask('POST', '/session/link', { token, ...(texts.password === '' ? {} : texts), ...more }),
    useEntered(),
  )
  return (
    <Front
      title="Welcome to Turnpike"
      about="This link signs you in once. Set a password now, so that you can sign in again later."
    >
      <Form save={save} verb="Sign in" place="front">
        <PasswordInput
          {...field('password', 'New password', 'At least 12 characters; leave it empty to change nothing.')}
          autoComplete="new-password"
          minLength={12}
        />
        {code}
      </Form>
    </Front>
  )
}
