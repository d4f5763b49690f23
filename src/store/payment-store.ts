/** Payments by x402: noted before they are sent to be settled, posted once when the money is ours, the change paid once. */
import type { Nano } from '../core/money.ts'
import { PAYMENTS_ORG } from '../ledger/words.ts'
import { type Engine, once, type Row, type Run, statement } from './engine.ts'
import { fold, lockMeters } from './fold.ts'
import type { ChangePaid, NewPayment, Payment, PaymentStore } from './payment-port.ts'
import { postIn } from './post.ts'
import { countOf, maybeText, nanoOf, onlyRow, textOf } from './row.ts'
import { isSilent } from './silence.ts'

/** The change of a call that has just ended is paid by the process that ran it; others wait this long. */
const CHANGE_WAIT_MS = 30_000
/** Pauses double from the first to the longest. */
const PAUSE_MS = 10_000
const LONGEST_DOUBLINGS = 9
/** As long as an answer is kept: after it a payment that was not served cannot be any more. */
const SERVABLE_MS = 24 * 60 * 60 * 1000

const states = ['settling', 'settled', 'failed'] as const

const paymentOf = (row: Row): Payment => {
  const state = states.find((one) => one === row.state)
  if (state === undefined) throw new Error(`payment ${row.id} is in an unknown state`)
  const [creditTo, changeTo, sent] = [
    maybeText(row, 'credit_to'),
    maybeText(row, 'change_to'),
    maybeText(row, 'sent'),
  ]
  const [transaction, reason] = [maybeText(row, 'tx'), maybeText(row, 'reason')]
  return {
    id: textOf(row, 'id'),
    callId: textOf(row, 'call_id'),
    fingerprint: textOf(row, 'fingerprint'),
    state,
    account: textOf(row, 'account_id'),
    amount: nanoOf(row, 'amount'),
    payer: textOf(row, 'payer'),
    createdAt: countOf(row, 'created_at'),
    ...(creditTo === undefined ? {} : { creditTo }),
    ...(changeTo === undefined ? {} : { changeTo }),
    ...(sent === undefined ? {} : { sent }),
    ...(transaction === undefined ? {} : { transaction }),
    ...(reason === undefined ? {} : { reason }),
  }
}

/** A failed payment moved no money, so it may be tried again, for whatever request. */
const begin = async (engine: Engine, it: NewPayment): Promise<Payment> => {
  const { now } = engine.words
  const [, rows = []] = await engine.batch('control', [
    statement(
      `insert into x402_payment (id, call_id, fingerprint, state, account_id, amount, payer, credit_to, sent, created_at, next_try)
       values ($1, $2, $3, 'settling', $4, $5, $6, $7, $8, ${now}, ${now} + cast($9 as bigint))
       on conflict (id) do update set call_id = excluded.call_id, fingerprint = excluded.fingerprint, state = 'settling',
         amount = excluded.amount, credit_to = excluded.credit_to, sent = excluded.sent, reason = null,
         next_try = excluded.next_try, tries = 0
       where x402_payment.state = 'failed'`,
      it.id,
      it.callId,
      it.fingerprint,
      it.account,
      it.amount,
      it.payer,
      it.creditTo ?? null,
      it.sent,
      it.firstTryMs,
    ),
    statement('select * from x402_payment where id = $1', it.id),
  ])
  return paymentOf(onlyRow(rows))
}

const lockPayment = async (engine: Engine, run: Run, id: string): Promise<Payment | undefined> => {
  const [row] = await run(`select p.* from x402_payment p where p.id = $1${engine.words.lock('p')}`, [id])
  return row === undefined ? undefined : paymentOf(row)
}

/** The account, the posting and the new state, in one transaction: money that came in is in the ledger, or will be. */
const settle = (engine: Engine, id: string, transaction: string): Promise<void> =>
  engine.transaction('control', async (run) => {
    const { words } = engine
    const payment = await lockPayment(engine, run, id)
    if (payment === undefined || payment.state === 'settled') return
    await run(
      `insert into account (id, bounded, org_id, name, created_at) values ($1, 1, $2, $3, ${words.now})
       on conflict (id) do nothing`,
      [payment.account, PAYMENTS_ORG, id],
    )
    await postIn(run, words, {
      kind: 'topup',
      ref: `x402:${id}`,
      debit: 'x402',
      credit: payment.account,
      amount: payment.amount,
      note: transaction,
    })
    await run(
      `update x402_payment set state = 'settled', tx = $2, sent = null, reason = null, settled_at = ${words.now},
         next_try = ${words.now} + ${CHANGE_WAIT_MS}, tries = 0 where id = $1`,
      [id, transaction],
    )
  })

/** Rows of `where` that are due, put off so that nobody else takes them up now. */
const takeDue = async (engine: Engine, where: string, most: number): Promise<readonly Payment[]> => {
  const { now, lockFree } = engine.words
  const pause = `${PAUSE_MS} * (1 << cast(case when tries < ${LONGEST_DOUBLINGS} then tries else ${LONGEST_DOUBLINGS} end as integer))`
  const rows = await once(
    engine,
    'control',
    statement(
      `update x402_payment set tries = tries + 1, next_try = ${now} + ${pause}
       where id in (select p.id from x402_payment p where ${where} and p.next_try < ${now}
         order by p.next_try limit $1${lockFree('p')}) returning *`,
      most,
    ),
  )
  return rows.map(paymentOf)
}

/** Folds and closes a lease that is locked and has no call open. */
const closeLease = async (engine: Engine, run: Run, lease: Row): Promise<void> => {
  const [id, state] = [textOf(lease, 'id'), textOf(lease, 'state')]
  const unused = nanoOf(lease, 'granted') - nanoOf(lease, 'used')
  for (const { text, params } of [...lockMeters(engine.words, id), ...fold(id, -unused, state)])
    await run(text, params)
  await run(`update lease set state = 'closed', recall = 0 where id = $1`, [id])
}

const leasesOn = (engine: Engine, run: Run, account: string, where: string): Promise<readonly Row[]> =>
  run(
    `select l.* from lease l where l.wallet_id = $1 and l.state <> 'closed' and ${where} order by l.id${engine.words.lock('l')}`,
    [account],
  )

/** Closes the leases on a payment's account once its call is over; false while it is not. */
const closeLeases = async (engine: Engine, run: Run, account: string): Promise<boolean> => {
  const leases = await leasesOn(engine, run, account, '1 = 1')
  const open = await run(
    'select f.call_id from inflight f join lease l on l.id = f.lease_id where l.wallet_id = $1',
    [account],
  )
  if (open.length > 0) return false
  for (const lease of leases) await closeLease(engine, run, lease)
  return true
}

/** A process that lives after all finds its call closed; what it then settles is charged if there is room, else the house's. */
const freeAccount = (engine: Engine, account: string): Promise<void> =>
  engine.transaction('control', async (run) => {
    for (const lease of await leasesOn(engine, run, account, isSilent(engine.words.now, 'l.instance'))) {
      await run('delete from inflight where lease_id = $1', [textOf(lease, 'id')])
      await closeLease(engine, run, lease)
    }
  })

const chargedFor = async (run: Run, callId: string): Promise<Nano | undefined> => {
  const [row] = await run(`select amount from transfer where kind = 'usage' and ref = $1`, [callId])
  return row === undefined ? undefined : nanoOf(row, 'amount')
}

const payChange = (engine: Engine, id: string, to: string): Promise<ChangePaid> =>
  engine.transaction('control', async (run): Promise<ChangePaid> => {
    const { words } = engine
    const payment = await lockPayment(engine, run, id)
    if (payment === undefined || payment.state === 'failed') return { outcome: 'unknown' }
    if (payment.state === 'settling') return { outcome: 'open' }
    const charged = await chargedFor(run, payment.callId)
    const amount = payment.amount - (charged ?? 0n)
    if (payment.changeTo !== undefined) return { outcome: 'paid_before', amount, to: payment.changeTo }
    const now = countOf(onlyRow(await run(`select ${words.now} as now`)), 'now')
    if (charged === undefined && now < payment.createdAt + SERVABLE_MS) return { outcome: 'open' }
    if (!(await closeLeases(engine, run, payment.account))) return { outcome: 'open' }
    if (amount > 0n)
      await postIn(run, words, {
        kind: 'adjust',
        ref: `x402:${id}`,
        debit: payment.account,
        credit: to,
        amount,
        note: 'change',
      })
    await run('update x402_payment set change_to = $2 where id = $1', [id, to])
    return { outcome: 'paid', amount, to }
  })

export const paymentStore = (engine: Engine): PaymentStore => {
  const { now } = engine.words
  return {
    payment: async (id) => {
      const [row] = await once(engine, 'control', statement('select * from x402_payment where id = $1', id))
      return row === undefined ? undefined : paymentOf(row)
    },
    beginPayment: (payment) => begin(engine, payment),
    settlePayment: (id, transaction) => settle(engine, id, transaction),
    failPayment: async (id, reason) => {
      const text = `update x402_payment set state = 'failed', reason = $2, sent = null where id = $1 and state = 'settling'`
      await once(engine, 'control', statement(text, id, reason))
    },
    unsettledPayments: (most) => takeDue(engine, `p.state = 'settling'`, most),
    dueChange: (most) =>
      takeDue(
        engine,
        `p.state = 'settled' and p.change_to is null and p.credit_to is not null
         and (p.created_at < ${now} - ${SERVABLE_MS}
           or exists (select 1 from transfer t where t.kind = 'usage' and t.ref = p.call_id))`,
        most,
      ),
    freeAccount: (account) => freeAccount(engine, account),
    payChange: (id, to) => payChange(engine, id, to),
  }
}
