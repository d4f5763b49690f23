/** What operators do to an account: give credit, open a credit line, suspend it, and lift the suspension. */
import { Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { Form } from '../form.tsx'
import { AMOUNT_HINT, typedUsd } from '../format.ts'

export type Account = Shown<'GET /operator/accounts'>['data'][number]
export type Act = 'credit' | 'line' | 'suspend'

type FormProps = { readonly account: Account; readonly onDone: () => void }

const after = (onDone: () => void) => async () => {
  await queries.invalidateQueries()
  onDone()
}

const CreditForm = ({ account, onDone }: FormProps) => {
  const [text, setText] = useState('')
  const [note, setNote] = useState('')
  // Named once, so that pressing twice gives credit only once.
  const [ref] = useState(() => crypto.randomUUID())
  const amount = typedUsd(text)
  const give = useMutation({
    mutationFn: () =>
      act('POST /operator/accounts/:wallet/gifts', { wallet: account.wallet, amount_usd: amount, note, ref }),
    onSuccess: after(onDone),
  })
  return (
    <Form save={give} verb="Give credit" ready={amount !== null && amount !== undefined}>
      <TextInput
        label="Amount in USD"
        inputMode="decimal"
        required
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={amount === null ? AMOUNT_HINT : undefined}
      />
      <TextInput
        label="What for"
        required
        maxLength={200}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </Form>
  )
}

const LineForm = ({ account, onDone }: FormProps) => {
  const [text, setText] = useState(account.credit_limit_usd ?? '')
  const [days, setDays] = useState(String(account.credit_net_days ?? 14))
  const limit = typedUsd(text)
  const right = typeof limit === 'number' && /^\d{1,3}$/.test(days) && Number(days) <= 365
  const put = useMutation({
    mutationFn: () =>
      act('PUT /operator/accounts/:wallet/credit-line', {
        wallet: account.wallet,
        limit_usd: limit,
        net_days: Number(days),
      }),
    onSuccess: after(onDone),
  })
  return (
    <Form save={put} verb="Grant" ready={right}>
      <TextInput
        label="Limit in USD"
        description="What may be owed; 0 withdraws the line, and what is owed stays owed"
        inputMode="decimal"
        required
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <TextInput
        label="Days to pay an invoice"
        inputMode="numeric"
        required
        value={days}
        onChange={(event) => setDays(event.currentTarget.value)}
      />
    </Form>
  )
}

const SuspendForm = ({ account, onDone }: FormProps) => {
  const [reason, setReason] = useState('')
  const isOff = account.suspended !== null
  const put = useMutation({
    mutationFn: () =>
      act('PUT /operator/accounts/:wallet/suspended', {
        wallet: account.wallet,
        reason: isOff ? null : reason,
      }),
    onSuccess: after(onDone),
  })
  return (
    <Form
      save={put}
      verb={isOff ? 'Lift the suspension' : 'Suspend'}
      danger={!isOff}
      ready={isOff || reason.trim() !== ''}
    >
      <Text size="sm">
        {isOff
          ? `It was suspended: ${account.suspended}. Its keys work again as they did before.`
          : 'All calls of all its keys are refused, on every process, until you end it. Money and keys stay as they are. Callers and members read the reason.'}
      </Text>
      {!isOff && (
        <TextInput
          label="Reason"
          required
          data-autofocus
          maxLength={200}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
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
