/** Creating an account, if the operator lets anybody in: the link in the mail proves the address. */

import { Anchor, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ask, sessionQuery } from '../parts/api.ts'
import { Form } from '../parts/forms/form.tsx'
import { useTexts } from '../parts/forms/use-texts.ts'
import { Front } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

const REQUIRED = { required: true, type: 'text', maxLength: 100 } as const
const EMAIL = { required: true, type: 'email', maxLength: 254 } as const

const SignUpForm = () => {
  const { texts, field } = useTexts({ email: '', name: '', organisation: '' })
  const signUp = useMutation({ mutationFn: () => ask('POST', '/session/sign-up', texts) })
  return signUp.isSuccess ? (
    <Text role="status">
      Check your mail: a link is on its way to {texts.email}. It works once, within a quarter of an hour.
    </Text>
  ) : (
    <Form save={signUp} verb="Create an account" place="front">
      <TextInput {...field('email', 'E-mail address')} {...EMAIL} autoComplete="email" />
      <TextInput {...field('name', 'Your name')} {...REQUIRED} autoComplete="name" />
      <TextInput {...field('organisation', 'Organisation')} {...REQUIRED} autoComplete="organization" />
    </Form>
  )
}

export const SignUp = () => {
  const { data: session, error } = useQuery(sessionQuery)
  return (
    <Front title="Create an account">
      {session === undefined ? (
        <Unread error={error} rows={3} />
      ) : session.sign_up === 'open' && session.mail ? (
        <SignUpForm />
      ) : (
        <Text>
          This server is by invitation only. Ask its operator, or an owner of your organisation, for an
          invitation.
        </Text>
      )}
      <Anchor component={Link} to="/sign-in" size="sm" mt="md" display="block">
        I have an account
      </Anchor>
    </Front>
  )
}
