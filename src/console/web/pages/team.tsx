/** The people of the organisation: who they are, what they may do, and inviting more. */
import { Alert, Button, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, type Shown, sessionQuery, useShown } from '../parts/api.ts'
import { Asked } from '../parts/confirm.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/forms/form.tsx'
import { useChange } from '../parts/forms/use-change.ts'
import { useTexts } from '../parts/forms/use-texts.ts'
import { GroupRule } from '../parts/team/group-rule.tsx'
import { Teams } from '../parts/team/teams.tsx'
import { Aside, Code, Failed, PageHead, Panel, When } from '../parts/ui.tsx'
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
  const { texts, field } = useTexts({ email: '', role: 'developer' })
  const invite = useChange(() => act('POST /team', texts), { told: onDone })
  return (
    <Form save={invite} verb="Invite">
      <TextInput {...field('email', 'E-mail address')} type="email" required data-autofocus />
      <NativeSelect {...field('role', 'Role')} data={roleTexts} />
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
  const change = useChange((to: string) => act('PUT /team/:person', { person: id, role: to }))
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

const Removal = ({ member: { id, email } }: { member: Member }) => (
  <Asked
    verb="Remove"
    title={`Remove ${email}?`}
    yes="Remove person"
    send={() => act('DELETE /team/:person', { person: id })}
  >
    They see nothing of the organisation from then on, and the keys that they made for it are disabled. Enable
    those that shall go on. Keys of tenants go on by themselves.
  </Asked>
)

export const Team = () => {
  const { data, error } = useShown('GET /team')
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
                    <Aside>
                      {email}
                      {id === me ? ' (you)' : ''}
                    </Aside>
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
      <Dialog opened={opened || invited !== undefined} onClose={close} title="Invite somebody">
        {invited === undefined ? <InviteForm onDone={setInvited} /> : <Invited invited={invited} />}
      </Dialog>
    </>
  )
}
