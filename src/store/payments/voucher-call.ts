/**
 * What a commit does for calls under vouchers: one is opened only while its voucher is its own, and its channel is charged
 * together with it.
 */
import type { CallId, CommitBatch, Settle } from '../../ledger/types.ts'
import type { VoucherOfCall } from '../../ledger/voucher.ts'
import { type Now, type Run, type SqlDialect, type Statement, statement } from '../engine/engine.ts'
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

/** Where the statements that charge a channel find a settlement under a voucher: in a list, or in what is bound to them. */
type Found = {
  readonly from: string
  readonly call: string
  readonly voucher: string
  readonly channel: string
  readonly unit: string
  readonly most: string
  readonly signature: string
}

/**
 * Each value is looked up by itself: PostgreSQL makes a join of them, for which it reads all charges, or all vouchers. Where it
 * reads that a payment is open, it goes through the index of open ones, with all that were.
 */
const chargesOf = ({ now }: SqlDialect, { from, call, voucher, channel, unit, most, signature }: Found) => ({
  settled: `update x402_payment set state = 'settled', amount = q.amount, change_to = 'revenue', settled_at = ${now}
    from (select ${voucher} as id, ${call} as call_id, (select ${inUnits('t.amount', unit)} from transfer t
        where t.kind = 'usage' and t.ref = ${call} and t.amount > 0
          and t.debit = (select c.account_id from x402_channel c where c.id = ${channel})) as amount
      from ${from} where ${hasVoucher(voucher, call)}) q
    where x402_payment.id = q.id and q.amount is not null`,
  charged: `update x402_channel set pending = null, charged = charged + q.amount, signed = q.most, signature = q.signed_by,
      charged_at = coalesce(charged_at, ${now})
    from (select ${voucher} as id, ${channel} as channel_id, ${most} as most, ${signature} as signed_by,
        (select p.amount from x402_payment p
          where p.id = ${voucher} and p.call_id = ${call} and p.state = 'settled') as amount
      from ${from}) q
    where x402_channel.id = q.channel_id and x402_channel.pending = q.id and q.amount is not null`,
})

const textsFor = textsOnce((dialect) => {
  const { each, lock } = dialect
  const list = `${each('$1')} e`
  const has = (select: string): string => `in (select e.value->>'${select}' from ${list})`
  return {
    channels: `select c.id from x402_channel c where c.id ${has('k')} order by c.id${lock('c')}`,
    vouchers: `select p.id from x402_payment p where p.id ${has('v')} order by p.id${lock('p')}`,
    ...chargesOf(dialect, {
      from: list,
      call: `e.value->>'c'`,
      voucher: `e.value->>'v'`,
      channel: `e.value->>'k'`,
      unit: `cast(e.value->>'u' as bigint)`,
      most: `cast(e.value->>'m' as bigint)`,
      signature: `e.value->>'s'`,
    }),
    // The first is bound four values, the second five.
    one: chargesOf(dialect, {
      from: '(select 1) e',
      call: '$1',
      voucher: '$2',
      channel: '$3',
      unit: '$4',
      most: '$4',
      signature: '$5',
    }),
  }
})

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
  const opening = intents.flatMap(({ voucher }) =>
    voucher === undefined ? [] : { v: voucher.id, k: voucher.record && voucher.channel },
  )
  const its = JSON.stringify([...paid, ...opening])
  return [statement(texts.channels, its), statement(texts.vouchers, its)]
}

/** Charges the channels of calls that were charged. */
export const voucherCharges = (dialect: SqlDialect, settles: readonly Settle[]): readonly Statement[] => {
  const texts = textsFor(dialect)
  const its = JSON.stringify(rowsOf(settles))
  return [statement(texts.settled, its), statement(texts.charged, its)]
}

/** Charges the channel of one call that was charged under this voucher. */
export const chargeOfVoucher = (
  { change }: Now,
  dialect: SqlDialect,
  callId: CallId,
  { id, channel, unit, most, signature }: VoucherOfCall,
): void => {
  const { one } = textsFor(dialect)
  change(one.settled, callId, id, channel, unit)
  change(one.charged, callId, id, channel, most, signature)
}
