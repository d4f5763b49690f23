/** Teams of the organisation: their budgets and their people, made, changed and ended. */
import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown, useShown } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { DataTable } from '../data-table.tsx'
import { Dialog } from '../dialog.tsx'
import { useChange } from '../forms/use-change.ts'
import { CeilingForm } from '../keys/ceiling-form.tsx'
import { ListPanel } from '../list-panel.tsx'
import { CapBar } from '../money/cap-bar.tsx'
import { Aside, Failed, Money, RowButton } from '../ui.tsx'

type TeamShown = Shown<'GET /teams'>['data'][number]
type Person = Shown<'GET /team'>['data'][number]

const TeamForm = ({ team, onDone }: { team: TeamShown | undefined; onDone: () => void }) => (
  <CeilingForm
    of={team}
    label="Budget in USD"
    description="What all keys and agents of the team may spend together, for good; empty if only its month is bounded"
    most={10_000_000}
    monthly
    save={(typed) =>
      team === undefined ? act('POST /teams', typed) : act('PUT /teams/:team', { team: team.id, ...typed })
    }
    onDone={onDone}
  />
)

const roleTexts = [
  { value: 'member', label: 'Member: own keys' },
  { value: 'admin', label: 'Admin: all keys of the team' },
]

const Members = ({ team, people }: { team: TeamShown; people: readonly Person[] }) => {
  const others = people.filter(({ id }) => !team.people.some((one) => one.id === id))
  const put = useChange((member: { person: string; role: string }) =>
    act('PUT /teams/:team/people/:person', { team: team.id, ...member }),
  )
  const remove = useChange((person: string) =>
    act('DELETE /teams/:team/people/:person', { team: team.id, person }),
  )
  return (
    <Stack>
      {team.people.length === 0 && <Text size="sm">Nobody is in this team yet.</Text>}
      {team.people.map(({ id, email, role }) => (
        <Group key={id} justify="space-between">
          <Text size="sm">{email}</Text>
          <Group gap="xs">
            <NativeSelect
              aria-label={`Role of ${email} in the team`}
              size="xs"
              data={roleTexts}
              value={role}
              onChange={(event) => put.mutate({ person: id, role: event.currentTarget.value })}
            />
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`Remove ${email} from the team`}
              onClick={() => remove.mutate(id)}
            >
              Remove
            </Button>
          </Group>
        </Group>
      ))}
      <Aside>The keys that somebody made in the team are disabled when they leave it.</Aside>
      {others.length > 0 && (
        <NativeSelect
          label="Add somebody"
          data={[
            { value: '', label: 'choose' },
            ...others.map(({ id, email }) => ({ value: id, label: email })),
          ]}
          value=""
          onChange={(event) => {
            const { value: person } = event.currentTarget
            if (person !== '') put.mutate({ person, role: 'member' })
          }}
        />
      )}
      <Failed error={put.error ?? remove.error} />
    </Stack>
  )
}

type Open = { readonly what: 'form' | 'people' | 'end'; readonly team: string | undefined }

const Found = ({
  rows,
  mayChange,
  onOpen,
}: {
  rows: readonly TeamShown[]
  mayChange: boolean
  onOpen: (open: Open) => void
}) => (
  <DataTable
    label="Teams"
    rows={rows}
    keyOf={({ id }) => id}
    columns={[
      { head: 'Name', className: 'label', cell: ({ name }) => name },
      {
        head: 'Spent',
        cell: ({ spent_usd: spent, budget_usd: budget, name }) => (
          <CapBar used={spent} cap={budget} label={`Budget of ${name}`} />
        ),
      },
      {
        head: 'This month',
        cell: ({ spent_month_usd: spent, monthly_cap_usd: cap, name }) =>
          spent !== null && cap !== null && <CapBar used={spent} cap={cap} label={`Month of ${name}`} />,
      },
      { head: 'Left', figure: true, cell: (team) => <Money usd={team.remaining_usd} /> },
      { head: 'People', figure: true, cell: ({ people }) => people.length },
      mayChange && {
        head: '',
        cell: ({ id, name }) => (
          <Group gap="xs" wrap="nowrap" justify="flex-end">
            {(['people', 'form', 'end'] as const).map((what) => (
              <RowButton
                key={what}
                aria-label={`${{ people: 'People', form: 'Change', end: 'End' }[what]}: ${name}`}
                onClick={() => onOpen({ what, team: id })}
              >
                {{ people: 'People', form: 'Change', end: 'End' }[what]}
              </RowButton>
            ))}
          </Group>
        ),
      },
    ]}
  />
)

export const Teams = ({ people, mayChange }: { people: readonly Person[]; mayChange: boolean }) => {
  const list = useShown('GET /teams', {}, 10_000)
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const end = useChange((team: string) => act('DELETE /teams/:team', { team }), { told: close })
  const show = (next: Open) => {
    // What the end of another team met is not of this one.
    end.reset()
    setOpen(next)
  }
  const chosen = list.data?.data.find(({ id }) => id === open?.team)
  return (
    <>
      <ListPanel
        title="Teams"
        make="Create team"
        onMake={mayChange && (() => setOpen({ what: 'form', team: undefined }))}
        list={list}
        none={[
          'No teams',
          'A team is a budget that its people share: their keys and their agents spend under it together.',
        ]}
      >
        {({ data }) => <Found rows={data} mayChange={mayChange} onOpen={show} />}
      </ListPanel>
      <Dialog
        opened={open?.what === 'form'}
        title={chosen === undefined ? 'New team' : `Change ${chosen.name}`}
        onClose={close}
      >
        {open?.what === 'form' && <TeamForm team={chosen} onDone={close} />}
      </Dialog>
      <Dialog opened={open?.what === 'people'} title={`People of ${chosen?.name ?? ''}`} onClose={close}>
        {chosen !== undefined && <Members team={chosen} people={people} />}
      </Dialog>
      <Confirm
        opened={open?.what === 'end'}
        title={`End ${chosen?.name ?? ''}?`}
        verb="End team"
        does={end}
        onYes={() => chosen !== undefined && end.mutate(chosen.id)}
        onClose={close}
      >
        Its keys spend nothing any more. Agents of its people go on with another team of theirs, or without
        one. This cannot be undone.
      </Confirm>
    </>
  )
}
