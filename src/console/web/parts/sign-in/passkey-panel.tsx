/** The person's passkeys: created here, named, removed. */
import { Box, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { PasskeysShown } from '../../../schema/passkeys.ts'
import { ask, queries, reading } from '../api.ts'
import { Form } from '../form.tsx'
import { Failed, Panel, When } from '../ui.tsx'
import { addPasskey, isGivenUp, noPasskeysHere } from './passkey.ts'

const Listed = ({ data }: { data: PasskeysShown['data'] }) => {
  const remove = useMutation({
    mutationFn: (id: string) => ask('DELETE', `/session/passkeys/${id}`),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Stack gap="xs" component="ul" className="rows">
      <Failed error={remove.error} />
      {data.map(({ id, name, created_at, synced }) => (
        <Group key={id} component="li" justify="space-between" wrap="nowrap">
          <Box miw={0}>
            <Text size="sm" truncate>
              {name}
            </Text>
            <Text size="xs" c="dimmed">
              since <When at={created_at} />
              {synced ? ' · on all your devices' : ' · on one device'}
            </Text>
          </Box>
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Remove ${name}`}
            loading={remove.isPending}
            onClick={() => remove.mutate(id)}
          >
            Remove
          </Button>
        </Group>
      ))}
    </Stack>
  )
}

const Add = () => {
  const [name, setName] = useState('')
  const add = useMutation({
    mutationFn: () => addPasskey(name),
    onSuccess: () => {
      setName('')
      return queries.invalidateQueries()
    },
  })
  const gaveUp = isGivenUp(add.error)
  return (
    <Box maw={380}>
      <Form
        save={{ ...add, error: gaveUp ? null : add.error }}
        verb="Add a passkey"
        place="page"
        variant="default"
      >
        <TextInput
          label="Name of the passkey"
          description="Such as the device that keeps it"
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {gaveUp && (
          <Text size="sm" role="status">
            No passkey was made. Try again, or use another device.
          </Text>
        )}
      </Form>
    </Box>
  )
}

export const Passkeys = () => {
  const why = noPasskeysHere()
  const { data, error } = useQuery(reading<PasskeysShown>('/session/passkeys'))
  return (
    <Panel title="Passkeys">
      <Stack>
        <Text size="sm" c="dimmed">
          Sign in by finger, face or PIN, without a password or code. Only a public key is kept here.
        </Text>
        <Failed error={error} />
        {data !== undefined && data.data.length > 0 && <Listed data={data.data} />}
        {why === undefined ? <Add /> : <Text size="sm">{why}</Text>}
      </Stack>
    </Panel>
  )
}
