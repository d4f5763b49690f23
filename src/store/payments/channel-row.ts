/** Channels as rows: read, locked, and freed of the call that has them. */
import { clockIn } from '../engine/clock.ts'
import { integer, maybe, nano, rowsOf, text } from '../engine/columns.ts'
import type { Engine, Run } from '../engine/engine.ts'
import { onlyRow } from '../engine/row.ts'
import { postIn } from '../ledger/post.ts'
import type { Channel } from './channel-port.ts'
import type { Payment } from './payment-port.ts'
import { chargedFor, closeLeases, lockPayment } from './payment-row.ts'

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

/** Whoever changes a channel locks it first, and then its payment. */
export const lockChannel = async (engine: Engine, run: Run, id: string): Promise<Channel | undefined> => {
  const [row] = await run(`select c.* from x402_channel c where c.id = $1${engine.dialect.lock('c')}`, [id])
  return row === undefined ? undefined : channels.read(row)
}

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
  const { dialect } = engine
  const { account, id } = payment
  const charged = (await chargedFor(run, payment.callId)) ?? 0n
  const young = (await clockIn(run, dialect)) < payment.createdAt + BEGINS_WITHIN_MS
  if (charged === 0n && young) return 'open'
  if (!(await closeLeases(engine, run, account))) return 'open'
  if (charged === 0n) {
    await run('update account set lowest = 0 where id = $1 and balance >= 0', [account])
    await run(`update x402_payment set state = 'failed', reason = 'nothing_charged' where id = $1`, [id])
    return changed(run, `pending = null where id = $1`, [channel.id])
  }
  const amount = ((charged + channel.unit - 1n) / channel.unit) * channel.unit
  const { most, signature }: KeptVoucher = JSON.parse(payment.sent ?? '{}')
  const ref = `x402:${id}`
  await run('update account set lowest = lowest - cast($2 as bigint) where id = $1', [
    channel.account,
    amount,
  ])
  await postIn(run, dialect, {
    kind: 'topup',
    ref,
    debit: channel.account,
    credit: account,
    amount,
    ...(payment.transaction === undefined ? {} : { note: payment.transaction }),
  })
  // The house keeps what is less than a unit.
  if (amount > charged)
    await postIn(run, dialect, {
      kind: 'adjust',
      ref,
      debit: account,
      credit: 'revenue',
      amount: amount - charged,
      note: 'change',
    })
  await run('update account set lowest = 0 where id = $1', [account])
  await run(
    `update x402_payment set state = 'settled', amount = $2, change_to = 'revenue', settled_at = ${dialect.now}
     where id = $1`,
    [id, amount],
  )
  return changed(
    run,
    `pending = null, charged = charged + cast($2 as bigint), signed = cast($3 as bigint), signature = $4,
       charged_at = coalesce(charged_at, ${dialect.now}) where id = $1`,
    [channel.id, amount, BigInt(most), signature],
  )
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
