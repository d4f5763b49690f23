/** Creating an account, if the operator lets anybody in: the link in the mail proves the address. */
import { Anchor, Button, Card, Center, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { ask, sessionQuery } from '../parts/api.ts'
import { useTexts } from '../parts/forms/use-texts.ts'
import { Failed } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'

const REQUIRED = { required: true, type: 'text', maxLength: 100 } as const

const SignUpForm = () => {
  const { texts, field } = useTexts({ email: '', name: '', organisation: '' })
  const signUp = useMutation({ mutationFn: () => ask('POST', '/session/sign-up', texts) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    signUp.mutate()
  }
  return signUp.isSuccess ? (
    <Text role="status">
      Check your mail: a link is on its way to {texts.email}. It works once, within a quarter of an hour.
    </Text>
  ) : (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          {...field('email', 'E-mail address')}
          {...REQUIRED}
          type="email"
          autoComplete="email"
          maxLength={254}
        />
        <TextInput {...field('name', 'Your name')} {...REQUIRED} autoComplete="name" />
        <TextInput {...field('organisation', 'Organisation')} {...REQUIRED} autoComplete="organization" />
        <Failed error={signUp.error} />
        <Button type="submit" loading={signUp.isPending}>
          Create an account
        </Button>
      </Stack>
    </form>
  )
}

export const SignUp = () => {
  const { data: session, error } = useQuery(sessionQuery)
  return (
    <Center mih="100vh" p="md" component="main">
      <Card withBorder w={400} maw="100%" padding="xl" radius="lg">
        <Title order={1} size="h2" mb="lg">
          Create an account
        </Title>
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
      </Card>
    </Center>
  )
}
