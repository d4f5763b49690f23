/** Agents that people signed in, how to sign one in, and what the organisation tells them. */
import { Button, Stack, Table, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown, showing } from '../../parts/api.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Code, Empty, Failed, PageHead, Panel, TableBox, When } from '../../parts/ui.tsx'
import { Unread } from '../../parts/unread.tsx'
import { useMay } from '../../parts/use-may.ts'

type Login = Shown<'GET /logins'>['data'][number]

const Row = ({ login, email }: { login: Login; email: string }) => {
  const [asks, setAsks] = useState(false)
  const end = useMutation({
    mutationFn: () => act('DELETE /logins/:login', { login: login.id }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Table.Tr>
      <Table.Td>
        {login.surface}
        <Text size="xs" c="dimmed">
          {login.address}
        </Text>
      </Table.Td>
      <Table.Td>{email}</Table.Td>
      <Table.Td>
        <When at={login.since} />
      </Table.Td>
      <Table.Td>
        <When at={login.ends_at} />
      </Table.Td>
      <Table.Td>
        <Confirm
          opened={asks}
          title={`Sign ${login.surface} out?`}
          verb="Sign out"
          pending={end.isPending}
          error={end.error}
          onYes={() => end.mutate()}
          onClose={() => setAsks(false)}
        >
          Its next request is refused, and it asks its person to sign in again.
        </Confirm>
        <Button size="compact-xs" variant="default" onClick={() => setAsks(true)}>
          Sign out
        </Button>
      </Table.Td>
    </Table.Tr>
  )
}

const Logins = () => {
  const { data, error } = useQuery(showing('GET /logins'))
  const { data: team } = useQuery(showing('GET /team'))
  if (data === undefined) return <Unread error={error} rows={3} />
  if (data.data.length === 0) return <Empty title="No agent is signed in">Sign one in as below.</Empty>
  const emailOf = (id: string) => team?.data.find((member) => member.id === id)?.email ?? 'somebody who left'
  return (
    <TableBox>
      <Table verticalSpacing="sm" aria-label="Signed-in agents">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Agent</Table.Th>
            <Table.Th>Person</Table.Th>
            <Table.Th>Since</Table.Th>
            <Table.Th>Until</Table.Th>
            <Table.Th>
              <span className="hide">Actions</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {data.data.map((login) => (
            <Row key={login.id} login={login} email={emailOf(login.person)} />
          ))}
        </Table.Tbody>
      </Table>
    </TableBox>
  )
}

const SettingsForm = ({ settings }: Shown<'GET /agent-settings'>) => {
  const [text, setText] = useState(settings === null ? '' : JSON.stringify(settings, null, 2))
  const save = useMutation({
    mutationFn: async () =>
      act('PUT /agent-settings', { settings: text.trim() === '' ? null : JSON.parse(text) }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Stack>
      <Textarea
        label="Settings of agents"
        description="What managed-settings.json of Claude Code would hold. Agents take a change within an hour; empty for none."
        autosize
        minRows={4}
        maxRows={20}
        placeholder='{"permissions": {"deny": ["WebFetch"]}}'
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Failed error={save.error} />
      <div>
        <Button loading={save.isPending} onClick={() => save.mutate()}>
          Save
        </Button>
      </div>
    </Stack>
  )
}

const Settings = () => {
  const { data, error } = useQuery(showing('GET /agent-settings'))
  return data === undefined ? <Unread error={error} rows={3} /> : <SettingsForm settings={data.settings} />
}

export const Agents = () => {
  const mayTell = useMay('team')
  return (
    <>
      <PageHead
        title="Agents"
        about="Agents that people signed in. All agents of a person share one key, whose limits an admin sets."
      />
      <Stack>
        <Panel title="Signed in">
          <Logins />
        </Panel>
        <Panel title="Sign one in">
          <Stack>
            <Text size="sm">
              In Claude Code, run /login, choose your organisation’s gateway, and give this address:
            </Text>
            <Code text={location.origin} name="address of the gateway" />
            <Text size="sm">
              For agents that take a token from a command (apiKeyHelper of Claude Code, a helper of Codex),
              this one prints it and keeps it fresh:
            </Text>
            <Code text={`turnpike login ${location.origin}`} name="command" />
          </Stack>
        </Panel>
        {mayTell && (
          <Panel title="What agents are told">
            <Settings />
          </Panel>
        )}
      </Stack>
    </>
  )
}
