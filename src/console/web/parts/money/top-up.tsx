/** Paying into the wallet by card, and the rule that charges a saved card. */
import { Button, Group, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, act, queries, type Shown, showing } from '../api.ts'
import { Asked } from '../confirm.tsx'
import { AMOUNT_HINT, typedUsd } from '../format.ts'
import { Form } from '../forms/form.tsx'
import { labelled } from '../forms/labelled.ts'
import { useChange } from '../forms/use-change.ts'
import { differing, useEdits } from '../forms/use-edits.ts'
import { amountIn, fieldsOf } from '../forms/use-texts.ts'
import { Aside, Money, Panel, SmallButton, Told, When } from '../ui.tsx'
import { isOver, nextLookMs } from './looks.ts'

type WalletShown = Shown<'GET /wallet'>

const PAYABLE = 'From 0.5 to 10000, in whole cents'

const isPayable = (amount: number | null | undefined): amount is number =>
  typeof amount === 'number' &&
  amount >= 0.5 &&
  amount <= 10_000 &&
  Number.isInteger(Number((amount * 100).toFixed(6)))

export const TopUp = ({ data }: { data: WalletShown }) => {
  const [text, setText] = useState('25')
  const [save, setSave] = useState(false)
  const amount = typedUsd(text)
  const open = useMutation({
    mutationFn: () => act('POST /wallet/top-up', { amount_usd: amount, save_payment_method: save }),
    onSuccess: ({ url }) => location.assign(url),
  })
  return (
    <Panel title="Top up by card">
      <Form
        save={open}
        verb="Pay by card"
        ready={isPayable(amount)}
        place="page"
        more={<Aside>You pay at Stripe and come back here.</Aside>}
      >
        <Group align="flex-start" gap="xs">
          <TextInput
            label="Amount in USD"
            inputMode="decimal"
            w={150}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            error={isPayable(amount) ? undefined : PAYABLE}
          />
          <Group gap="xs" mt={25}>
            {['10', '50', '200'].map((choice) => (
              <Button key={choice} variant="default" onClick={() => setText(choice)}>
                ${choice}
              </Button>
            ))}
          </Group>
        </Group>
        {data.auto_top_up_daily_usd !== null && data.auto_top_up_daily_usd !== '0' && (
          <Switch
            label={
              data.top_ups.card_saved
                ? 'Replace the saved card by this one'
                : 'Save the card for automatic top-ups'
            }
            checked={save}
            onChange={(event) => setSave(event.currentTarget.checked)}
          />
        )}
      </Form>
    </Panel>
  )
}

const looksIn = ({ dataUpdateCount = 0, errorUpdateCount = 0 } = {}) => dataUpdateCount + errorUpdateCount

const isNone = (error: unknown): boolean => error instanceof ApiError && error.code === 'not_found'

/** The state of the payment from which somebody returns; requested until it is paid, known to be none, or cannot be paid any more. */
export const Returned = () => {
  const { checkout }: { checkout?: string } = useSearch({ strict: false })
  const navigate = useNavigate()
  const asked = showing('GET /wallet/checkouts/:checkout', { checkout: checkout ?? '' })
  const { data, error } = useQuery({
    ...asked,
    enabled: checkout !== undefined,
    // Each look counts, also one that shows the same.
    notifyOnChangeProps: 'all',
    refetchInterval: ({ state }) =>
      nextLookMs(looksIn(state), state.data?.status === 'paid' || isNone(state.error)),
  })
  if (checkout === undefined || (data === undefined && !isNone(error))) return null
  return (
    <Panel>
      <Group justify="space-between">
        {data === undefined ? (
          <Told alert>
            There is no such payment of this organisation. If you paid, look under Movements below, or choose
            the organisation that you paid for. If it is in neither, show the operator of this server your
            receipt of Stripe.
          </Told>
        ) : (
          <Told>
            {data.status === 'paid' ? (
              <>
                <b>
                  <Money usd={data.amount_usd} /> is paid
                </b>{' '}
                {data.invoice === null ? 'and in the wallet.' : `for invoice ${data.invoice}.`}
              </>
            ) : isOver(looksIn(queries.getQueryState(asked.queryKey))) ? (
              <>
                The payment of <Money usd={data.amount_usd} /> did not come in, and its page at Stripe is
                closed by now: it cannot be paid any more. Begin another one.
              </>
            ) : (
              <>
                The payment of <Money usd={data.amount_usd} /> has not come in. Stripe usually confirms within
                seconds; if you went back without paying, nothing is charged.
              </>
            )}
          </Told>
        )}
        <SmallButton onClick={() => void navigate({ to: '/wallet', search: {} })}>Close</SmallButton>
      </Group>
    </Panel>
  )
}

const pauses: Readonly<Record<string, string>> = {
  card_declined: 'the card was declined',
  expired_card: 'the card has expired',
  authentication_required: 'the bank wants you to confirm: pay once by card and save it again',
  payment_method_gone: 'Stripe no longer has the card',
  refused_by_stripe: 'Stripe refused the payment',
  outcome_unknown: 'Stripe did not say whether a payment was made',
  payment_taken_back: 'a payment was refunded, disputed or paid back',
}

const State = ({ of }: { of: WalletShown['top_ups'] }) => (
  <Text size="sm">
    {of.paused !== null
      ? `Paused: ${pauses[of.paused] ?? of.paused}. Saving the rule or another card starts it again.`
      : of.active
        ? 'On.'
        : of.card_saved
          ? 'Off. A card is saved; set an amount to turn it on.'
          : 'Off. Pay once with “Save the card” to turn it on.'}{' '}
    {of.charged_this_month_usd !== '0' && (
      <>
        <Money usd={of.charged_this_month_usd} /> charged this month.{' '}
      </>
    )}
    {of.waits_until !== null && (
      <>
        The maximum is reached; it continues on <When at={of.waits_until} />.
      </>
    )}
  </Text>
)

const labels = {
  'auto_top_up.below_usd': 'When it falls below, in USD',
  'auto_top_up.amount_usd': 'Charge, in USD',
  'auto_top_up.monthly_max_usd': 'At most a month, in USD',
} as const

type Rule = WalletShown['top_ups']['rule']

const textsOf = (rule: Rule) => ({
  below: String(rule?.below_usd ?? '10'),
  amount: String(rule?.amount_usd ?? '25'),
  month: String(rule?.monthly_max_usd ?? ''),
})

const bodyOf = ({ below, amount, month }: ReturnType<typeof textsOf>) => ({
  below_usd: typedUsd(below),
  amount_usd: typedUsd(amount),
  monthly_max_usd: typedUsd(month) ?? null,
})

const RuleForm = ({ rule }: { rule: Rule }) => {
  const stored = textsOf(rule)
  const { texts, edit, save } = useEdits(stored, (sent) =>
    act('PUT /wallet/auto-top-up', {
      auto_top_up: differing(bodyOf(sent), rule === null ? undefined : bodyOf(stored)),
    }),
  )
  const off = useChange(() => act('PUT /wallet/auto-top-up', { auto_top_up: null }))
  const field = fieldsOf(texts, edit)
  const [under, each, most] = [typedUsd(texts.below), typedUsd(texts.amount), typedUsd(texts.month)]
  const tooLittle = typeof most === 'number' && typeof each === 'number' && most < each
  const right = typeof under === 'number' && isPayable(each) && most !== null && !tooLittle
  return (
    <Form
      save={{ ...save, error: labelled(save.error ?? off.error, labels) }}
      verb={rule === null ? 'Turn on' : 'Save rule'}
      ready={right}
      place="page"
      more={
        rule !== null && (
          <Button variant="default" loading={off.isPending} onClick={() => off.mutate()}>
            Turn off
          </Button>
        )
      }
    >
      <Group align="flex-start">
        <TextInput
          {...field('below', labels['auto_top_up.below_usd'])}
          inputMode="decimal"
          w={190}
          error={typeof under === 'number' ? undefined : AMOUNT_HINT}
        />
        <TextInput
          {...field('amount', labels['auto_top_up.amount_usd'])}
          inputMode="decimal"
          w={150}
          error={isPayable(each) ? undefined : PAYABLE}
        />
        <TextInput
          {...field('month', labels['auto_top_up.monthly_max_usd'])}
          inputMode="decimal"
          error={tooLittle ? 'At least as much as one charge' : amountIn(texts.month).error}
          placeholder="no limit"
          w={180}
        />
      </Group>
    </Form>
  )
}

const RemoveCard = () => (
  <Asked
    verb="Remove card"
    title="Remove the saved card?"
    yes="Remove card"
    size="xs"
    send={() => act('DELETE /wallet/card')}
  >
    It is not charged any more, and the wallet is not topped up automatically. Pay by card again to save one.
  </Asked>
)

export const AutoTopUp = ({ data, mayPay }: { data: WalletShown; mayPay: boolean }) => (
  <Panel title="Automatic top-ups" action={mayPay && data.top_ups.card_saved ? <RemoveCard /> : undefined}>
    <Stack gap="sm">
      <State of={data.top_ups} />
      {mayPay && data.top_ups.card_saved && <RuleForm rule={data.top_ups.rule} />}
    </Stack>
  </Panel>
)
