/** Signing in: by password, with a code if the person has TOTP; other ways are below it. */
import { Button, Card, Center, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useContext, useState } from 'react'
import { ask } from '../parts/api.ts'
import { useTexts } from '../parts/forms/use-texts.ts'
import { CodeInput, needsCode } from '../parts/sign-in/code-input.tsx'
import { Interrupted, useEntered } from '../parts/sign-in/entered.ts'
import { OtherWays } from '../parts/sign-in/other-ways.tsx'
import { Failed } from '../parts/ui.tsx'

const useSignIn = () =>
  useMutation({
    mutationFn: (values: object) => ask('POST', '/session/password', values),
    onSuccess: useEntered(),
  })

export const SignIn = () => {
  const { texts, field } = useTexts({ email: '', password: '' })
  const [code, setCode] = useState('')
  const signIn = useSignIn()
  const interrupted = useContext(Interrupted) !== undefined
  const [asksCode, setAsksCode] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    signIn.mutate(
      { ...texts, ...(code === '' ? {} : { code }) },
      { onError: (error) => setAsksCode(asksCode || needsCode(error)) },
    )
  }
  return (
    <Center mih="100vh" p="md" component="main">
      <Card withBorder w={400} maw="100%" padding="xl" radius="lg">
        <Title order={1} size="h2">
          Turnpike
        </Title>
        <Text c="dimmed" size="sm" mb="lg">
          {interrupted
            ? 'Your session has ended. Sign in to go on where you were.'
            : 'Every model vendor behind one address and one key.'}
        </Text>
        <form onSubmit={submit}>
          <Stack>
            <TextInput {...field('email', 'E-mail address')} type="email" autoComplete="username" required />
            <PasswordInput {...field('password', 'Password')} autoComplete="current-password" required />
            {asksCode && <CodeInput value={code} onChange={setCode} />}
            {!needsCode(signIn.error) && <Failed error={signIn.error} />}
            <Button type="submit" loading={signIn.isPending}>
              Sign in
            </Button>
            <OtherWays email={texts.email} />
          </Stack>
        </form>
      </Card>
    </Center>
  )
}
