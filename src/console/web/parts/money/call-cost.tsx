/** The cost of a call, as stored in the ledger, and its receipt. */
import { Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { showing, useShown } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { Aside, Code, Money } from '../ui.tsx'
import { Unread } from '../unread.tsx'
import { Claims } from './receipt-check.tsx'

/** The receipt of a call, with what it states. */
export const Receipt = ({ id }: { id: string }) => {
  const { data, error } = useShown('GET /calls/:call/receipt', { call: id })
  if (data === undefined) return <Unread error={error} rows={4} />
  return (
    <>
      <Code text={data.receipt} name="receipt" />
      <Claims claims={data.claims} />
    </>
  )
}

/** Requested again until the call is charged. */
export const CallCost = ({ id }: { id: string }) => {
  const [opened, setOpened] = useState(false)
  const { data } = useQuery({ ...showing('GET /calls/:call', { call: id }), retry: 20, retryDelay: 400 })
  if (data === undefined) return <Aside>settling…</Aside>
  const units = Object.entries(data.tokens).map(([name, count]) => `${count} ${name.replaceAll('_', ' ')}`)
  return (
    <Group gap="xs" mt={4}>
      <Aside>
        <Money usd={data.cost_usd} /> · {[...units, `${data.took_ms} ms`].join(' · ')} · request{' '}
        <span className="mono">{id}</span>
      </Aside>
      <Button size="compact-xs" variant="default" onClick={() => setOpened(true)}>
        Receipt
      </Button>
      <Dialog opened={opened} onClose={() => setOpened(false)} title="Receipt" size="xl">
        {opened && <Receipt id={id} />}
      </Dialog>
    </Group>
  )
}
