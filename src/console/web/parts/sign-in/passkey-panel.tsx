/** The person's passkeys: created here, named, removed. */
import { Box, Group, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { PasskeysShown } from '../../../schema/passkeys.ts'
import { ask, reading } from '../api.ts'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { useTexts } from '../forms/use-texts.ts'
import { Aside, Failed, Note, Panel, RowButton, Told, When } from '../ui.tsx'
import { addPasskey, isGivenUp, noPasskeysHere } from './passkey.ts'

const Listed = ({ data }: { data: PasskeysShown['data'] }) => {
  const remove = useChange((id: string) => ask('DELETE', `/session/passkeys/${id}`))
  return (
    <Stack gap="xs" component="ul" className="rows">
      <Failed error={remove.error} />
      {data.map(({ id, name, created_at, synced }) => (
        <Group key={id} component="li" justify="space-between" wrap="nowrap">
          <Box miw={0}>
            <Text size="sm" truncate>
              {name}
            </Text>
            <Aside>
              since <When at={created_at} />
              {synced ? ' · on all your devices' : ' · on one device'}
            </Aside>
          </Box>
          <RowButton
            aria-label={`Remove ${name}`}
            loading={remove.isPending}
            onClick={() => remove.mutate(id)}
          >
            Remove
          </RowButton>
        </Group>
      ))}
    </Stack>
  )
}

const Add = () => {
  const { texts, edit, field } = useTexts({ name: '' })
  const add = useChange(() => addPasskey(texts.name), { told: () => edit({ name: '' }) })
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
          {...field('name', 'Name of the passkey', 'Such as the device that keeps it')}
          required
          maxLength={100}
        />
        {gaveUp && <Told>No passkey was made. Try again, or use another device.</Told>}
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
        <Note>
          Sign in by finger, face or PIN, without a password or code. Only a public key is kept here.
        </Note>
        <Failed error={error} />
        {data !== undefined && data.data.length > 0 && <Listed data={data.data} />}
        {why === undefined ? <Add /> : <Text size="sm">{why}</Text>}
      </Stack>
    </Panel>
  )
}
