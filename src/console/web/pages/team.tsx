/** The people of the organisation: who they are, what they may do, and inviting more. */
import { Alert, Button, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown, sessionQuery, showing } from '../parts/api.ts'
import { Asked } from '../parts/confirm.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { GroupRule } from '../parts/team/group-rule.tsx'
import { Teams } from '../parts/team/teams.tsx'
import { Code, Failed, PageHead, Panel, When } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { useMay } from '../parts/use-may.ts'

const roleTexts = [
  { value: 'owner', label: 'Owner: everything' },
  { value: 'admin', label: 'Admin: keys, tenants, people' },
  { value: 'billing', label: 'Billing: wallet and reports' },
  { value: 'developer', label: 'Developer: own keys only' },
  { value: 'viewer', label: 'Viewer: sees, changes nothing' },
]

const InviteForm = ({ onDone }: { onDone: (invited: Shown<'POST /team'>) => void }) => {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState('developer')
  const invite = useMutation({
    mutationFn: () => act('POST /team', { email, role }),
    onSuccess: async (invited) => {
      onDone(invited)
      await queries.invalidateQueries()
    },
  })
  return (
    <Form save={invite} verb="Invite">
      <TextInput
        label="E-mail address"
        type="email"
        required
        data-autofocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <NativeSelect
        label="Role"
        data={roleTexts}
        value={role}
        onChange={(event) => setRole(event.currentTarget.value)}
      />
    </Form>
  )
}

const Invited = ({ invited }: { invited: Shown<'POST /team'> }) => (
  <Stack>
    {invited.link === null ? (
      <Text size="sm">{invited.told}</Text>
    ) : (
      <>
        <Alert color="yellow" variant="outline" className="failed" title="Give them this link">
          {invited.told}
        </Alert>
        <Code text={invited.link} name="link of the invitation" />
      </>
    )}
  </Stack>
)

type Member = Shown<'GET /team'>['data'][number]

const RoleOf = ({ member: { id, email, role } }: { member: Member }) => {
  const change = useMutation({
    mutationFn: (to: string) => act('PUT /team/:person', { person: id, role: to }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <>
      <NativeSelect
        aria-label={`Role of ${email}`}
        size="xs"
        data={roleTexts}
        value={role}
        onChange={(event) => change.mutate(event.currentTarget.value)}
      />
      <Failed error={change.error} />
    </>
  )
}

const Removal = ({ member: { id, email } }: { member: Member }) => {
  const remove = useMutation({
    mutationFn: () => act('DELETE /team/:person', { person: id }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Asked verb="Remove" title={`Remove ${email}?`} yes="Remove person" does={remove}>
      They see nothing of the organisation from then on, and the keys that they made for it are disabled.
      Enable those that shall go on. Keys of tenants go on by themselves.
    </Asked>
  )
}

export const Team = () => {
  const { data, error } = useQuery(showing('GET /team'))
  const { data: session } = useQuery(sessionQuery)
  const me = session?.person?.id
  const mayChange = useMay('team')
  const [opened, setOpened] = useState(false)
  const [invited, setInvited] = useState<Shown<'POST /team'>>()
  if (data === undefined) return <Unread error={error} rows={5} />
  const close = () => {
    setOpened(false)
    setInvited(undefined)
  }
  return (
    <>
      <PageHead title="Team" about="Who belongs to the organisation, and what they may do.">
        {data.may_invite && <Button onClick={() => setOpened(true)}>Invite</Button>}
      </PageHead>
      <Stack>
        <Panel>
          <DataTable
            label="People"
            rows={data.data}
            keyOf={({ id }) => id}
            columns={[
              {
                head: 'Person',
                className: 'label',
                cell: ({ id, name, email }) => (
                  <>
                    {name}
                    <Text size="xs" c="dimmed">
                      {email}
                      {id === me ? ' (you)' : ''}
                    </Text>
                  </>
                ),
              },
              { head: 'Role', cell: (member) => (mayChange ? <RoleOf member={member} /> : member.role) },
              { head: 'Since', cell: ({ since }) => <When at={since} /> },
              mayChange && {
                head: '',
                className: 'right',
                cell: (member) => member.id !== me && <Removal member={member} />,
              },
            ]}
          />
        </Panel>
        <Teams people={data.data} mayChange={mayChange} />
        {mayChange && <GroupRule />}
      </Stack>
      <Dialog opened={opened} onClose={close} title="Invite somebody">
        {invited === undefined ? <InviteForm onDone={setInvited} /> : <Invited invited={invited} />}
      </Dialog>
    </>
  )
}
