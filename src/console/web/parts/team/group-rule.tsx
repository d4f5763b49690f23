/** What the groups of the company's directory give: a role and a team for each, set row by row. */
import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown, useShown } from '../api.ts'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { Aside, Empty, Failed, Panel, RowButton, SmallButton } from '../ui.tsx'
import { Unread } from '../unread.tsx'

type Rule = Shown<'GET /group-rule'>
type Row = Rule['groups'][number]
type Teams = Shown<'GET /teams'>['data']

const given = ['admin', 'billing', 'developer', 'viewer']
const NONE = 'none'

const useSave = (onDone?: () => void) =>
  useChange((rule: Rule) => act('PUT /group-rule', rule), { after: onDone })

const RowForm = ({ rule, teams, onDone }: { rule: Rule; teams: Teams; onDone: () => void }) => {
  const [row, setRow] = useState<Row>({ group: '', role: null, team: null, team_role: null })
  const save = useSave(onDone)
  const group = row.group.trim()
  const gives = row.role !== null || row.team !== null
  return (
    <Form
      save={{
        ...save,
        mutate: (_nothing, then) =>
          save.mutate(
            { ...rule, groups: [...rule.groups.filter((one) => one.group !== group), { ...row, group }] },
            then,
          ),
      }}
      verb="Save"
      ready={group !== '' && gives}
      hint="Name a group, and give it a role, a team, or both."
    >
      <TextInput
        label="Group"
        description="Its name in the directory, or in the token of the company's sign-in"
        value={row.group}
        onChange={(event) => setRow({ ...row, group: event.currentTarget.value })}
      />
      <NativeSelect
        label="Role"
        data={[{ value: NONE, label: 'none' }, ...given]}
        value={row.role ?? NONE}
        onChange={({ currentTarget: { value } }) =>
          setRow({ ...row, role: value === NONE ? null : (value as Row['role']) })
        }
      />
      <NativeSelect
        label="Team"
        data={[{ value: NONE, label: 'none' }, ...teams.map(({ id, name }) => ({ value: id, label: name }))]}
        value={row.team ?? NONE}
        onChange={({ currentTarget: { value } }) =>
          setRow({ ...row, team: value === NONE ? null : value, team_role: value === NONE ? null : 'member' })
        }
      />
      {row.team !== null && (
        <NativeSelect
          label="Role in the team"
          data={['member', 'admin']}
          value={row.team_role ?? 'member'}
          onChange={({ currentTarget: { value } }) =>
            setRow({ ...row, team_role: value as Row['team_role'] })
          }
        />
      )}
    </Form>
  )
}

const Rows = ({ rule, teams }: { rule: Rule; teams: Teams }) => {
  const save = useSave()
  const teamOf = ({ team, team_role: role }: Row): string =>
    team === null ? '–' : `${teams.find(({ id }) => id === team)?.name ?? team} (${role ?? 'member'})`
  const without = (group: string) => ({ ...rule, groups: rule.groups.filter((row) => row.group !== group) })
  return (
    <Stack>
      <Failed error={save.error} />
      {rule.groups.length > 0 && (
        <DataTable
          label="Groups of the directory"
          rows={rule.groups}
          keyOf={({ group }) => group}
          columns={[
            { head: 'Group', className: 'label', cell: ({ group }) => group },
            { head: 'Role', cell: ({ role }) => role ?? '–' },
            { head: 'Team', className: 'label', cell: teamOf },
            {
              head: '',
              cell: ({ group }) => (
                <RowButton
                  aria-label={`Remove the group ${group}`}
                  onClick={() => save.mutate(without(group))}
                >
                  Remove
                </RowButton>
              ),
            },
          ]}
        />
      )}
      <NativeSelect
        maw={320}
        label="Everybody else"
        description="The role of people in no group above that has one"
        data={[{ value: NONE, label: 'is kept out' }, ...given]}
        value={rule.default_role ?? NONE}
        onChange={({ currentTarget: { value } }) =>
          save.mutate({ ...rule, default_role: value === NONE ? null : (value as Rule['default_role']) })
        }
      />
    </Stack>
  )
}

export const GroupRule = () => {
  const { data: rule, error } = useShown('GET /group-rule')
  const { data: teams } = useShown('GET /teams')
  const [opened, setOpened] = useState(false)
  if (rule === undefined || teams === undefined) return <Unread error={error} rows={2} />
  return (
    <Panel
      title="Groups of the directory"
      action={<SmallButton onClick={() => setOpened(true)}>Add group</SmallButton>}
    >
      <Stack>
        {rule.groups.length === 0 && (
          <Empty title="No groups">
            Where the company’s directory (SCIM) or sign-in tells the groups of people, they give roles and
            teams here.
          </Empty>
        )}
        <Rows rule={rule} teams={teams.data} />
        <Aside>It holds for everybody from their next change in the directory, or sign-in, on.</Aside>
      </Stack>
      <Dialog opened={opened} onClose={() => setOpened(false)} title="Group of the directory">
        {opened && <RowForm rule={rule} teams={teams.data} onDone={() => setOpened(false)} />}
      </Dialog>
    </Panel>
  )
}
