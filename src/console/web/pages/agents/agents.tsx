/** Agents that people signed in, how to sign one in, and what the organisation tells them. */
import { Stack, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown, useShown } from '../../parts/api.ts'
import { Asked } from '../../parts/confirm.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Form } from '../../parts/forms/form.tsx'
import { useChange } from '../../parts/forms/use-change.ts'
import { Aside, Code, Empty, PageHead, Panel, When } from '../../parts/ui.tsx'
import { Unread } from '../../parts/unread.tsx'
import { useMay } from '../../parts/use-may.ts'

type Login = Shown<'GET /logins'>['data'][number]

const SignOut = ({ login: { id, surface } }: { login: Login }) => (
  <Asked
    verb="Sign out"
    title={`Sign ${surface} out?`}
    yes="Sign out"
    send={() => act('DELETE /logins/:login', { login: id })}
  >
    Its next request is refused, and it asks its person to sign in again.
  </Asked>
)

const Logins = () => {
  const { data, error } = useShown('GET /logins')
  const { data: team } = useShown('GET /team')
  if (data === undefined) return <Unread error={error} rows={3} />
  if (data.data.length === 0) return <Empty title="No agent is signed in">Sign one in as below.</Empty>
  const emailOf = (id: string) => team?.data.find((member) => member.id === id)?.email ?? 'somebody who left'
  return (
    <DataTable
      label="Signed-in agents"
      rows={data.data}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Agent',
          cell: ({ surface, address }) => (
            <>
              {surface}
              <Aside>{address}</Aside>
            </>
          ),
        },
        { head: 'Person', cell: ({ person }) => emailOf(person) },
        { head: 'Since', cell: ({ since }) => <When at={since} /> },
        { head: 'Until', cell: ({ ends_at: until }) => <When at={until} /> },
        { head: '', className: 'right', cell: (login) => <SignOut login={login} /> },
      ]}
    />
  )
}

/** Why the text is no settings; undefined if it is. */
const wrongWith = (text: string): string | undefined => {
  if (text.trim() === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? undefined
      : 'This must be a JSON object, in braces.'
  } catch (error) {
    return `This is not valid JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.`
  }
}

const SettingsForm = ({ settings }: Shown<'GET /agent-settings'>) => {
  const [text, setText] = useState(settings === null ? '' : JSON.stringify(settings, null, 2))
  const save = useChange(async () =>
    act('PUT /agent-settings', { settings: text.trim() === '' ? null : JSON.parse(text) }),
  )
  const wrong = wrongWith(text)
  return (
    <Form save={save} verb="Save" place="page" ready={wrong === undefined} done="Saved.">
      <Textarea
        label="Settings of agents"
        description="What managed-settings.json of Claude Code would hold. Agents take a change within an hour; empty for none."
        autosize
        minRows={4}
        maxRows={20}
        placeholder='{"permissions": {"deny": ["WebFetch"]}}'
        value={text}
        error={wrong}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </Form>
  )
}

const Settings = () => {
  const { data, error } = useShown('GET /agent-settings')
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
