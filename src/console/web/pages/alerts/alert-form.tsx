/** The dialog that makes or changes an alert: what is watched, at which steps, and who is told. */
import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { alertKinds, type RuleKind, ruleKinds } from '../../../../tenancy/alert-kinds.ts'
import { type Shown, showing } from '../../parts/api.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { typedUsd } from '../../parts/format.ts'
import { Form } from '../../parts/forms/form.tsx'
import { useChange } from '../../parts/forms/use-change.ts'
import { amountIn } from '../../parts/forms/use-texts.ts'
import { Told } from '../../parts/ui.tsx'
import { useMay } from '../../parts/use-may.ts'
import { type Of, toAct } from './whose.ts'

type Channels = Shown<'GET /alert-channels'>['data']
type Alert = Shown<'GET /alerts'>['data'][number]
type Props = {
  readonly of: Of
  /** The one that is changed; without it a new one is made. */
  readonly alert?: Alert | undefined
  readonly channels: Channels
  readonly opened: boolean
  readonly onClose: () => void
}
type Option = { readonly value: string; readonly label: string }

const words = { key: 'Key', person: 'Person', sub_wallet: 'Sub-wallet', vendor: 'Vendor' } as const

/** As many keys as a list gives at once; of more, the id of one is typed. */
const MOST = 1_000

/** Those that can be watched; undefined where only an id can be typed. */
const useOptions = (of: Of, kind: RuleKind): readonly Option[] | undefined => {
  const { subject } = alertKinds[kind]
  const mayRead = useMay('read', 'read_own')
  const mayTeam = useMay('team_read')
  const mine = of === 'organisation'
  const keys = useQuery({
    ...showing('GET /keys', { limit: MOST }),
    enabled: mine && subject === 'key' && mayRead,
  })
  const team = useQuery({ ...showing('GET /team'), enabled: mine && subject === 'person' && mayTeam })
  const subs = useQuery({ ...showing('GET /sub-wallets'), enabled: mine && subject === 'sub_wallet' })
  if (!mine) return undefined
  if (subject === 'key' && keys.data?.has_more === true) return undefined
  if (subject === 'key') return keys.data?.data.map(({ id, label }) => ({ value: id, label: label || id }))
  if (subject === 'person') return team.data?.data.map(({ id, email }) => ({ value: id, label: email }))
  if (subject !== 'sub_wallet') return undefined
  return subs.data?.data.map(({ id, label }) => ({ value: id, label: label || id }))
}

const Subject = ({
  of,
  kind,
  value,
  onChange,
}: {
  of: Of
  kind: RuleKind
  value: string
  onChange: (id: string) => void
}) => {
  const { subject } = alertKinds[kind]
  const options = useOptions(of, kind)
  if (subject === undefined) return null
  const field = {
    label: words[subject],
    value,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  }
  return options === undefined ? (
    <TextInput {...field} description="Its id" />
  ) : (
    <NativeSelect
      {...field}
      data={[
        { value: '', label: 'Choose one' },
        // What is gone is not in the list, and an alert may still watch it.
        ...(value === '' || options.some((one) => one.value === value) ? [] : [{ value, label: value }]),
        ...options,
      ]}
    />
  )
}

/** Undefined if they are no percents. */
const stepsIn = (text: string): readonly number[] | undefined => {
  const steps = text.split(/[\s,%]+/).filter((one) => one !== '')
  return steps.length > 0 && steps.every((one) => /^\d{1,4}$/.test(one)) ? steps.map(Number) : undefined
}

const SAYS_NOBODY = 'Nobody is told of an alert without a channel; it is only shown on the overview.'

const Recipients = ({
  channels,
  chosen,
  onChange,
}: {
  channels: Channels
  chosen: readonly string[]
  onChange: (ids: string[]) => void
}) => (
  <Checkbox.Group label="Told to" value={[...chosen]} onChange={onChange}>
    <Stack gap="xs" mt="xs">
      {channels.map(({ id, name }) => (
        <Checkbox key={id} value={id} label={name} />
      ))}
      {chosen.length === 0 && (
        <Told>
          {channels.length === 0 ? `There is no channel yet: make one first. ${SAYS_NOBODY}` : SAYS_NOBODY}
        </Told>
      )}
    </Stack>
  </Checkbox.Group>
)

type Entered = {
  readonly name: string
  readonly kind: RuleKind
  readonly subject: string
  readonly usd: string
  readonly steps: string
  readonly forecast: boolean
  /** How far back shares look, where somebody set it. */
  readonly minutes: number | null
  readonly chosen: readonly string[]
}

/** The body; undefined while something is missing. */
const bodyOf = ({ name, kind, subject, usd, steps, forecast, minutes, chosen }: Entered) => {
  const row = alertKinds[kind]
  const [amount, percents] = [typedUsd(usd), stepsIn(steps)]
  const lacks =
    name.trim() === '' ||
    percents === undefined ||
    amount === null ||
    (row.subject !== undefined && subject === '') ||
    (row.amount === 'needed' && amount === undefined)
  if (lacks) return undefined
  const counts = row.amount !== 'none' && amount !== undefined
  return {
    name: name.trim(),
    kind,
    steps: percents,
    channels: chosen,
    ...(row.subject === undefined ? {} : { subject }),
    ...(counts ? { amount_usd: amount } : {}),
    ...(forecast && counts && kind !== 'balance' ? { forecast } : {}),
    ...(row.share === undefined || minutes === null ? {} : { minutes }),
  }
}

/** What 100 % is, and whether a forecast of it is told. */
const Amount = ({ entered, edit }: { entered: Entered; edit: (change: Partial<Entered>) => void }) => {
  const row = alertKinds[entered.kind]
  if (row.amount === 'none') return null
  return (
    <>
      <TextInput
        label="Amount"
        description={`${row.of}${row.amount === 'possible' ? '. Empty: the limits that it has' : ''}`}
        {...amountIn(entered.usd)}
        value={entered.usd}
        onChange={(event) => edit({ usd: event.currentTarget.value })}
      />
      {entered.kind !== 'balance' && (
        <Checkbox
          label="Also when the month is forecast to reach the amount"
          checked={entered.forecast}
          onChange={(event) => edit({ forecast: event.currentTarget.checked })}
        />
      )}
    </>
  )
}

const enteredOf = ({ alert, channels }: Pick<Props, 'alert' | 'channels'>): Entered =>
  alert === undefined
    ? {
        ...{ name: '', kind: 'wallet', subject: '', usd: '', forecast: false, minutes: null },
        steps: alertKinds.wallet.steps.join(', '),
        chosen: channels.length === 1 ? channels.map(({ id }) => id) : [],
      }
    : {
        ...alert,
        subject: alert.subject ?? '',
        usd: alert.amount_usd ?? '',
        steps: alert.steps.join(', '),
        chosen: alert.channels,
      }

const Fields = ({ of, alert, channels, onClose }: Omit<Props, 'opened'>) => {
  const [entered, setEntered] = useState(() => enteredOf({ alert, channels }))
  const edit = (change: Partial<Entered>) => setEntered((before) => ({ ...before, ...change }))
  const body = bodyOf(entered)
  const save = useChange<unknown>(
    () =>
      alert === undefined
        ? toAct(of, 'POST /alerts', body)
        : toAct(of, 'PUT /alerts/:alert', { ...body, alert: alert.id }),
    { after: onClose },
  )
  const offered = ruleKinds.filter((kind) => of === 'organisation' || alertKinds[kind].notOfHouse !== true)
  const chooseKind = (kind: RuleKind) =>
    edit({ kind, subject: '', minutes: null, steps: alertKinds[kind].steps.join(', ') })
  return (
    <Form
      save={save}
      verb={alert === undefined ? 'Make alert' : 'Save'}
      ready={body !== undefined}
      hint="Give a name, what is watched, its steps in percent, and an amount unless it may be empty."
    >
      <TextInput
        label="Name"
        value={entered.name}
        onChange={(event) => edit({ name: event.currentTarget.value })}
      />
      <NativeSelect
        label="Watches"
        data={offered.map((kind) => ({ value: kind, label: alertKinds[kind].label }))}
        value={entered.kind}
        onChange={(event) => chooseKind(event.currentTarget.value as RuleKind)}
      />
      <Subject
        of={of}
        kind={entered.kind}
        value={entered.subject}
        onChange={(subject) => edit({ subject })}
      />
      <Amount entered={entered} edit={edit} />
      <TextInput
        label="Steps, in percent"
        value={entered.steps}
        error={stepsIn(entered.steps) === undefined ? 'Percents, such as 50, 80, 100' : undefined}
        onChange={(event) => edit({ steps: event.currentTarget.value })}
      />
      <Recipients channels={channels} chosen={entered.chosen} onChange={(chosen) => edit({ chosen })} />
    </Form>
  )
}

export const AlertForm = ({ opened, ...others }: Props) => (
  <Dialog opened={opened} onClose={others.onClose} title={others.alert?.name ?? 'New alert'}>
    <Fields {...others} />
  </Dialog>
)
