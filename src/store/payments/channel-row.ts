/** Channels as rows: read, locked, and freed of the call that has them. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import { integer, maybe, nano, rowsOf, text } from '../engine/columns.ts'
import type { Engine, Run } from '../engine/engine.ts'
import { countOf, maybeNano, maybeText, onlyRow } from '../engine/row.ts'
import { postIn } from '../ledger/post.ts'
import type { Channel } from './channel-port.ts'
import type { Payment } from './payment-port.ts'
import { closeLeases, lockPayment } from './payment-row.ts'

export const channels = rowsOf({
  id: text('id'),
  payer: text('payer'),
  asset: text('asset'),
  account: text('account_id'),
  unit: nano('unit'),
  config: text('config'),
  balance: nano('balance'),
  leavingAt: maybe(integer('leaving_at')),
  seenAt: integer('seen_at'),
  charged: nano('charged'),
  claimed: nano('claimed'),
  lost: nano('lost'),
  signed: nano('signed'),
  signature: maybe(text('signature')),
  pending: maybe(text('pending')),
  chargedAt: maybe(integer('charged_at')),
  createdAt: integer('created_at'),
})

/** How long until another process looks what became of a call. */
export const ROUND_MS = 10_000
/** A voucher has no end of its own; the column needs one. */
export const LIFE_MS = 24 * 60 * 60 * 1000

/** What was seen of a channel counts for so long: much less than an exit takes. */
export const FRESH_MS = 30_000

/** How long what was seen of a channel counts from now on. */
export const freshMs = ({ seenAt }: Channel, now: Instant): number => seenAt + FRESH_MS - now

/** Whoever changes a channel locks it first, and then its payment. */
export const lockChannel = async (
  { dialect }: Engine,
  run: Run,
  id: string,
): Promise<LockedChannel | undefined> => {
  const text = `select c.*, ${dialect.now} as now from x402_channel c where c.id = $1${dialect.lock('c')}`
  const [row] = await run(text, [id])
  return row === undefined ? undefined : { ...channels.read(row), now: countOf(row, 'now') }
}

/** A channel, and when it was locked. */
export type LockedChannel = Channel & { readonly now: Instant }

/** What a voucher's payment keeps of it. */
export type KeptVoucher = {
  readonly most: string
  readonly signature: string
  readonly deposit?: string | undefined
}

/** Between its voucher and its hold a call leaves no trace; it has this long. */
const BEGINS_WITHIN_MS = 3_000

/** Ends a voucher whose call is over: charged, or as if it had never come. `open` while the call may still be charged. */
export const endVoucher = async (
  engine: Engine,
  run: Run,
  channel: Channel,
  payment: Payment,
): Promise<Channel | 'open'> => {
  const { now } = engine.dialect
  const { account, id, callId } = payment
  // In one look, since whoever charges a call closes it at once. What opens it later asks for the voucher first.
  const [call] = await run(
    `select ${now} as now, (select f.call_id from inflight f where f.call_id = $1) as open,
       (select t.amount from transfer t where t.kind = 'usage' and t.ref = $1) as amount`,
    [callId],
  )
  if (call === undefined || maybeText(call, 'open') !== undefined) return 'open'
  const charged = maybeNano(call, 'amount') ?? 0n
  if (charged === 0n && countOf(call, 'now') < payment.createdAt + BEGINS_WITHIN_MS) return 'open'
  const own = account !== channel.account
  if (own && !(await closeLeases(engine, run, account))) return 'open'
  if (charged === 0n) {
    await run(`update x402_payment set state = 'failed', reason = 'nothing_charged' where id = $1`, [id])
    return changed(run, `pending = null where id = $1`, [channel.id])
  }
  const amount = ((charged + channel.unit - 1n) / channel.unit) * channel.unit
  const { most, signature }: KeptVoucher = JSON.parse(payment.sent ?? '{}')
  if (own) await payOwn(engine, run, { channel, payment, amount, charged })
  await run(
    `update x402_payment set state = 'settled', amount = $2, change_to = 'revenue', settled_at = ${now} where id = $1`,
    [id, amount],
  )
  return changed(
    run,
    `pending = null, charged = charged + cast($2 as bigint), signed = cast($3 as bigint), signature = $4,
       charged_at = coalesce(charged_at, ${now}) where id = $1`,
    [channel.id, amount, BigInt(most), signature],
  )
}

type OwnAccount = {
  readonly channel: Channel
  readonly payment: Payment
  readonly amount: Nano
  readonly charged: Nano
}

/** A voucher that a version before took has an account of its own, which the channel pays. */
const payOwn = async (
  { dialect }: Engine,
  run: Run,
  { channel, payment, amount, charged }: OwnAccount,
): Promise<void> => {
  const { account, id } = payment
  const ref = `x402:${id}`
  await postIn(run, dialect, { kind: 'topup', ref, debit: channel.account, credit: account, amount }, true)
  const change = amount - charged
  if (change > 0n)
    await postIn(run, dialect, {
      kind: 'adjust',
      ref,
      debit: account,
      credit: 'revenue',
      amount: change,
      note: 'change',
    })
  await run('update account set lowest = 0 where id = $1', [account])
}

/** Changes a locked channel and returns it. */
export const changed = async (
  run: Run,
  set: string,
  params: readonly (string | bigint | number | null)[],
): Promise<Channel> => channels.read(onlyRow(await run(`update x402_channel set ${set} returning *`, params)))

/** Ends whatever call had the channel, if it is over. */
export const freeChannel = async (engine: Engine, run: Run, channel: Channel): Promise<Channel | 'open'> => {
  const { pending } = channel
  if (pending === undefined) return channel
  const payment = await lockPayment(engine, run, pending)
  return payment?.state === 'authorized'
    ? endVoucher(engine, run, channel, payment)
    : changed(run, 'pending = null where id = $1', [channel.id])
}
