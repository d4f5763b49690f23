/**
 * Payments of the scheme `upto`: authorised before the call, settled for what it was charged. Meanwhile the payment's
 * account may fall to minus the authorised amount, so that the call is held and charged like any other.
 */
import type { Nano } from '../../core/money.ts'
import { PAYMENTS_ORG } from '../../ledger/types.ts'
import { followedBy } from '../engine/columns.ts'
import { type Engine, type Run, runOne } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow } from '../engine/row.ts'
import { postIn } from '../ledger/post.ts'
import type { AuthorizedPayment, Payment, PaymentStore } from './payment-port.ts'
import { chargedFor, closeLeases, lockPayment, paymentOf, payments } from './payment-row.ts'

/** Blocks may be younger than the database's clock says. */
const EXPIRY_GRACE_MS = 60_000

/** What the payer has authorised for other calls and not paid yet; undefined for a payer who left something unpaid. */
const openOf = async (run: Run, { id, payer }: AuthorizedPayment): Promise<Nano | undefined> => {
  const row = onlyRow(
    await run(
      `select coalesce(cast(sum(case when state = 'lost' then 0 else amount end) as bigint), 0) as open,
         coalesce(sum(case when state = 'lost' then 1 else 0 end), 0) as lost
       from x402_payment where payer = $1 and id <> $2 and scheme = 'upto' and channel_id is null
         and state in ('authorized', 'settling', 'lost')`,
      [payer, id],
    ),
  )
  return countOf(row, 'lost') > 0 ? undefined : nanoOf(row, 'open')
}

/** Records what was authorised, unless the payer would owe more than `most` at once. */
export const authorize = (
  engine: Engine,
  it: AuthorizedPayment,
): ReturnType<PaymentStore['authorizePayment']> =>
  engine.transaction('control', async (run) => {
    const { now, lock } = engine.dialect
    // One at a time, so that all authorisations of a payer are counted together.
    await run(`select a.id from account a where a.id = 'x402'${lock('a')}`)
    const known = await lockPayment(engine, run, it.id)
    if (known !== undefined && known.state !== 'failed') return known
    const open = await openOf(run, it)
    if (open === undefined || open + it.amount > it.most) return 'too_much'
    await run(
      `insert into account (id, bounded, org_id, name, lowest, created_at) values ($1, 1, $2, $3, $4, ${now})
       on conflict (id) do update set lowest = excluded.lowest`,
      [it.account, PAYMENTS_ORG, it.id, -it.amount],
    )
    const { firstTryMs, most: _most, ...given } = it
    const [row] = await runOne(
      run,
      followedBy(
        payments.insert(
          'x402_payment',
          { ...given, state: 'authorized', scheme: 'upto', creditTo: 'revenue' },
          {
            created_at: now,
            next_try: (bind) => `${now} + cast(${bind(firstTryMs)} as bigint)`,
          },
        ),
        `on conflict (id) do update set call_id = excluded.call_id, fingerprint = excluded.fingerprint,
         state = 'authorized', scheme = 'upto', amount = excluded.amount, sent = excluded.sent, reason = null,
         credit_to = 'revenue', next_try = excluded.next_try, tries = 0, expires_at = excluded.expires_at
       returning *`,
      ),
    )
    return paymentOf(onlyRow(row === undefined ? [] : [row]))
  })

/** Nothing draws on the account any more; false while a call is open on it. */
const closeAccount = async (engine: Engine, run: Run, { account }: Payment): Promise<boolean> => {
  if (!(await closeLeases(engine, run, account))) return false
  await run('update account set lowest = 0 where id = $1 and balance >= 0', [account])
  return true
}

const isOver = async (engine: Engine, run: Run, id: string): Promise<boolean> => {
  const text = `select 1 as over from x402_payment where id = $1 and expires_at < ${engine.dialect.now} - ${EXPIRY_GRACE_MS}`
  return (await run(text, [id])).length > 0
}

const fail = async (run: Run, id: string, reason: string): Promise<Payment> => {
  const text = `update x402_payment set state = 'failed', reason = $2, sent = null where id = $1 returning *`
  return paymentOf(onlyRow(await run(text, [id, reason])))
}

/** Sets the amount to settle once the call was charged: the charge, rounded up to the token's unit. */
export const charge = (
  engine: Engine,
  { id, unit, firstTryMs }: Parameters<PaymentStore['chargePayment']>[0],
): ReturnType<PaymentStore['chargePayment']> =>
  engine.transaction('control', async (run) => {
    const payment = await lockPayment(engine, run, id)
    if (payment === undefined) throw new Error(`there is no payment ${id}`)
    if (payment.state !== 'authorized') return { payment, begun: false }
    const charged = await chargedFor(run, payment.callId)
    if (charged === undefined || charged === 0n) {
      const done = charged === 0n || (await isOver(engine, run, id))
      if (!done || !(await closeAccount(engine, run, payment))) return { payment, begun: false }
      return {
        payment: await fail(run, id, charged === 0n ? 'nothing_charged' : 'payment_expired'),
        begun: false,
      }
    }
    if (!(await closeLeases(engine, run, payment.account))) return { payment, begun: false }
    const amount = ((charged + unit - 1n) / unit) * unit
    await run('update account set lowest = $2 where id = $1', [payment.account, -amount])
    const [row] = await run(
      `update x402_payment set state = 'settling', amount = $2, tries = 0,
         next_try = ${engine.dialect.now} + cast($3 as bigint) where id = $1 returning *`,
      [id, amount, firstTryMs],
    )
    return { payment: paymentOf(onlyRow(row === undefined ? [] : [row])), begun: true }
  })

/** The call was charged, and its payer's money cannot come any more, so the house pays. False while a call is open. */
export const lose = async (engine: Engine, run: Run, payment: Payment, reason: string): Promise<boolean> => {
  if (!(await closeLeases(engine, run, payment.account))) return false
  const charged = (await chargedFor(run, payment.callId)) ?? 0n
  const [debit, credit] = ['loss', payment.account]
  const loss = {
    kind: 'adjust',
    ref: `x402:${payment.id}`,
    debit,
    credit,
    amount: charged,
    note: 'not paid',
  } as const
  if (charged > 0n) await postIn(run, engine.dialect, loss)
  await run('update account set lowest = 0 where id = $1', [payment.account])
  await run(`update x402_payment set state = 'lost', reason = $2, sent = null where id = $1`, [
    payment.id,
    reason,
  ])
  return true
}
