/** What operators do to an account: give credit, open a credit line, suspend it, and lift the suspension. */
import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ApiError, act, type Shown } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { typedUsd } from '../format.ts'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { amountIn, nameIn, useTexts } from '../forms/use-texts.ts'

export type Account = Shown<'GET /operator/accounts'>['data'][number]
export type Act = 'credit' | 'line' | 'suspend'

type FormProps = { readonly account: Account; readonly onDone: () => void }

/** A name that no other gift has, also where the address is not secure, so that browsers make no UUIDs. */
const newRef = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

const told = {
  posted: undefined,
  replayed: 'The first try had given this already. To give it once more, press again.',
  other: 'The first try had given what was typed then. To give this too, press again.',
} as const

/** What became of a gift: where no answer came to the first try, that one may have given it, or another. */
const give = (gift: Readonly<Record<string, unknown>>) =>
  act('POST /operator/accounts/:wallet/gifts', gift)
    .then(({ outcome }): keyof typeof told => outcome)
    .catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 'idempotency_key_reused') return 'other' as const
      throw error
    })

const CreditForm = ({ account: { wallet }, onDone }: FormProps) => {
  const { texts, field } = useTexts({ amount: '', note: '' })
  // One name until it is known to be given, so that pressing twice gives credit only once.
  const [ref, setRef] = useState(newRef)
  const amount_usd = typedUsd(texts.amount)
  const save = useChange(() => give({ wallet, amount_usd, note: texts.note, ref }), {
    after: (outcome) => (outcome === 'posted' ? onDone() : setRef(newRef())),
  })
  return (
    <Form
      save={save}
      verb="Give credit"
      ready={amount_usd !== null && amount_usd !== undefined}
      done={told[save.data ?? 'posted']}
    >
      <TextInput {...field('amount', 'Amount in USD')} {...amountIn(texts.amount)} required data-autofocus />
      <TextInput {...field('note', 'What for')} required maxLength={200} />
    </Form>
  )
}

const LineForm = ({ account, onDone }: FormProps) => {
  const { texts, field } = useTexts({
    limit: account.credit_limit_usd ?? '',
    days: String(account.credit_net_days ?? 14),
  })
  const { wallet } = account
  const [limit_usd, net_days] = [typedUsd(texts.limit), Number(texts.days)]
  const areDays = /^\d{1,3}$/.test(texts.days) && net_days <= 365
  const put = useChange(
    () => act('PUT /operator/accounts/:wallet/credit-line', { wallet, limit_usd, net_days }),
    { after: onDone },
  )
  return (
    <Form save={put} verb="Grant" ready={typeof limit_usd === 'number' && areDays}>
      <TextInput
        {...field(
          'limit',
          'Limit in USD',
          'What may be owed; 0 withdraws the line, and what is owed stays owed',
        )}
        {...amountIn(texts.limit)}
        required
        data-autofocus
      />
      <TextInput
        {...field('days', 'Days to pay an invoice')}
        inputMode="numeric"
        required
        error={areDays ? undefined : 'A whole number up to 365'}
      />
    </Form>
  )
}

const SuspendForm = ({ account: { wallet, suspended }, onDone }: FormProps) => {
  const { texts, field } = useTexts({ reason: '' })
  const isOff = suspended !== null
  const reason = isOff ? null : texts.reason
  const put = useChange(() => act('PUT /operator/accounts/:wallet/suspended', { wallet, reason }), {
    after: onDone,
  })
  return (
    <Form
      save={put}
      verb={isOff ? 'Lift the suspension' : 'Suspend'}
      danger={!isOff}
      ready={isOff || texts.reason.trim() !== ''}
    >
      <Text size="sm">
        {isOff
          ? `It was suspended: ${suspended}. Its keys work again as they did before.`
          : 'All calls of all its keys are refused, on every process, until you end it. Money and keys stay as they are. Callers and members read the reason.'}
      </Text>
      {!isOff && (
        <TextInput
          {...field('reason', 'Reason')}
          {...nameIn(texts.reason)}
          required
          data-autofocus
          maxLength={200}
        />
      )}
    </Form>
  )
}

const titles: Readonly<Record<Act, string>> = {
  credit: 'Credit for',
  line: 'Credit line of',
  suspend: 'Suspend',
}

/** The dialog of the chosen act; none if no act is chosen. */
export const AccountActs = ({
  chosen,
  onClose,
}: {
  chosen: { readonly act: Act; readonly account: Account } | undefined
  onClose: () => void
}) => (
  <Dialog
    opened={chosen !== undefined}
    onClose={onClose}
    title={chosen === undefined ? '' : `${titles[chosen.act]} ${chosen.account.name}`}
  >
    {chosen?.act === 'credit' && <CreditForm account={chosen.account} onDone={onClose} />}
    {chosen?.act === 'line' && <LineForm account={chosen.account} onDone={onClose} />}
    {chosen?.act === 'suspend' && <SuspendForm account={chosen.account} onDone={onClose} />}
  </Dialog>
)
