/**
 * Payments by x402: recorded before they are sent for settlement, posted once when the money is ours, the change paid
 * once.
 */
import { PAYMENTS_ORG } from '../../ledger/types.ts'
import { followedBy } from '../engine/columns.ts'
import { isDue } from '../engine/due.ts'
import { type Engine, once, statement } from '../engine/engine.ts'
import { onlyRow } from '../engine/row.ts'
import { postIn } from '../ledger/post.ts'
import { freeAccount, payChange, SERVABLE_MS } from './payment-change.ts'
import type { NewPayment, Payment, PaymentStore } from './payment-port.ts'
import { lockPayment, paymentOf, payments } from './payment-row.ts'
import { authorize, charge, lose } from './payment-upto.ts'

/** The process that ran a call pays its change. Other processes wait this long before they do it. */
const CHANGE_WAIT_MS = 30_000
/** Pauses double, from the first to the longest. */
const PAUSE_MS = 10_000
const LONGEST_DOUBLINGS = 9
const LONGEST_PAUSE_MS = PAUSE_MS * 2 ** LONGEST_DOUBLINGS
/** Money at Stripe is cash, as that of its top-ups is; a token's is on a chain. */
const sourceOf = (id: string): 'cash' | 'x402' => (id.startsWith('stripe:') ? 'cash' : 'x402')

/** A failed payment moved no money, so it may be tried again, for any request. */
const begin = async (engine: Engine, it: NewPayment): Promise<Payment> => {
  const { now } = engine.dialect
  const { firstTryMs, ...given } = it
  const noted = {
    invoiceId: undefined,
    creditTo: undefined,
    ...given,
    state: 'settling',
    scheme: 'exact',
  } as const
  const [, rows = []] = await engine.batch('control', [
    followedBy(
      payments.insert('x402_payment', noted, {
        created_at: now,
        next_try: (bind) => `${now} + cast(${bind(firstTryMs)} as bigint)`,
      }),
      `on conflict (id) do update set call_id = excluded.call_id, fingerprint = excluded.fingerprint, state = 'settling',
         invoice_id = excluded.invoice_id, amount = excluded.amount, credit_to = excluded.credit_to, sent = excluded.sent, reason = null,
         next_try = excluded.next_try, tries = 0
       where x402_payment.state = 'failed'`,
    ),
    statement('select * from x402_payment where id = $1', given.id),
  ])
  return paymentOf(onlyRow(rows))
}

/** The account, the posting and the new state, in one transaction: money that came in is in the ledger, or will be. */
const settle = (engine: Engine, id: string, transaction: string): Promise<void> =>
  engine.transaction('control', async (run) => {
    const { dialect } = engine
    const payment = await lockPayment(engine, run, id)
    if (payment === undefined || payment.state === 'settled') return
    await run(
      `insert into account (id, bounded, org_id, name, created_at) values ($1, 1, $2, $3, ${dialect.now})
       on conflict (id) do nothing`,
      [payment.account, PAYMENTS_ORG, id],
    )
    await postIn(run, dialect, {
      kind: 'topup',
      ref: `x402:${id}`,
      debit: sourceOf(id),
      credit: payment.account,
      amount: payment.amount,
      note: transaction,
    })
    await run(
      `update x402_payment set state = 'settled', tx = $2, sent = null, reason = null, settled_at = ${dialect.now},
         next_try = ${dialect.now} + ${CHANGE_WAIT_MS}, tries = 0 where id = $1`,
      [id, transaction],
    )
  })

const fail = (engine: Engine, id: string, reason: string, sent?: string): Promise<void> =>
  engine.transaction('control', async (run) => {
    const payment = await lockPayment(engine, run, id)
    if (payment?.state !== 'settling' || (sent ?? payment.sent) !== payment.sent) return
    if (payment.scheme === 'upto') return void (await lose(engine, run, payment, reason))
    await run(`update x402_payment set state = 'failed', reason = $2, sent = null where id = $1`, [
      id,
      reason,
    ])
  })

/** The due rows of `where`. They are postponed at once, so that nobody else takes them now. */
const takeDue = async (engine: Engine, where: string, most: number): Promise<readonly Payment[]> => {
  const { now, lockFree, oneOf } = engine.dialect
  const pause = `${PAUSE_MS} * (1 << cast(case when state = 'authorized' then 0 when tries < ${LONGEST_DOUBLINGS} then tries else ${LONGEST_DOUBLINGS} end as integer))`
  const due = `select p.id from x402_payment p where ${where} and ${isDue(now, 'p.next_try', LONGEST_PAUSE_MS)}
    order by p.next_try limit $1${lockFree('p')}`
  const rows = await once(
    engine,
    'control',
    `update x402_payment set tries = tries + 1, next_try = ${now} + ${pause} where ${oneOf('id', due)} returning *`,
    most,
  )
  return rows.map(paymentOf)
}

export const paymentStore = (engine: Engine): PaymentStore => {
  const { now } = engine.dialect
  const find = async (column: 'id' | 'call_id', value: string): Promise<Payment | undefined> => {
    const text = `select * from x402_payment where ${column} = $1 order by created_at desc limit 1`
    const [row] = await once(engine, 'control', text, value)
    return row === undefined ? undefined : paymentOf(row)
  }
  return {
    payment: (id) => find('id', id),
    paymentForCall: (callId) => find('call_id', callId),
    beginPayment: (payment) => begin(engine, payment),
    settlePayment: (id, transaction) => settle(engine, id, transaction),
    authorizePayment: (payment) => authorize(engine, payment),
    chargePayment: (it) => charge(engine, it),
    failPayment: (id, reason, sent) => fail(engine, id, reason, sent),
    unsettledPayments: (most) => takeDue(engine, `p.state in ('authorized', 'settling')`, most),
    dueChange: (most) =>
      takeDue(
        engine,
        `p.state = 'settled' and p.change_to is null and p.credit_to is not null
         and (p.invoice_id is not null or p.created_at < ${now} - ${SERVABLE_MS}
           or exists (select 1 from transfer t where t.kind = 'usage' and t.ref = p.call_id))`,
        most,
      ),
    freeAccount: (account) => freeAccount(engine, account),
    payChange: (id, to) => payChange(engine, id, to),
  }
}
