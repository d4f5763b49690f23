/**
 * Channels: a voucher is recorded before its call runs, charged with it, and claimed later. What was charged and not
 * claimed is what the channel's account owes, to the last unit.
 */
import type { Nano } from '../../core/money.ts'
import { greatest } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import { PAYMENTS_ORG } from '../../ledger/types.ts'
import { followedBy } from '../engine/columns.ts'
import { type Engine, once, type Run, runOne } from '../engine/engine.ts'
import { countOf, maybeNano, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { postIn, posting } from '../ledger/post.ts'
import { settledOfAccount } from '../ledger/sums.ts'
import { beginVoucher } from './begin-voucher.ts'
import type { Channel, ChannelStore, NewVoucher, VoucherTaken } from './channel-port.ts'
import {
  changed,
  channels,
  endVoucher,
  freeChannel,
  freshMs,
  type KeptVoucher,
  LIFE_MS,
  type LockedChannel,
  lockChannel,
  ROUND_MS,
} from './channel-row.ts'
import { payerRows } from './payer-rows.ts'
import { chargedFor, lockPayment, payments } from './payment-row.ts'

/** The channel's row, with what the chain says of it now. */
const seenChannel = async (engine: Engine, run: Run, it: NewVoucher): Promise<LockedChannel | undefined> => {
  const { now } = engine.dialect
  const { channel, seen, payer } = it
  const known = await lockChannel(engine, run, channel.id)
  if (seen === undefined) return known
  const { balance, claimed, leavingAt } = seen
  if (known !== undefined) {
    const seenNow = await changed(
      run,
      `balance = cast($2 as bigint), leaving_at = cast($3 as bigint), seen_at = ${now} where id = $1`,
      [channel.id, balance, leavingAt ?? null],
    )
    await boundDebt(run, seenNow)
    return { ...seenNow, now: known.now }
  }
  await run(
    `insert into account (id, bounded, org_id, name, lowest, created_at) values ($1, 1, $2, $3, $4, ${now})
     on conflict (id) do nothing`,
    [channel.account, PAYMENTS_ORG, channel.id, claimed - balance],
  )
  const made = { ...channel, payer, balance, leavingAt, charged: claimed, claimed }
  const { text, params } = channels.insert('x402_channel', made, {
    seen_at: now,
    created_at: now,
    began: (bind) => bind(claimed),
  })
  await run(`${text} on conflict (id) do nothing`, params)
  return lockChannel(engine, run, channel.id)
}

/** The channel's account may owe what is deposited and not claimed. What it owes, or has lent, already counts on. */
const boundDebt = (run: Run, { account, claimed, balance }: Channel): Promise<unknown> =>
  run(
    `update account set lowest = case when balance - held < cast($2 as bigint) then balance - held else cast($2 as bigint) end
     where id = $1`,
    [account, claimed - balance],
  )

const record = async (engine: Engine, run: Run, it: NewVoucher): Promise<void> => {
  const { now } = engine.dialect
  const { channel, most, signature, deposit, seen: _seen, ...given } = it
  const kept: KeptVoucher = { most: String(most), signature, deposit }
  await runOne(
    run,
    followedBy(
      payments.insert(
        'x402_payment',
        {
          ...given,
          account: channel.account,
          channelId: channel.id,
          sent: JSON.stringify(kept),
          state: 'authorized',
          scheme: 'upto',
          creditTo: 'revenue',
        },
        {
          created_at: now,
          next_try: `${now} + ${ROUND_MS}`,
          expires_at: `${now} + ${LIFE_MS}`,
        },
      ),
      `on conflict (id) do update set call_id = excluded.call_id, fingerprint = excluded.fingerprint,
         account_id = excluded.account_id, state = 'authorized', amount = excluded.amount, sent = excluded.sent,
         reason = null, tx = coalesce(excluded.tx, x402_payment.tx), created_at = excluded.created_at,
         next_try = excluded.next_try, tries = 0, expires_at = excluded.expires_at`,
    ),
  )
  await run('update x402_channel set pending = $2 where id = $1', [channel.id, it.id])
}

const take = (engine: Engine, it: NewVoucher): Promise<VoucherTaken> =>
  engine.transaction('control', async (run): Promise<VoucherTaken> => {
    const locked = await seenChannel(engine, run, it)
    if (locked === undefined) return { outcome: 'unseen' }
    const same = locked.pending === it.id ? await lockPayment(engine, run, it.id) : undefined
    // The same request once more, while its first attempt has not ended or after it failed.
    if (same?.state === 'authorized' && same.callId === it.callId)
      if ((await chargedFor(run, it.callId)) === undefined)
        return { outcome: 'authorized', channel: { ...locked, account: same.account }, freshMs: 0 }
    const channel = await freeChannel(engine, run, locked)
    if (channel === 'open') return { outcome: 'busy' }
    if (channel.charged + it.amount !== it.most) return { outcome: 'mismatch', channel }
    if (it.seen === undefined && !isFresh(channel, it.most, locked.now)) return { outcome: 'unseen' }
    if (channel.leavingAt !== undefined || channel.lost > 0n) return { outcome: 'leaving' }
    if (it.most > channel.balance) return { outcome: 'beyond_deposit' }
    await record(engine, run, it)
    return { outcome: 'authorized', channel, freshMs: freshMs(channel, locked.now) }
  })

const isFresh = (channel: Channel, most: Nano, now: Instant): boolean =>
  freshMs(channel, now) > 0 && channel.leavingAt === undefined && most <= channel.balance

const charge = (engine: Engine, id: string): ReturnType<ChannelStore['chargeVoucher']> =>
  posting(engine, async (run) => {
    const found = await run('select channel_id from x402_payment where id = $1', [id])
    const channel = await lockChannel(engine, run, textOf(onlyRow(found), 'channel_id'))
    const payment = await lockPayment(engine, run, id)
    if (channel === undefined || payment === undefined) throw new Error(`there is no voucher ${id}`)
    const { deposit }: KeptVoucher = JSON.parse(payment.sent ?? '{}')
    if (payment.state !== 'authorized') return { payment, channel, deposit }
    const ended = await endVoucher(engine, run, channel, payment)
    if (ended === 'open') return { payment, channel, deposit }
    return { payment: (await lockPayment(engine, run, id)) ?? payment, channel: ended, deposit }
  })

const dueClaims = (
  engine: Engine,
  { asset, network, sum, ageMs, ownMs, most }: Parameters<ChannelStore['dueClaims']>[0],
): ReturnType<ChannelStore['dueClaims']> =>
  engine.transaction('control', async (run) => {
    const { now, lockFree, oneOf } = engine.dialect
    const where = `c.charged_at is not null and c.signature is not null and c.asset = $1
      and substr(c.id, 1, length($2)) = $2 and c.next_try <= ${now}`
    const [waiting] = await run(
      `select cast(sum(c.charged - c.claimed - c.lost) as bigint) as amount,
         sum(case when c.leaving_at is not null or c.charged_at <= ${now} - ${ageMs} then 1 else 0 end) as late
       from x402_channel c where ${where}`,
      [asset, `${network}:`],
    )
    const amount = waiting === undefined ? undefined : maybeNano(waiting, 'amount')
    if (waiting === undefined || amount === undefined) return []
    if (amount < sum && countOf(waiting, 'late') === 0) return []
    const next = `select c.id from x402_channel c where ${where}
      order by case when c.leaving_at is null then 1 else 0 end, c.charged_at limit $3${lockFree('c')}`
    const rows = await run(
      `update x402_channel set next_try = ${now} + ${ownMs} where ${oneOf('id', next)} returning *`,
      [asset, `${network}:`, most],
    )
    return rows.map((row) => ({ ...channels.read(row), signature: textOf(row, 'signature') }))
  })

/** Takes an amount out of what the channel's account owes. */
const lessOwed = async (
  engine: Engine,
  run: Run,
  channel: Channel,
  it: { kind: 'topup' | 'adjust'; debit: 'x402' | 'loss'; ref: string; amount: Nano; note: string },
): Promise<void> => {
  const { id, account } = channel
  await postIn(run, engine.dialect, { ...it, credit: account })
  await run('update account set lowest = lowest + cast($2 as bigint) where id = $1', [account, it.amount])
  await takeChange(engine, run, channel, it)
  const column = it.debit === 'x402' ? 'claimed' : 'lost'
  await changed(
    run,
    `${column} = ${column} + cast($2 as bigint), next_try = 0,
       charged_at = case when charged > claimed + lost + cast($2 as bigint) then ${engine.dialect.now} else null end
     where id = $1`,
    [id, it.amount],
  )
}

/** What calls were charged less than their whole units is the house's, posted with each claim. */
const takeChange = async (
  engine: Engine,
  run: Run,
  { account, charged, claimed, lost, pending = '' }: Channel,
  it: { readonly ref: string; readonly amount: Nano },
): Promise<void> => {
  // A call that was charged and whose voucher has not ended owes beside what the channel was charged.
  const [row] = await run(
    `select ${settledOfAccount} + coalesce((select t.amount from transfer t join x402_payment p on p.call_id = t.ref
       where t.kind = 'usage' and t.debit = a.id and p.id = $2 and p.state = 'authorized'), 0) as has from account a where a.id = $1`,
    [account, pending],
  )
  const amount =
    nanoOf(onlyRow(row === undefined ? [] : [row]), 'has') - (claimed + lost + it.amount - charged)
  const ref = `${it.ref}:change`
  const change = { kind: 'adjust', ref, debit: account, credit: 'revenue', amount, note: 'change' } as const
  if (amount > 0n) await postIn(run, engine.dialect, change, true)
}

const claim = (engine: Engine, id: string, claimed: Nano, transaction: string): Promise<void> =>
  posting(engine, async (run) => {
    const channel = await lockChannel(engine, run, id)
    if (channel === undefined || claimed <= channel.claimed) return
    const ref = `x402:claim:${id}:${claimed}`
    const amount = claimed - channel.claimed
    await lessOwed(engine, run, channel, { kind: 'topup', debit: 'x402', ref, amount, note: transaction })
  })

const lose = (engine: Engine, id: string, claimable: Nano): Promise<void> =>
  posting(engine, async (run) => {
    const channel = await lockChannel(engine, run, id)
    if (channel === undefined) return
    const amount = channel.charged - channel.lost - greatest(claimable, channel.claimed)
    if (amount <= 0n) return
    const ref = `x402:lost:${id}:${channel.charged}`
    await lessOwed(engine, run, channel, { kind: 'adjust', debit: 'loss', ref, amount, note: 'not paid' })
  })

const leaving = async (engine: Engine, ids: readonly string[]): Promise<void> => {
  const { now, oneOf, each } = engine.dialect
  await once(
    engine,
    'control',
    `update x402_channel set leaving_at = ${now} / 1000, seen_at = 0, next_try = 0
       where leaving_at is null and seen_at < ${now} - ${ROUND_MS} and ${oneOf('id', `select e.value->>'b' from ${each('$1')} e`)}`,
    JSON.stringify(ids.map((b) => ({ b }))),
  )
}

export const channelStore = (engine: Engine): ChannelStore => ({
  ...payerRows(engine),
  channel: async (id) => {
    const [row] = await once(engine, 'control', 'select * from x402_channel where id = $1', id)
    return row === undefined ? undefined : channels.read(row)
  },
  takeVoucher: (voucher) => take(engine, voucher),
  beginVoucher: (voucher, claim) => beginVoucher(engine, voucher, claim),
  chargeVoucher: (id) => charge(engine, id),
  channelsLeaving: (ids) => leaving(engine, ids),
  dueClaims: (it) => dueClaims(engine, it),
  claimChannel: (id, claimed, transaction) => claim(engine, id, claimed, transaction),
  loseChannel: (id, claimable) => lose(engine, id, claimable),
})
