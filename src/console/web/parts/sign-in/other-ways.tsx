/** Ways to sign in without the password: a passkey, the company's own provider, a link by mail. */
import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, sessionQuery } from '../api.ts'
import { Failed, Note, Told } from '../ui.tsx'
import { useEntered } from './entered.ts'
import { isGivenUp, noPasskeysHere, signInByPasskey } from './passkey.ts'

const ByPasskey = () => {
  const signIn = useMutation({ mutationFn: signInByPasskey, onSuccess: useEntered() })
  const why = noPasskeysHere()
  if (why !== undefined) return <Note>{why}</Note>
  return (
    <>
      <Button variant="default" loading={signIn.isPending} onClick={() => signIn.mutate()}>
        Use a passkey
      </Button>
      {isGivenUp(signIn.error) ? (
        <Told>No passkey was used. Sign in another way.</Told>
      ) : (
        <Failed error={signIn.error} />
      )}
    </>
  )
}

/** Why a company's provider brought somebody back who is not let in, by the word in the address. */
const whys: Readonly<Record<string, (name: string) => string>> = {
  failed: (name) =>
    `${name} did not let you in, or nobody has added you here yet. Ask the operator of this server.`,
  unverified: (name) =>
    `${name} does not say that your e-mail address is verified, so it opens no account here. Verify it at ${name} and sign in again, or sign in another way. If nobody can verify addresses there, ask the operator of this server.`,
  foreign: (name) => `${name} does not sign in people of your e-mail address here. Sign in another way.`,
  operator: (name) =>
    `You operate this server, so an e-mail address alone does not open your account. Sign in another way first; then sign in with ${name} from Settings, once.`,
}

const ByCompany = ({ id, name }: { id: string; name: string }) => {
  const query: Record<string, unknown> = useSearch({ strict: false })
  const told = query.by === id ? whys[String(query.company)] : undefined
  const begin = useMutation({
    mutationFn: () => ask<{ url: string }>('POST', `/session/companies/${id}`),
    onSuccess: ({ url }) => location.assign(url),
  })
  return (
    <>
      <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate()}>
        Sign in with {name}
      </Button>
      {told !== undefined && <Told alert>{told(name)}</Told>}
      <Failed error={begin.error} />
    </>
  )
}

/** For people who have no password, or have forgotten it. */
export const ByLink = ({
  email,
  mail,
  children = 'Mail me a link instead',
}: {
  email: string
  mail: boolean
  children?: string
}) => {
  const link = useMutation({ mutationFn: () => ask('POST', '/session/ask-link', { email }) })
  const [asks, setAsks] = useState(false)
  if (!mail)
    return (
      <Note>
        No password yet, or forgotten? The operator of this server prints a link with{' '}
        <span className="mono">turnpike person reset-link</span>.
      </Note>
    )
  return (
    <>
      <Button
        variant="default"
        loading={link.isPending}
        onClick={() => (email === '' ? setAsks(true) : link.mutate())}
      >
        {children}
      </Button>
      {asks && email === '' && <Told alert>Write your e-mail address above first.</Told>}
      {link.isSuccess && (
        <Told>If {email} has an account, a link is on its way. It works once, for a quarter of an hour.</Told>
      )}
      <Failed error={link.error} />
    </>
  )
}

export const OtherWays = ({ email }: { email: string }) => {
  const { data: session } = useQuery(sessionQuery)
  if (session === undefined) return null
  return (
    <Stack>
      <ByPasskey />
      {session.companies.map((one) => (
        <ByCompany key={one.id} {...one} />
      ))}
      <ByLink email={email} mail={session.mail} />
      {session.sign_up === 'open' && session.mail && (
        <Text size="sm">
          New here?{' '}
          <Anchor component={Link} to="/sign-up" size="sm">
            Create an account
          </Anchor>
          .
        </Text>
      )}
    </Stack>
  )
}
