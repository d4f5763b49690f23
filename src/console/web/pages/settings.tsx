/** A person's own settings: password, second factor, sessions. */
import { Box, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionShown, SessionsShown } from '../../schema/session.ts'
import { ask, queries, reading, sessionQuery } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { Form } from '../parts/form.tsx'
import { ByLink } from '../parts/sign-in/other-ways.tsx'
import { Passkeys } from '../parts/sign-in/passkey-panel.tsx'
import { QrCode } from '../parts/sign-in/qr-code.tsx'
import { Code, Failed, Loading, PageHead, Panel, When } from '../parts/ui.tsx'

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
  return (
    <Panel title="Password">
      <Box maw={380}>
        <Form save={change} verb="Change password" place="page" done="Changed.">
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
        </Form>
      </Box>
    </Panel>
  )
}

const OwnPassword = ({ value, onChange }: { value: string; onChange: (value: string) => void }) => (
  <PasswordInput
    label="Your password"
    required
    autoComplete="current-password"
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
)

const CODE = { required: true, autoComplete: 'one-time-code' } as const

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
      <Box maw={380}>
        <Form save={start} verb="Set up a second factor" place="page">
          <Text size="sm" c="dimmed">
            A code of an authenticator app, asked for beside the password.
          </Text>
          <OwnPassword value={password} onChange={setPassword} />
        </Form>
      </Box>
    )
  return (
    <Form save={confirm} verb="Turn on" place="page">
      <Text size="sm">
        Scan this with your authenticator app, and keep the backup codes where you can find them without your
        phone:
      </Text>
      <QrCode text={start.data.uri} name="QR code for the authenticator app" />
      <Text size="sm">Or type the secret into it:</Text>
      <Code text={new URL(start.data.uri).searchParams.get('secret') ?? ''} name="secret for the app" />
      <Code text={start.data.backup_codes.join('\n')} name="backup codes" />
      <TextInput
        label="The code it shows now"
        maw={200}
        inputMode="numeric"
        pattern="\d{6}"
        title="Six digits"
        {...CODE}
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
    </Form>
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
    <Box maw={380}>
      <Form save={end} verb="Turn off" place="page" variant="default">
        <Text size="sm">Signing in by password needs a code of your authenticator app.</Text>
        <OwnPassword value={password} onChange={setPassword} />
        <TextInput
          label="A code of the app, or a backup code"
          minLength={6}
          {...CODE}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
      </Form>
    </Box>
  )
}

/** Links a company's provider to the account of who is signed in; operators come in by it only then. */
const Company = ({ id, name }: { id: string; name: string }) => {
  const begin = useMutation({
    mutationFn: () => ask<{ url: string }>('POST', `/session/companies/${id}`),
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
      <DataTable
        label="Sessions"
        rows={data?.data ?? []}
        keyOf={({ id }) => id}
        columns={[
          {
            head: 'Since',
            cell: ({ since, current }) => (
              <>
                <When at={since} />
                {current ? ' (this one)' : ''}
              </>
            ),
          },
          { head: 'From', cell: ({ address }) => address },
          {
            head: 'Browser',
            cell: ({ agent }) => (
              <Text size="xs" c="dimmed" lineClamp={1} maw={420}>
                {agent}
              </Text>
            ),
          },
        ]}
      />
    </Panel>
  )
}

type OwnProps = {
  readonly person: NonNullable<SessionShown['person']>
  readonly companies: SessionShown['companies']
  readonly mail: boolean
}

const Own = ({ person, companies, mail }: OwnProps) => (
  <Stack>
    {person.has_password ? (
      <Password />
    ) : (
      <Panel title="Password">
        <Stack align="start">
          <Text size="sm">You have none yet. The page of a link that signs you in sets one.</Text>
          <ByLink email={person.email} mail={mail}>
            Mail me a link
          </ByLink>
        </Stack>
      </Panel>
    )}
    {person.has_password && <Panel title="Second factor">{person.totp ? <TotpEnd /> : <TotpStart />}</Panel>}
    <Passkeys />
    {companies.map((one) => (
      <Company key={one.id} {...one} />
    ))}
    <Sessions />
  </Stack>
)

export const Settings = () => {
  const { data } = useQuery(sessionQuery)
  if (data?.person == null) return <Loading />
  return (
    <>
      <PageHead title="Settings" about={`Signed in as ${data.person.email}.`} />
      <Own person={data.person} companies={data.companies} mail={data.mail} />
    </>
  )
}
