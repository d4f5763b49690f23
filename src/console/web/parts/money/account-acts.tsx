/** What operators do to an account: give credit, open a credit line, suspend it, and lift the suspension. */
import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { typedUsd } from '../format.ts'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { amountIn, nameIn, useTexts } from '../forms/use-texts.ts'

export type Account = Shown<'GET /operator/accounts'>['data'][number]
export type Act = 'credit' | 'line' | 'suspend'

type FormProps = { readonly account: Account; readonly onDone: () => void }

const CreditForm = ({ account: { wallet }, onDone }: FormProps) => {
  const { texts, field } = useTexts({ amount: '', note: '' })
  // Named once, so that pressing twice gives credit only once.
  const [ref] = useState(() => crypto.randomUUID())
  const amount_usd = typedUsd(texts.amount)
  const give = useChange(
    () => act('POST /operator/accounts/:wallet/gifts', { wallet, amount_usd, note: texts.note, ref }),
    { after: onDone },
  )
  return (
    <Form save={give} verb="Give credit" ready={amount_usd !== null && amount_usd !== undefined}>
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
