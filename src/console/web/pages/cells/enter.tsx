/** Where somebody comes from the console of another cell: it signs them in, and asks for what their account here wants. */
import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ApiError, ask, queries } from '../../parts/api.ts'
import { Form } from '../../parts/forms/form.tsx'
import { useWithCode } from '../../parts/sign-in/code-input.tsx'
import { signInByPasskey } from '../../parts/sign-in/passkey.ts'
import { Failed, Front, Loading } from '../../parts/ui.tsx'

const ByPasskey = ({ entering, enter }: { entering: boolean; enter: () => void }) => {
  const signIn = useMutation({ mutationFn: signInByPasskey, onSuccess: enter })
  return (
    <>
      <Button loading={signIn.isPending || entering} onClick={() => signIn.mutate()}>
        Use your passkey of this cell
      </Button>
      <Failed error={signIn.error} />
    </>
  )
}

const entered = async () => {
  queries.clear()
  location.replace('/console')
}

export const Enter = () => {
  const { save, field } = useWithCode((code) => ask('POST', '/session/enter', code), entered)
  const { mutate, error, isPending } = save
  useEffect(() => mutate(), [mutate])
  return (
    <Front>
      <Stack>
        {field !== false ? (
          <Form save={save} verb="Go on" place="front">
            <Text size="sm">Your account in this cell has a second factor of its own.</Text>
            {field}
          </Form>
        ) : error === null ? (
          <Loading />
        ) : (
          <Failed error={error} />
        )}
        {error instanceof ApiError && error.reason === 'passkey' && (
          <ByPasskey entering={isPending} enter={() => mutate()} />
        )}
        {(field !== false || error !== null) && (
          <Anchor href="/console" size="sm">
            To this console
          </Anchor>
        )}
      </Stack>
    </Front>
  )
}
