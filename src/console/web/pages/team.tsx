/** The people of the organisation: who they are, what they may do, and inviting more. */
import { Alert, Button, NativeSelect, Stack, Table, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown, sessionQuery, showing } from '../parts/api.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { Teams } from '../parts/team/teams.tsx'
import { Code, Failed, PageHead, Panel, TableBox, When } from '../parts/ui.tsx'
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

const Member = ({
  member,
  mayChange,
  me,
}: {
  member: Shown<'GET /team'>['data'][number]
  mayChange: boolean
  me: string | undefined
}) => {
  const change = useMutation({
    mutationFn: (role: string) => act('PUT /team/:person', { person: member.id, role }),
    onSuccess: () => queries.invalidateQueries(),
  })
  const [asks, setAsks] = useState(false)
  const remove = useMutation({
    mutationFn: () => act('DELETE /team/:person', { person: member.id }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Table.Tr>
      <Table.Td>
        {member.name}
        <Text size="xs" c="dimmed">
          {member.email}
          {member.id === me ? ' (you)' : ''}
        </Text>
      </Table.Td>
      <Table.Td>
        {mayChange ? (
          <NativeSelect
            aria-label={`Role of ${member.email}`}
            size="xs"
            data={roleTexts}
            value={member.role}
            onChange={(event) => change.mutate(event.currentTarget.value)}
          />
        ) : (
          member.role
        )}
        <Failed error={change.error} />
      </Table.Td>
      <Table.Td>
        <When at={member.since} />
      </Table.Td>
      <Table.Td>
        <Confirm
          opened={asks}
          title={`Remove ${member.email}?`}
          verb="Remove person"
          pending={remove.isPending}
          error={remove.error}
          onYes={() => remove.mutate()}
          onClose={() => setAsks(false)}
        >
          They see nothing of the organisation from then on, and the keys that they made for it are disabled.
          Enable those that shall go on. Keys of tenants go on by themselves.
        </Confirm>
        {mayChange && member.id !== me && (
          <Button size="compact-xs" variant="default" onClick={() => setAsks(true)}>
            Remove
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

export const Team = () => {
  const { data, error } = useQuery(showing('GET /team'))
  const { data: session } = useQuery(sessionQuery)
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
      <Panel>
        <TableBox>
          <Table verticalSpacing="sm" aria-label="People">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Person</Table.Th>
                <Table.Th>Role</Table.Th>
                <Table.Th>Since</Table.Th>
                <Table.Th>
                  <span className="hide">Actions</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.data.map((member) => (
                <Member key={member.id} member={member} mayChange={mayChange} me={session?.person?.id} />
              ))}
            </Table.Tbody>
          </Table>
        </TableBox>
      </Panel>
      <Teams people={data.data} mayChange={mayChange} />
      <Dialog opened={opened} onClose={close} title="Invite somebody">
        {invited === undefined ? <InviteForm onDone={setInvited} /> : <Invited invited={invited} />}
      </Dialog>
    </>
  )
}
