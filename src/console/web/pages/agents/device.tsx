/** Somebody signs an agent in: they compare its code, see where it asks from, and approve or deny it. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { act, queries, type Shown, sessionQuery, showing } from '../../parts/api.ts'
import { Failed, PageHead, Panel, When } from '../../parts/ui.tsx'
import { Unread } from '../../parts/unread.tsx'

const EnterCode = () => {
  const navigate = useNavigate()
  const [code, setCode] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void navigate({ to: '/device', search: { user_code: code } })
  }
  return (
    <form onSubmit={submit}>
      <Stack maw={360}>
        <TextInput
          label="Code"
          description="The eight letters that the agent shows"
          placeholder="BCDF-GHJK"
          required
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <Button type="submit">Continue</Button>
      </Stack>
    </form>
  )
}

const Asked = ({ code, asked }: { code: string; asked: Shown<'GET /logins/asked/:user_code'> }) => {
  const { data: session } = useQuery(sessionQuery)
  const navigate = useNavigate()
  const input = { user_code: code }
  // The request itself is over, and would be found no more.
  const onSuccess = () => queries.invalidateQueries({ queryKey: showing('GET /logins').queryKey })
  const approve = useMutation({
    mutationFn: () => act('POST /logins/asked/:user_code/approve', input),
    onSuccess,
  })
  const deny = useMutation({ mutationFn: () => act('POST /logins/asked/:user_code/deny', input), onSuccess })
  if (approve.isSuccess || deny.isSuccess)
    return (
      <Stack>
        <Text>
          {approve.isSuccess
            ? `${asked.surface} is signed in as you. Go back to it; this page may be closed.`
            : `${asked.surface} was refused. It is told so.`}
        </Text>
        <Group>
          <Button variant="default" onClick={() => navigate({ to: '/agents' })}>
            Your agents
          </Button>
        </Group>
      </Stack>
    )
  return (
    <Stack>
      <Text fz={28} className="number" aria-label="Code to compare">
        {code.toUpperCase()}
      </Text>
      <Text>
        <strong>{asked.surface}</strong> at {asked.address} asked <When at={asked.asked_at} ago /> to be
        signed in as you, for {session?.organisation?.name ?? 'your organisation'}. It will spend within the
        limits of your agents. Approve only if it shows this code; if you did not start this, deny it.
      </Text>
      <Failed error={approve.error ?? deny.error} />
      <Group>
        <Button loading={approve.isPending} onClick={() => approve.mutate()}>
          The code is the same: sign in
        </Button>
        <Button variant="default" loading={deny.isPending} onClick={() => deny.mutate()}>
          Deny
        </Button>
      </Group>
    </Stack>
  )
}

const Look = ({ code }: { code: string }) => {
  // What was approved is gone from the list of requests, but stays on the page.
  const { data, error } = useQuery({
    ...showing('GET /logins/asked/:user_code', { user_code: code }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data === undefined ? <Unread error={error} rows={2} /> : <Asked code={code} asked={data} />
}

export const Device = () => {
  const { user_code: code }: { user_code?: string } = useSearch({ strict: false })
  return (
    <>
      <PageHead
        title="Sign an agent in"
        about="Claude Code and others sign in as you, so that nobody handles a key."
      />
      <Panel>{code === undefined || code === '' ? <EnterCode /> : <Look key={code} code={code} />}</Panel>
    </>
  )
}
