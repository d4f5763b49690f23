/** A person's own settings: password, second factor, sessions. */
import { Button, Group, PasswordInput, Stack, Table, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { SessionShown, SessionsShown } from '../../schema/session.ts'
import { ask, queries, reading, sessionQuery } from '../parts/api.ts'
import { Passkeys } from '../parts/sign-in/passkey-panel.tsx'
import { Code, Failed, Loading, PageHead, Panel, TableBox, When } from '../parts/ui.tsx'

const Password = () => {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const change = useMutation({
    mutationFn: () => ask('PUT', '/session/new-password', { current, password }),
    onSuccess: () => {
      setCurrent('')
      setPassword('')
      return queries.invalidateQueries()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change.mutate()
  }
  return (
    <Panel title="Password">
      <form onSubmit={submit}>
        <Stack maw={380}>
          <PasswordInput
            label="Present password"
            required
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
          />
          <PasswordInput
            label="New password"
            description="At least 12 characters. All other sessions end."
            required
            minLength={12}
            autoComplete="new-password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <Failed error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending}>
              Change password
            </Button>
            {change.isSuccess && (
              <Text size="sm" role="status">
                Changed.
              </Text>
            )}
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}

type Started = { readonly uri: string; readonly backup_codes: readonly string[] }

const TotpStart = () => {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const start = useMutation({ mutationFn: () => ask<Started>('POST', '/session/totp', { password }) })
  const confirm = useMutation({
    mutationFn: () => ask('PUT', '/session/totp', { code }),
    onSuccess: () => queries.invalidateQueries(),
  })
  if (start.data === undefined)
    return (
      <Stack maw={380}>
        <Text size="sm" c="dimmed">
          A code of an authenticator app, asked for beside the password.
        </Text>
        <PasswordInput
          label="Your password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Failed error={start.error} />
        <Group>
          <Button disabled={password === ''} loading={start.isPending} onClick={() => start.mutate()}>
            Set up a second factor
          </Button>
        </Group>
      </Stack>
    )
  return (
    <Stack>
      <Text size="sm">
        Add this to your authenticator app, and keep the backup codes where you can find them without your
        phone:
      </Text>
      <Code text={new URL(start.data.uri).searchParams.get('secret') ?? ''} name="secret for the app" />
      <Code text={start.data.backup_codes.join('\n')} name="backup codes" />
      <TextInput
        label="The code it shows now"
        maw={200}
        inputMode="numeric"
        autoComplete="one-time-code"
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
      <Failed error={confirm.error} />
      <Group>
        <Button disabled={code.length !== 6} loading={confirm.isPending} onClick={() => confirm.mutate()}>
          Turn on
        </Button>
      </Group>
    </Stack>
  )
}

const TotpEnd = () => {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const end = useMutation({
    mutationFn: () => ask('POST', '/session/totp/off', { password, code }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Stack maw={380}>
      <Text size="sm">Signing in by password needs a code of your authenticator app.</Text>
      <PasswordInput
        label="Your password"
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      <TextInput
        label="A code of the app, or a backup code"
        autoComplete="one-time-code"
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
      <Failed error={end.error} />
      <Group>
        <Button
          variant="default"
          disabled={password === '' || code.length < 6}
          loading={end.isPending}
          onClick={() => end.mutate()}
        >
          Turn off
        </Button>
      </Group>
    </Stack>
  )
}

/** Links the company's provider to the account of who is signed in; operators come in by it only then. */
const Company = ({ name }: { name: string }) => {
  const begin = useMutation({
    mutationFn: () => ask<{ url: string }>('POST', '/session/company'),
    onSuccess: ({ url }) => location.assign(url),
  })
  return (
    <Panel title={`Sign in with ${name}`}>
      <Stack maw={480}>
        <Text size="sm" c="dimmed">
          The first time, your password, passkeys and codes end, and so do all your sessions.
        </Text>
        <Failed error={begin.error} />
        <Group>
          <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate()}>
            Sign in with {name}
          </Button>
        </Group>
      </Stack>
    </Panel>
  )
}

const Sessions = () => {
  const { data, error } = useQuery(reading<SessionsShown>('/session/all'))
  const end = useMutation({
    mutationFn: () => ask('DELETE', '/session/all'),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Panel
      title="Sessions"
      action={
        <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate()}>
          End all others
        </Button>
      }
    >
      <Failed error={error ?? end.error} />
      <TableBox>
        <Table aria-label="Sessions">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Since</Table.Th>
              <Table.Th>From</Table.Th>
              <Table.Th>Browser</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data?.data.map(({ id, current, address, agent, since }) => (
              <Table.Tr key={id}>
                <Table.Td>
                  <When at={since} />
                  {current ? ' (this one)' : ''}
                </Table.Td>
                <Table.Td>{address}</Table.Td>
                <Table.Td maw={420}>
                  <Text size="xs" c="dimmed" lineClamp={1}>
                    {agent}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </TableBox>
    </Panel>
  )
}

type OwnProps = {
  readonly person: NonNullable<SessionShown['person']>
  readonly company: string | null
}

const Own = ({ person, company }: OwnProps) => (
  <Stack>
    {person.has_password ? (
      <Password />
    ) : (
      <Panel title="Password">
        <Text size="sm">
          You have none yet. Ask the operator for a link (turnpike person reset-link) and set one on its page.
        </Text>
      </Panel>
    )}
    {person.has_password && <Panel title="Second factor">{person.totp ? <TotpEnd /> : <TotpStart />}</Panel>}
    <Passkeys />
    {company !== null && <Company name={company} />}
    <Sessions />
  </Stack>
)

export const Settings = () => {
  const { data } = useQuery(sessionQuery)
  if (data?.person == null) return <Loading />
  return (
    <>
      <PageHead title="Settings" about={`Signed in as ${data.person.email}.`} />
      <Own person={data.person} company={data.company} />
    </>
  )
}
