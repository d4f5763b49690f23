/**
 * A one-time link: it signs in when the person presses the button, and lets them set a password. The secret is after
 * the #.
 */
import { Button, Card, Center, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask } from '../parts/api.ts'
import { CodeInput, needsCode } from '../parts/sign-in/code-input.tsx'
import { useEntered } from '../parts/sign-in/entered.ts'
import { Failed } from '../parts/ui.tsx'

export const Link = () => {
  const [token] = useState(() => location.hash.slice(1))
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [asksCode, setAsksCode] = useState(false)
  const signIn = useMutation({
    mutationFn: () =>
      ask('POST', '/session/link', {
        token,
        ...(password === '' ? {} : { password }),
        ...(code === '' ? {} : { code }),
      }),
    onSuccess: useEntered(),
    onError: (error) => setAsksCode(asksCode || needsCode(error)),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    signIn.mutate()
  }
  return (
    <Center mih="100vh" p="md" component="main">
      <Card withBorder w={420} maw="100%" padding="xl" radius="lg">
        <Title order={1} size="h2">
          Welcome to Turnpike
        </Title>
        <Text c="dimmed" size="sm" mb="lg">
          This link signs you in once. Set a password now, so that you can sign in again later.
        </Text>
        <form onSubmit={submit}>
          <Stack>
            <PasswordInput
              label="New password"
              description="At least 12 characters; leave it empty to change nothing."
              autoComplete="new-password"
              minLength={12}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            {asksCode && <CodeInput value={code} onChange={setCode} />}
            {!needsCode(signIn.error) && <Failed error={signIn.error} />}
            <Button type="submit" loading={signIn.isPending}>
              Sign in
            </Button>
          </Stack>
        </form>
      </Card>
    </Center>
  )
}
