/** Calls as they happen, however they ended, newest first; older ones page by page. Never any content. */
import { Anchor, Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type Shown, usePage } from '../api.ts'
import { DataTable } from '../data-table.tsx'
import { clockText, countText, timeText } from '../format.ts'
import { PagesOf } from '../pages-of.tsx'
import { State } from '../state.tsx'
import { Aside, Empty, Failed, Money, When } from '../ui.tsx'
import { Unread } from '../unread.tsx'
import { CallDialog } from './call-dialog.tsx'
import { reasonOf, seconds } from './call-words.ts'

/** A new call appears within this time plus one request; where a filter looks through many calls, within the second. */
const LIVE_MS = 1_000
const LIVE_FILTERED_MS = 5_000

type CallShown = Shown<'GET /calls'>['data'][number]

const shortNames: Readonly<Record<string, string>> = { input: 'in', output: 'out', cache_read: 'cached' }

const tokensOf = (tokens: CallShown['tokens']): string =>
  Object.entries(tokens)
    .map(([name, count]) => `${countText(count)} ${shortNames[name] ?? name.replaceAll('_', ' ')}`)
    .join(' · ')

const isToday = (at: string): boolean => new Date(at).toDateString() === new Date().toDateString()

/** What the row says, leads to the details. */
const Open = ({ id, open, children }: { id: string; open: (id: string) => void; children: ReactNode }) => (
  <Anchor component="button" type="button" size="sm" className="mono" title={id} onClick={() => open(id)}>
    <span className="hide">Details of call </span>
    {children}
  </Anchor>
)

const ModelName = ({ call: { model, code } }: { call: CallShown }) => (
  <Text size="sm" truncate maw={210} title={model ?? undefined}>
    {model ?? (code === null ? 'recovered after a crash' : '—')}
  </Text>
)

const KeyLink = ({ of }: { of: CallShown['key'] }) => (
  <Text size="sm" truncate maw={160} title={of.label}>
    <Anchor component={Link} to={`/keys/${of.id}`} inherit>
      {of.label || of.prefix}
    </Anchor>
  </Text>
)

const Reason = ({ call }: { call: CallShown }) => (
  <>
    {call.code !== null && (
      <Aside truncate maw={230} title={reasonOf(call)}>
        {reasonOf(call)}
      </Aside>
    )}
    {call.code === null && call.attempts.length > 0 && (
      <Aside>
        after {call.attempts.length} failed {call.attempts.length === 1 ? 'attempt' : 'attempts'}
      </Aside>
    )}
  </>
)

const Outcome = ({ call }: { call: CallShown }) => (
  <>
    <State of={call.status ?? 'recovered'} />
    <Reason call={call} />
  </>
)

const Cost = ({ call: { code, cost_usd, refunded_usd: back } }: { call: CallShown }) => (
  <>
    {code === null ? <Money usd={cost_usd} /> : '—'}
    {back !== '0' && (
      <Aside>
        <Money usd={back} /> back
      </Aside>
    )}
  </>
)

const Took = ({ call: { took_ms, first_byte_ms: first } }: { call: CallShown }) => (
  <>
    {seconds(took_ms)}
    {first !== null && <Aside title="To the first byte of the answer">{seconds(first)}</Aside>}
  </>
)

const At = ({ at }: { at: string }) =>
  isToday(at) ? (
    <time dateTime={at} title={at}>
      {clockText(at)}
    </time>
  ) : (
    <When at={at} />
  )

const Rows = ({
  calls,
  withKey,
  open,
}: {
  calls: readonly CallShown[]
  withKey: boolean
  open: (id: string) => void
}) => (
  <DataTable
    label="Calls"
    rows={calls}
    keyOf={({ id, at }) => `${id} ${at}`}
    rowClass={({ at }) => (Date.now() - Date.parse(at) < 5_000 ? 'new-row' : undefined)}
    wide
    columns={[
      {
        head: 'Call',
        on: 'narrow',
        cell: (call) => (
          <>
            <Group justify="space-between">
              <State of={call.status ?? 'recovered'} />
              <Open id={call.id} open={open}>
                <At at={call.at} />
              </Open>
            </Group>
            <Reason call={call} />
            <ModelName call={call} />
            {withKey && <KeyLink of={call.key} />}
          </>
        ),
      },
      { head: 'Time', on: 'wide', className: 'number', cell: ({ at }) => <At at={at} /> },
      { head: 'Outcome', on: 'wide', cell: (call) => <Outcome call={call} /> },
      withKey && { head: 'Key', on: 'wide', cell: ({ key }) => <KeyLink of={key} /> },
      { head: 'Model', on: 'wide', cell: (call) => <ModelName call={call} /> },
      {
        head: 'Units',
        on: 'wide',
        cell: ({ tokens, estimated }) => (
          <Aside>
            {tokensOf(tokens)}
            {estimated ? ' (estimated)' : ''}
          </Aside>
        ),
      },
      { head: 'Cost', figure: true, cell: (call) => <Cost call={call} /> },
      {
        head: 'Took',
        title: 'Below it: to the first byte of the answer',
        figure: true,
        on: 'wide',
        cell: (call) => <Took call={call} />,
      },
      {
        head: 'Request',
        on: 'wide',
        cell: ({ id }) => (
          <Open id={id} open={open}>
            {`${id.slice(0, 4)}…${id.slice(-6)}`}
          </Open>
        ),
      },
    ]}
  />
)

type Props = {
  /** The members of the query beside the place. */
  readonly asked: Readonly<Record<string, string | undefined>>
  readonly withKey?: boolean
  readonly live: boolean
  readonly before: string | undefined
  readonly go: (before: string | undefined) => void
  /** The call of which details are shown. */
  readonly opened: string | undefined
  readonly open: (id: string | undefined) => void
}

/** The list at a place that somebody else remembers, such as the page's address. */
export const CallList = ({ asked, withKey = false, live, before, go, opened, open }: Props) => {
  const filtered = Object.values(asked).some((value) => (value ?? '') !== '')
  const everyMs = filtered ? LIVE_FILTERED_MS : LIVE_MS
  const { data, error } = usePage(
    'GET /calls',
    { ...asked, before, limit: 50 },
    live && before === undefined ? everyMs : undefined,
  )
  if (data === undefined) return <Unread error={error} rows={8} />
  const last = data.data.at(-1)
  const isEmpty = data.data.length === 0
  return (
    <>
      <Failed error={error} />
      {isEmpty && (
        <Empty title={filtered || before !== undefined ? 'No call fits' : 'No calls yet'}>
          {data.has_more
            ? 'None of the newest calls does; older ones were not looked at yet.'
            : 'A call made now shows here within two seconds, refused ones too.'}
        </Empty>
      )}
      {!isEmpty && <Rows calls={data.data} withKey={withKey} open={open} />}
      <PagesOf
        from={before}
        on={data.has_more ? (data.next ?? undefined) : undefined}
        go={go}
        names={[
          'Newest',
          data.data.length < 50 && last !== undefined ? `Search before ${timeText(last.at)}` : 'Older',
        ]}
      />
      <CallDialog id={opened} onClose={() => open(undefined)} />
    </>
  )
}

/** Leads to all calls of a key or tenant, with filters. */
export const AllCalls = ({ of }: { of: Record<string, string> }) => (
  <Anchor component={Link} to="/calls" search={of as never} size="sm">
    All calls
  </Anchor>
)

/** The newest calls of one key or tenant, on its own page. */
export const CallTable = ({ asked, live }: { asked: Props['asked']; live: boolean }) => {
  const [before, go] = useState<string>()
  const [opened, open] = useState<string>()
  return <CallList {...{ asked, live, before, go, opened, open }} withKey={asked.own !== 'true'} />
}
