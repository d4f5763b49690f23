/** Where somebody comes from the console of another cell: it signs them in, and asks for what their account here wants. */
import { Anchor, Button, Card, Center, Stack, Text, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { ApiError, ask, queries } from '../../parts/api.ts'
import { CodeInput, needsCode } from '../../parts/sign-in/code-input.tsx'
import { signInByPasskey } from '../../parts/sign-in/passkey.ts'
import { Failed, Loading } from '../../parts/ui.tsx'

const useEnter = () =>
  useMutation({
    mutationFn: (code: string) => ask('POST', '/session/enter', code === '' ? {} : { code }),
    onSuccess: () => {
      queries.clear()
      location.replace('/console')
    },
  })

const ByCode = ({ enter }: { enter: ReturnType<typeof useEnter> }) => {
  const [code, setCode] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    enter.mutate(code)
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">Your account in this cell has a second factor of its own.</Text>
        <CodeInput value={code} onChange={setCode} />
        {!needsCode(enter.error) && <Failed error={enter.error} />}
        <Button type="submit" loading={enter.isPending}>
          Go on
        </Button>
      </Stack>
    </form>
  )
}

const ByPasskey = ({ enter }: { enter: ReturnType<typeof useEnter> }) => {
  const signIn = useMutation({ mutationFn: signInByPasskey, onSuccess: () => enter.mutate('') })
  return (
    <>
      <Button loading={signIn.isPending || enter.isPending} onClick={() => signIn.mutate()}>
        Use your passkey of this cell
      </Button>
      <Failed error={signIn.error} />
    </>
  )
}

export const Enter = () => {
  const enter = useEnter()
  const { mutate, error } = enter
  const [asksCode, setAsksCode] = useState(false)
  useEffect(() => mutate(''), [mutate])
  if (!asksCode && needsCode(error)) setAsksCode(true)
  const wantsPasskey = error instanceof ApiError && error.reason === 'passkey'
  return (
    <Center mih="100vh" p="md" component="main">
      <Card withBorder w={420} maw="100%" padding="xl" radius="lg">
        <Title order={1} size="h2" mb="lg">
          Turnpike
        </Title>
        <Stack>
          {asksCode && <ByCode enter={enter} />}
          {!asksCode && error === null && <Loading />}
          {!asksCode && <Failed error={error} />}
          {wantsPasskey && <ByPasskey enter={enter} />}
          {error !== null && (
            <Anchor href="/console" size="sm">
              To this console
            </Anchor>
          )}
        </Stack>
      </Card>
    </Center>
  )
}
