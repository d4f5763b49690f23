/** Alerts: what the organisation, or for operators the house, is told of, where, and what was told. */
import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { alertKinds, channelForms } from '../../../../tenancy/alert-kinds.ts'
import { type Shown, sessionQuery } from '../../parts/api.ts'
import { Asked } from '../../parts/confirm.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { counted, shortId } from '../../parts/format.ts'
import { useChange } from '../../parts/forms/use-change.ts'
import { State } from '../../parts/state.tsx'
import { Aside, Copy, Empty, Failed, PageHead, Panel, When } from '../../parts/ui.tsx'
import { Unread } from '../../parts/unread.tsx'
import { useMay } from '../../parts/use-may.ts'
import { AlertForm } from './alert-form.tsx'
import { NewChannel } from './new-channel.tsx'
import { type Of, showingOf, toAct } from './whose.ts'

type Alert = Shown<'GET /alerts'>['data'][number]
type Channel = Shown<'GET /alert-channels'>['data'][number]

const Remove = ({ what, send }: { what: string; send: () => Promise<unknown> }) => (
  <Asked
    verb="Delete"
    name={`Delete ${what}`}
    title={`Delete ${what}?`}
    yes="Delete"
    size="compact-xs"
    send={send}
  >
    Nothing more is told by it.
  </Asked>
)

type Changes = { readonly of: Of; readonly alert: Alert; readonly channels: readonly Channel[] }

const Change = ({ of, alert, channels }: Changes) => {
  const [opened, setOpened] = useState(false)
  return (
    <>
      <AlertForm
        of={of}
        alert={alert}
        channels={[...channels]}
        opened={opened}
        onClose={() => setOpened(false)}
      />
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Change the alert ${alert.name}`}
        onClick={() => setOpened(true)}
      >
        Change
      </Button>
    </>
  )
}

const stepsOf = ({ steps, forecast, kind, minutes }: Alert): string =>
  [
    `${steps.join(', ')} %`,
    ...(forecast ? ['forecast'] : []),
    ...(alertKinds[kind].share === true ? [`in ${counted(minutes ?? 60, 'minute')}`] : []),
  ].join(', ')

const toldOf = (alert: Alert, channels: readonly Channel[]): string => {
  const names = channels.filter(({ id }) => alert.channels.includes(id)).map(({ name }) => name)
  return names.length === 0 ? 'nobody: choose a channel' : names.join(', ')
}

const stepNames: Readonly<Record<number, string>> = { 0: 'forecast', [-1]: 'top-ups paused' }

const reachedOf = ({ open }: Alert): string =>
  open.length === 0 ? '–' : open.map(({ step }) => stepNames[step] ?? `${step} %`).join(', ')

const Rules = ({ of, channels, mayChange }: { of: Of; channels: readonly Channel[]; mayChange: boolean }) => {
  const { data, error } = useQuery(showingOf(of, 'GET /alerts'))
  if (data === undefined) return <Unread error={error} rows={3} />
  if (data.data.length === 0)
    return <Empty title="No alert yet">Be told before money runs out, or when calls fail.</Empty>
  return (
    <DataTable
      label="Alerts"
      rows={data.data}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Alert',
          className: 'label',
          cell: (alert) => (
            <>
              <Text size="sm">{alert.name}</Text>
              <Aside>
                {alertKinds[alert.kind].label}
                {alert.subject === null ? '' : `: ${shortId(alert.subject)}`}
              </Aside>
            </>
          ),
        },
        { head: 'Of', figure: true, cell: ({ amount_usd: usd }) => (usd === null ? '–' : `$${usd}`) },
        { head: 'At', cell: stepsOf },
        { head: 'Reached', cell: reachedOf },
        { head: 'Told to', className: 'label', cell: (alert) => toldOf(alert, channels) },
        mayChange && {
          head: '',
          cell: (alert) =>
            alert.subject !== alert.id && (
              <Group gap="xs" wrap="nowrap">
                <Change of={of} alert={alert} channels={channels} />
                <Remove
                  what={`the alert ${alert.name}`}
                  send={() => toAct(of, 'DELETE /alerts/:alert', { alert: alert.id })}
                />
              </Group>
            ),
        },
      ]}
    />
  )
}

const Test = ({ of, channel }: { of: Of; channel: Channel }) => {
  const test = useChange(() => toAct(of, 'POST /alert-channels/:channel/test', { channel: channel.id }))
  return (
    <>
      <Failed error={test.error} />
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Test ${channel.name}`}
        loading={test.isPending}
        onClick={() => test.mutate()}
      >
        Test
      </Button>
    </>
  )
}

const Channels = ({ of, list, mayChange }: { of: Of; list: readonly Channel[]; mayChange: boolean }) =>
  list.length === 0 ? (
    <Empty title="No channel yet">Without a channel an alert is shown here and told to nobody.</Empty>
  ) : (
    <DataTable
      label="Channels"
      rows={list}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Channel', className: 'label', cell: ({ name }) => name },
        { head: 'Kind', cell: ({ kind }) => channelForms[kind].label },
        { head: 'Target', className: 'label', cell: ({ target }) => target },
        {
          head: 'Secret',
          cell: ({ secret }) =>
            secret === null ? '–' : <Copy text={secret} shown="whsec_…" name="secret of the webhook" />,
        },
        mayChange && {
          head: '',
          cell: (channel) => (
            <Group gap="xs" wrap="nowrap">
              <Test of={of} channel={channel} />
              <Remove
                what={`the channel ${channel.name}`}
                send={() => toAct(of, 'DELETE /alert-channels/:channel', { channel: channel.id })}
              />
            </Group>
          ),
        },
      ]}
    />
  )

const LOG_EVERY_MS = 5_000

const Log = ({ of, channels }: { of: Of; channels: readonly Channel[] }) => {
  const { data, error } = useQuery(showingOf(of, 'GET /alert-deliveries', { limit: '50' }, LOG_EVERY_MS))
  if (data === undefined) return <Unread error={error} rows={3} />
  if (data.data.length === 0) return <Empty title="Nothing told yet">Test a channel to see it here.</Empty>
  const nameOf = (id: string) => channels.find((one) => one.id === id)?.name ?? 'a deleted channel'
  return (
    <DataTable
      label="Deliveries"
      rows={data.data}
      keyOf={({ id }) => id}
      columns={[
        { head: 'When', cell: ({ at }) => <When at={at} /> },
        { head: 'To', className: 'label', cell: ({ channel }) => nameOf(channel) },
        {
          head: 'What',
          className: 'label',
          cell: ({ what, title, text }) => (
            <>
              <Text size="sm">{what === 'resolved' ? `Resolved: ${title}` : title}</Text>
              <Aside>{text}</Aside>
            </>
          ),
        },
        {
          head: 'State',
          cell: ({ state, tries, error: why }) => (
            <>
              <State of={state} />
              {why !== null && (
                <Aside>
                  {why}, tried {counted(tries, 'time')}
                </Aside>
              )}
            </>
          ),
        },
      ]}
    />
  )
}

const Panels = ({ of }: { of: Of }) => {
  const mayChange = useMay('rules')
  const { data, error } = useQuery(showingOf(of, 'GET /alert-channels'))
  const [making, setMaking] = useState<'alert' | 'channel'>()
  if (data === undefined) return <Unread error={error} />
  const close = () => setMaking(undefined)
  return (
    <Stack>
      <AlertForm of={of} channels={data.data} opened={making === 'alert'} onClose={close} />
      <NewChannel of={of} opened={making === 'channel'} onClose={close} />
      <Panel
        title="Alerts"
        action={mayChange && <Button onClick={() => setMaking('alert')}>New alert</Button>}
      >
        <Rules of={of} channels={data.data} mayChange={mayChange} />
      </Panel>
      <Panel
        title="Channels"
        action={
          mayChange && (
            <Button variant="default" onClick={() => setMaking('channel')}>
              New channel
            </Button>
          )
        }
      >
        <Channels of={of} list={data.data} mayChange={mayChange} />
      </Panel>
      <Panel title="What was told">
        <Log of={of} channels={data.data} />
      </Panel>
    </Stack>
  )
}

export const Alerts = () => {
  const { data: session } = useQuery(sessionQuery)
  const [of, setOf] = useState<Of>('organisation')
  return (
    <>
      <PageHead
        title="Alerts"
        about="Each step is told once in its period, to every channel of the alert. What a receiver does not take is sent again."
      >
        {session?.person?.operator === true && (
          <SegmentedControl
            aria-label="Whose alerts"
            value={of}
            onChange={(value) => setOf(value === 'house' ? 'house' : 'organisation')}
            data={[
              { value: 'organisation', label: 'Organisation' },
              { value: 'house', label: 'The house' },
            ]}
          />
        )}
      </PageHead>
      <Panels key={of} of={of} />
    </>
  )
}
