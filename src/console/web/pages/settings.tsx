/** A person's own settings: password, second factor, sessions. */
import { Box, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { SessionShown, SessionsShown } from '../../schema/session.ts'
import { ask, reading, sessionQuery } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { Form } from '../parts/forms/form.tsx'
import { useChange } from '../parts/forms/use-change.ts'
import { useTexts } from '../parts/forms/use-texts.ts'
import { ByLink } from '../parts/sign-in/other-ways.tsx'
import { Passkeys } from '../parts/sign-in/passkey-panel.tsx'
import { QrCode } from '../parts/sign-in/qr-code.tsx'
import { Aside, Code, Failed, Loading, Note, PageHead, Panel, SmallButton, When } from '../parts/ui.tsx'

const Password = () => {
  const { texts, edit, field } = useTexts({ current: '', password: '' })
  const change = useChange(() => ask('PUT', '/session/new-password', texts), {
    told: () => edit({ current: '', password: '' }),
  })
  return (
    <Panel title="Password">
      <Box maw={380}>
        <Form save={change} verb="Change password" place="page" done="Changed.">
          <PasswordInput {...field('current', 'Present password')} required autoComplete="current-password" />
          <PasswordInput
            {...field('password', 'New password', 'At least 12 characters. All other sessions end.')}
            required
            minLength={12}
            autoComplete="new-password"
          />
        </Form>
      </Box>
    </Panel>
  )
}

const OWN = { required: true, autoComplete: 'current-password' } as const
const CODE = { required: true, autoComplete: 'one-time-code' } as const

type Started = { readonly uri: string; readonly backup_codes: readonly string[] }

const TotpStart = () => {
  const { texts, field } = useTexts({ password: '', code: '' })
  const { password, code } = texts
  const start = useMutation({ mutationFn: () => ask<Started>('POST', '/session/totp', { password }) })
  const confirm = useChange(() => ask('PUT', '/session/totp', { code }))
  if (start.data === undefined)
    return (
      <Box maw={380}>
        <Form save={start} verb="Set up a second factor" place="page">
          <Note>A code of an authenticator app, asked for beside the password.</Note>
          <PasswordInput {...field('password', 'Your password')} {...OWN} />
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
        {...field('code', 'The code it shows now')}
        maw={200}
        inputMode="numeric"
        pattern="\d{6}"
        title="Six digits"
        {...CODE}
      />
    </Form>
  )
}

const TotpEnd = () => {
  const { texts, field } = useTexts({ password: '', code: '' })
  const end = useChange(() => ask('POST', '/session/totp/off', texts))
  return (
    <Box maw={380}>
      <Form save={end} verb="Turn off" place="page" variant="default">
        <Text size="sm">Signing in by password needs a code of your authenticator app.</Text>
        <PasswordInput {...field('password', 'Your password')} {...OWN} />
        <TextInput {...field('code', 'A code of the app, or a backup code')} minLength={6} {...CODE} />
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
        <Note>The first time, your password, passkeys and codes end, and so do all your sessions.</Note>
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
  const end = useChange(() => ask('DELETE', '/session/all'))
  return (
    <Panel
      title="Sessions"
      action={
        <SmallButton loading={end.isPending} onClick={() => end.mutate()}>
          End all others
        </SmallButton>
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
              <Aside lineClamp={1} maw={420}>
                {agent}
              </Aside>
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
