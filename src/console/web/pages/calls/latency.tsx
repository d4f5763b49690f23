/** How fast calls were answered, and how many failed: over the time and by the group that the page's address says. */
import { Anchor, Group, Stack } from '@mantine/core'
import { usePage } from '../../parts/api.ts'
import { Choice, Field, known } from '../../parts/forms/field.tsx'
import { LatencyReport } from '../../parts/latency.tsx'
import { PageHead } from '../../parts/ui.tsx'
import { Unread } from '../../parts/unread.tsx'
import { type Query, useView } from '../../parts/use-view.ts'

const spans = {
  '1': 'The last hour',
  '24': 'The last day',
  '168': 'The last week',
  '720': 'The last 30 days',
}
const bys = { model: 'Model', vendor: 'Vendor', key: 'Key' } as const
const HOUR = 3_600_000
const LIVE_MS = 30_000

type Props = { readonly query: Query; readonly show: (change: Query) => void }

const Filters = ({ query, show }: Props) => (
  <Group align="flex-end" gap="sm">
    <Choice
      label="Time"
      names={spans}
      value={known(spans, query.hours, '24')}
      onChange={(hours) => show({ hours })}
    />
    <Choice
      label="Group by"
      names={bys}
      value={known(bys, query.by, 'model')}
      onChange={(by) => show({ by })}
    />
    {(['model', 'vendor', 'key'] as const).map((name) => (
      <Field
        key={name}
        label={bys[name]}
        placeholder="all"
        width={150}
        value={query[name]}
        onChange={(value) => show({ [name]: value })}
      />
    ))}
  </Group>
)

const Report = ({ query, show }: Props) => {
  const [hours, by] = [known(spans, query.hours, '24'), known(bys, query.by, 'model')]
  const { model, vendor, key } = query
  // Up to the end of this hour, or these minutes, so that the parts begin at whole ones and the same view is asked for once.
  const step = hours === '1' ? HOUR / 12 : HOUR
  const from = new Date(Math.ceil(Date.now() / step) * step - Number(hours) * HOUR).toISOString()
  const { data, error } = usePage('GET /latency', { by, from, model, vendor, key }, LIVE_MS)
  if (error !== null || data === undefined) return <Unread error={error} />
  const name = ({ id, label }: (typeof data.rows)[number]) =>
    id === '' ? (
      'no model'
    ) : (
      <Anchor
        component="button"
        type="button"
        size="sm"
        ta="left"
        title="Show only this"
        onClick={() => show({ [data.by]: id, by: data.by === 'key' ? 'model' : 'key' })}
      >
        {label === '' ? id : label}
      </Anchor>
    )
  return <LatencyReport data={data} nameOf={name} />
}

export const LatencyPage = () => {
  const { query, show } = useView('/latency')
  return (
    <>
      <PageHead
        title="Latency"
        about="How fast calls were answered, and how many were refused or failed, from the newest calls of each part of the time."
      />
      <Stack>
        <Filters query={query} show={show} />
        <Report query={query} show={show} />
      </Stack>
    </>
  )
}
