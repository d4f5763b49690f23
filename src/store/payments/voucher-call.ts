/**
 * What a commit does for calls under vouchers: one is opened only while its voucher is its own, and its channel is charged
 * together with it.
 */
import type { CommitBatch, Settle } from '../../ledger/types.ts'
import { type Run, type SqlDialect, type Statement, statement } from '../engine/engine.ts'
import { textsOnce } from '../engine/texts.ts'

/** Whether a call still has its voucher. Whoever ends a voucher locks it first, and then looks for its call. */
export const hasVoucher = (voucher: string, call: string): string =>
  `(select p.state from x402_payment p where p.id = ${voucher} and p.call_id = ${call}) = 'authorized'`

/** The same of a voucher that stays locked, so that nobody ends it before this transaction does. */
export const keepsVoucher = async (
  run: Run,
  { lock }: SqlDialect,
  voucher: string,
  call: string,
): Promise<boolean> => {
  await run(`select p.id from x402_payment p where p.id = $1${lock('p')}`, [voucher])
  return (await run(`select 1 as its where ${hasVoucher('$1', '$2')}`, [voucher, call])).length > 0
}

/** An amount in SQL, rounded up to whole units. */
const inUnits = (amount: string, unit: string): string => `(${amount} + ${unit} - 1) / ${unit} * ${unit}`

const textsFor = textsOnce(({ each, now, lock }) => ({
  channels: `select c.id from x402_channel c where c.id in (select e.value->>'k' from ${each('$1')} e) order by c.id${lock('c')}`,
  vouchers: `select p.id from x402_payment p where p.id in (select e.value->>'v' from ${each('$1')} e) order by p.id${lock('p')}`,
  settled: `update x402_payment set state = 'settled', amount = q.amount, change_to = 'revenue', settled_at = ${now}
    from (select e.value->>'v' as id, t.ref as call_id, ${inUnits('t.amount', `cast(e.value->>'u' as bigint)`)} as amount
      from ${each('$1')} e join transfer t on t.kind = 'usage' and t.ref = e.value->>'c' and t.amount > 0
      join x402_channel c on c.id = e.value->>'k' and c.account_id = t.debit) q
    where x402_payment.id = q.id and x402_payment.call_id = q.call_id and x402_payment.state = 'authorized'`,
  charged: `update x402_channel set pending = null, charged = charged + q.amount, signed = q.most, signature = q.signed_by,
      charged_at = coalesce(charged_at, ${now})
    from (select p.id, p.channel_id, p.amount, cast(e.value->>'m' as bigint) as most, e.value->>'s' as signed_by
      from ${each('$1')} e join x402_payment p on p.id = e.value->>'v' and p.call_id = e.value->>'c' and p.state = 'settled') q
    where x402_channel.id = q.channel_id and x402_channel.pending = q.id`,
}))

/** Settlements under vouchers as the statements read them, by letters. */
const rowsOf = (settles: readonly Settle[]) =>
  settles.flatMap(({ callId, voucher }) =>
    voucher === undefined
      ? []
      : {
          c: callId,
          v: voucher.id,
          k: voucher.channel,
          u: String(voucher.unit),
          m: String(voucher.most),
          s: voucher.signature,
        },
  )

/** Locks what a commit asks and changes of vouchers: channels before vouchers, as everywhere. */
export const voucherLocks = (
  dialect: SqlDialect,
  { intents, settles }: Pick<CommitBatch, 'intents' | 'settles'>,
): readonly Statement[] => {
  const texts = textsFor(dialect)
  const paid = rowsOf(settles)
  const opening = intents.flatMap(({ voucher: v }) => (v === undefined ? [] : { v }))
  return [
    statement(texts.channels, JSON.stringify(paid)),
    statement(texts.vouchers, JSON.stringify([...paid, ...opening])),
  ]
}

/** Charges the channels of calls that were charged. */
export const voucherCharges = (dialect: SqlDialect, settles: readonly Settle[]): readonly Statement[] => {
  const texts = textsFor(dialect)
  const its = JSON.stringify(rowsOf(settles))
  return [statement(texts.settled, its), statement(texts.charged, its)]
}
