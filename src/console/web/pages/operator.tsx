/** For operators: all accounts, searched by name or member, and what can be done to each. */
import { Button, Group, Stack, Table, Text, TextInput } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, showing } from '../parts/api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { countText, shortId } from '../parts/format.ts'
import { type Account, AccountActs, type Act } from '../parts/money/account-acts.tsx'
import { Code, Copy, Empty, Failed, Money, PageHead, Panel, State, TableBox } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { useChoose } from '../parts/use-session.ts'
import { useView } from '../parts/use-view.ts'

const NewAccount = () => {
  const [opened, setOpened] = useState(false)
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const create = useMutation({
    mutationFn: () => act('POST /operator/accounts', { name, owner_email: email }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <>
      <Button onClick={() => setOpened(true)}>New account</Button>
      <Dialog opened={opened} onClose={() => setOpened(false)} title="New account">
        {create.data === undefined ? (
          <DialogForm save={create} verb="Create">
            <TextInput
              label="Organisation"
              required
              data-autofocus
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <TextInput
              label="E-mail address of its owner"
              type="email"
              required
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
          </DialogForm>
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

const Row = ({ account, onAct, onActFor }: Acts & { account: Account }) => (
  <Table.Tr>
    <Table.Td className="label">
      {account.name}
      <Text size="xs" c="dimmed">
        <Copy text={account.id} shown={shortId(account.id)} name="id" />
      </Text>
    </Table.Td>
    <Table.Td>
      <span title={account.suspended ?? undefined}>
        <State of={account.suspended === null ? 'active' : 'suspended'} />
      </span>
    </Table.Td>
    <Table.Td className="right">
      <Money usd={account.balance_usd} />
      {account.credit_limit_usd !== null && (
        <Text size="xs" c="dimmed">
          and <Money usd={account.credit_limit_usd} /> credit
        </Text>
      )}
    </Table.Td>
    <Table.Td className="right">
      <Money usd={account.spent_30d_usd} />
    </Table.Td>
    <Table.Td className="right number">{countText(account.keys)}</Table.Td>
    <Table.Td className="right number">{countText(account.members)}</Table.Td>
    <Table.Td>
      <Group gap={4} wrap="nowrap" justify="flex-end">
        <Button size="compact-xs" variant="default" onClick={() => onAct('credit', account)}>
          Give credit
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => onAct('line', account)}>
          Credit line
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => onAct('suspend', account)}>
          {account.suspended === null ? 'Suspend' : 'Resume'}
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => onActFor(account)}>
          Act for
        </Button>
      </Group>
    </Table.Td>
  </Table.Tr>
)

const AccountTable = ({ rows, ...acts }: Acts & { rows: readonly Account[] }) => (
  <TableBox wide>
    <Table verticalSpacing="sm" aria-label="Accounts">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Organisation</Table.Th>
          <Table.Th>State</Table.Th>
          <Table.Th className="right">Balance</Table.Th>
          <Table.Th className="right">Spent, 30 days</Table.Th>
          <Table.Th className="right">Keys</Table.Th>
          <Table.Th className="right">People</Table.Th>
          <Table.Th>
            <span className="hide">Actions</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((account) => (
          <Row key={account.wallet} account={account} {...acts} />
        ))}
      </Table.Tbody>
    </Table>
  </TableBox>
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
  const { data, error } = useQuery({
    ...showing('GET /operator/accounts', { search, after }),
    placeholderData: keepPreviousData,
  })
  const choose = useChoose()
  if (error !== null || data === undefined) return <Unread error={error} />
  if (data.data.length === 0)
    return <Empty title="No account matches">Nothing and nobody is called “{search}”.</Empty>
  return (
    <>
      <Failed error={choose.error} />
      <AccountTable rows={data.data} onAct={onAct} onActFor={({ id }) => choose.mutate(id)} />
      <Group justify="center" mt="md">
        {after !== undefined && (
          <Button variant="default" size="xs" onClick={() => onMore(undefined)}>
            First
          </Button>
        )}
        {data.has_more && (
          <Button variant="default" size="xs" onClick={() => onMore(data.data.at(-1)?.wallet)}>
            More accounts
          </Button>
        )}
      </Group>
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
        <TextInput
          aria-label="Search accounts"
          placeholder="Search by name, id or member"
          maw={360}
          value={query.search ?? ''}
          onChange={(event) => show({ search: event.currentTarget.value, after: undefined })}
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
