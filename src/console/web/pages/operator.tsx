/** For operators: all accounts, searched by name or member, and what can be done to each. */

import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, usePage } from '../parts/api.ts'
import { DataTable } from '../parts/data-table.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { countText, shortId } from '../parts/format.ts'
import { Search } from '../parts/forms/field.tsx'
import { Form } from '../parts/forms/form.tsx'
import { useChange } from '../parts/forms/use-change.ts'
import { useTexts } from '../parts/forms/use-texts.ts'
import { type Account, AccountActs, type Act } from '../parts/money/account-acts.tsx'
import { PagesOf } from '../parts/pages-of.tsx'
import { State } from '../parts/state.tsx'
import { Aside, Code, Copy, Empty, Failed, Money, PageHead, Panel } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { useChoose } from '../parts/use-session.ts'
import { useView } from '../parts/use-view.ts'

const NewAccount = () => {
  const [opened, setOpened] = useState(false)
  const { texts, edit, field } = useTexts({ name: '', owner_email: '' })
  const create = useChange(() => act('POST /operator/accounts', texts))
  const close = () => {
    setOpened(false)
    if (create.data === undefined) return
    create.reset()
    edit({ name: '', owner_email: '' })
  }
  return (
    <>
      <Button onClick={() => setOpened(true)}>New account</Button>
      <Dialog opened={opened || create.data !== undefined} onClose={close} title="New account">
        {create.data === undefined ? (
          <Form save={create} verb="Create">
            <TextInput {...field('name', 'Organisation')} required data-autofocus />
            <TextInput {...field('owner_email', 'E-mail address of its owner')} type="email" required />
          </Form>
        ) : (
          <Stack>
            <Text size="sm">{create.data.told}</Text>
            {create.data.link !== null && <Code text={create.data.link} name="link of the owner" />}
          </Stack>
        )}
      </Dialog>
    </>
  )
}

type Acts = {
  readonly onAct: (act: Act, account: Account) => void
  readonly onActFor: (account: Account) => void
}

const AccountTable = ({ rows, onAct, onActFor }: Acts & { rows: readonly Account[] }) => (
  <DataTable
    label="Accounts"
    rows={rows}
    keyOf={({ wallet }) => wallet}
    wide
    columns={[
      {
        head: 'Organisation',
        className: 'label',
        cell: ({ name, id }) => (
          <>
            {name}
            <Aside>
              <Copy text={id} shown={shortId(id)} name="id" />
            </Aside>
          </>
        ),
      },
      {
        head: 'State',
        cell: ({ suspended }) => (
          <span title={suspended ?? undefined}>
            <State of={suspended === null ? 'active' : 'suspended'} />
          </span>
        ),
      },
      {
        head: 'Balance',
        figure: true,
        cell: ({ balance_usd: balance, credit_limit_usd: credit }) => (
          <>
            <Money usd={balance} />
            {credit !== null && (
              <Aside>
                and <Money usd={credit} /> credit
              </Aside>
            )}
          </>
        ),
      },
      { head: 'Spent, 30 days', figure: true, cell: (account) => <Money usd={account.spent_30d_usd} /> },
      { head: 'Keys', figure: true, cell: (account) => countText(account.keys) },
      { head: 'People', figure: true, cell: (account) => countText(account.members) },
      {
        head: '',
        cell: (account) => (
          <Group gap={4} wrap="nowrap" justify="flex-end">
            {(
              [
                ['Give credit', () => onAct('credit', account)],
                ['Credit line', () => onAct('line', account)],
                [account.suspended === null ? 'Suspend' : 'Resume', () => onAct('suspend', account)],
                ['Act for', () => onActFor(account)],
              ] as const
            ).map(([name, does]) => (
              <Button key={name} size="compact-xs" variant="default" onClick={does}>
                {name}
              </Button>
            ))}
          </Group>
        ),
      },
    ]}
  />
)

const Found = ({
  search,
  after,
  onAct,
  onMore,
}: {
  search: string
  after: string | undefined
  onAct: Acts['onAct']
  onMore: (after: string | undefined) => void
}) => {
  const { data, error } = usePage('GET /operator/accounts', { search, after })
  const choose = useChoose()
  if (error !== null || data === undefined) return <Unread error={error} />
  if (data.data.length === 0)
    return <Empty title="No account matches">Nothing and nobody is called “{search}”.</Empty>
  return (
    <>
      <Failed error={choose.error} />
      <AccountTable rows={data.data} onAct={onAct} onActFor={({ id }) => choose.mutate(id)} />
      <PagesOf
        from={after}
        on={data.has_more ? data.data.at(-1)?.wallet : undefined}
        go={onMore}
        names={['First', 'More accounts']}
      />
    </>
  )
}

export const Operator = () => {
  const { query, show } = useView('/operator')
  const [chosen, setChosen] = useState<{ act: Act; account: Account }>()
  return (
    <>
      <PageHead title="Accounts" about="Every organisation of this server, with its wallet.">
        <NewAccount />
      </PageHead>
      <Stack>
        <Search
          of="accounts"
          by="name, id or member"
          value={query.search ?? ''}
          onSearch={(search) => show({ search, after: undefined })}
        />
        <Panel>
          <Found
            search={query.search ?? ''}
            after={query.after}
            onAct={(act, account) => setChosen({ act, account })}
            onMore={(after) => show({ after })}
          />
        </Panel>
      </Stack>
      <AccountActs chosen={chosen} onClose={() => setChosen(undefined)} />
    </>
  )
}
