/** All calls of the organisation, live. */
import { Switch } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { CallTable } from '../parts/money/call-table.tsx'
import { PageHead, Panel } from '../parts/ui.tsx'

export const Calls = () => {
  const { key }: { key?: string } = useSearch({ strict: false })
  const [live, setLive] = useState(true)
  return (
    <>
      <PageHead
        title="Calls"
        about="One row for each charged call: what it used, cost and took. What was asked and answered is never kept."
      >
        <Switch label="Live" checked={live} onChange={(event) => setLive(event.currentTarget.checked)} />
      </PageHead>
      <Panel>
        <CallTable keyId={key} live={live} />
      </Panel>
    </>
  )
}
