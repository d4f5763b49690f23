/** What is done to several tenants at once: suspended, resumed, given limits. One after the other, and told how far it came. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { Dialog } from '../dialog.tsx'
import { AMOUNT_HINT, counted, typedUsd } from '../format.ts'
import { Form } from '../forms/form.tsx'
import { useTexts } from '../forms/use-texts.ts'
import { Failed, SmallButton, Told } from '../ui.tsx'

type Chosen = { readonly id: string; readonly tenant: string }

/** An empty field changes nothing; `none` removes the limit. Undefined if it cannot be read. */
const capOf = (text: string): object | undefined => {
  if (text.trim() === 'none') return { monthly_cap_usd: null }
  const cap = typedUsd(text)
  return cap === null ? undefined : cap === undefined ? {} : { monthly_cap_usd: cap }
}
const rateOf = (text: string): object | undefined => {
  const plain = text.trim()
  if (plain === 'none') return { rpm_limit: null }
  return plain === '' ? {} : /^[1-9]\d{0,8}$/.test(plain) ? { rpm_limit: Number(plain) } : undefined
}

const Limits = ({ rows, onDone }: { rows: readonly Chosen[]; onDone: () => void }) => {
  const { texts, field } = useTexts({ cap: '', rate: '' })
  const [monthly, perMinute] = [capOf(texts.cap), rateOf(texts.rate)]
  const body = { ...monthly, ...perMinute }
  const save = useMutation({
    mutationFn: async () => {
      for (const { id } of rows) await act('PUT /keys/:key', { key: id, ...body })
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries(),
  })
  const read = monthly !== undefined && perMinute !== undefined
  const hint = read ? 'Give at least one limit.' : 'First correct what is marked above.'
  const ready = read && Object.keys(body).length > 0
  return (
    <Form save={save} verb={`Set for ${rows.length}`} ready={ready} hint={hint}>
      <Text size="sm">An empty field changes nothing; “none” removes the limit.</Text>
      <TextInput
        {...field('cap', 'Monthly cap in USD')}
        error={monthly === undefined ? AMOUNT_HINT : undefined}
      />
      <TextInput
        {...field('rate', 'Calls per minute')}
        error={perMinute === undefined ? 'A whole number such as 60' : undefined}
      />
    </Form>
  )
}

export const TenantActs = ({ rows, onDone }: { rows: readonly Chosen[]; onDone: () => void }) => {
  const [asks, setAsks] = useState<'suspend' | 'limits'>()
  const tenants = [...new Set(rows.map(({ tenant }) => tenant))]
  // Of those that were chosen then: others may be by now.
  const [done, setDone] = useState({ count: 0, of: 0 })
  const suspend = useMutation({
    mutationFn: async (suspended: boolean) => {
      setDone({ count: 0, of: tenants.length })
      for (const [at, tenant] of tenants.entries()) {
        await act('PUT /tenants/:tenant', { tenant, suspended })
        setDone({ count: at + 1, of: tenants.length })
      }
    },
    onSuccess: () => setAsks(undefined),
    onSettled: () => queries.invalidateQueries(),
  })
  return (
    <Stack gap="xs" mb="sm">
      <Group gap="xs">
        <Text size="sm">{tenants.length} chosen</Text>
        <SmallButton onClick={() => setAsks('limits')}>Set limits</SmallButton>
        <SmallButton className="danger" onClick={() => setAsks('suspend')}>
          Suspend all
        </SmallButton>
        <SmallButton loading={suspend.isPending} onClick={() => suspend.mutate(false)}>
          Resume all
        </SmallButton>
        <Button size="xs" variant="subtle" onClick={onDone}>
          Choose none
        </Button>
      </Group>
      <Told>
        {suspend.isIdle
          ? ''
          : `${done.count} of ${done.of} ${suspend.variables === true ? 'suspended' : 'resumed'} on every process.`}
      </Told>
      {asks === undefined && <Failed error={suspend.error} />}
      <Confirm
        opened={asks === 'suspend'}
        title={`Suspend ${counted(tenants.length, 'tenant')}?`}
        verb="Suspend tenants"
        does={suspend}
        onYes={() => suspend.mutate(true)}
        onClose={() => setAsks(undefined)}
      >
        Their calls are refused from then on. Answers that are under way come to their end. You can resume
        them at any time.
      </Confirm>
      <Dialog
        opened={asks === 'limits'}
        onClose={() => setAsks(undefined)}
        title="Limits of the chosen tenants"
      >
        <Limits rows={rows} onDone={() => setAsks(undefined)} />
      </Dialog>
    </Stack>
  )
}
