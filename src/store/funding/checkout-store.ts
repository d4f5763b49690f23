/** Payments by Stripe: credited once, and taken back at most once, when the payer got the money back. */
import { decimalFromNano, least, type Nano } from '../../core/money.ts'
import { LEAVING } from '../../tenancy/key.ts'
import { type Engine, once, type Row, type Run, runOne, type SqlDialect } from '../engine/engine.ts'
import { nanoOf, textOf } from '../engine/row.ts'
import { postIn, posting } from '../ledger/post.ts'
import { recordOfWallet } from '../people/event-store.ts'
import type { Checkout, CheckoutStore } from './funding-port.ts'
import { checkouts } from './funding-rows.ts'
import { lockInvoice, markPaid } from './invoice-row.ts'
import { pauseTopUps } from './stop-top-ups.ts'
import { topUpCredited } from './top-up-store.ts'

const checkoutOf = (row: Row): Checkout => {
  const { paidRef, ...checkout } = checkouts.read(row)
  return { ...checkout, paid: paidRef !== undefined }
}

/**
 * Whether a wallet's organisation is not in another cell: events reach all cells, and there they are taken. While it is on its way,
 * they fail here, so that Stripe sends them again.
 */
const hasNotLeft = (wallet: string): string =>
  `not exists (select 1 from account h where h.id = ${wallet} and h.cell is not null and h.cell not like '${LEAVING}%')`

const refOf = (payment: string): string => `stripe:${payment}`

const topupOf = async (run: Run, ref: string): Promise<Row | undefined> =>
  (
    await run(
      `select t.amount, coalesce(c.wallet_id, t.credit) as wallet_id from transfer t
       left join credit_line c on c.account_id = t.credit where t.kind = 'topup' and t.ref = $1 and ${hasNotLeft('t.credit')}`,
      [ref],
    )
  )[0]

/** The account that the payment is for: the credit line while its invoice is unpaid and covered, else the wallet. */
const creditIn = async (run: Run, dialect: SqlDialect, checkout: Checkout, paid: Nano, ref: string) => {
  const amount = least(paid, checkout.amount)
  const invoice =
    checkout.invoiceId === undefined ? undefined : await lockInvoice(run, dialect, checkout.invoiceId)
  const settles = invoice !== undefined && invoice.paidRef === undefined && invoice.total === amount
  const credit = settles ? invoice.account : checkout.walletId
  const outcome = await postIn(run, dialect, { kind: 'topup', ref, debit: 'cash', credit, amount })
  if (settles) await markPaid(run, invoice.id, ref)
  return outcome
}

type TakenBack = Parameters<CheckoutStore['takeBack']>[0]

/**
 * Stripe may take a payment back twice, by a refund and by a dispute of the whole; the wallet gives back what the
 * payment brought, once.
 */
const takeIn = async (run: Run, dialect: SqlDialect, { id, payment, outstanding }: TakenBack) => {
  const topup = await topupOf(run, refOf(payment))
  if (topup === undefined) return 'unknown'
  const wallet = textOf(topup, 'wallet_id')
  // Locked before reading what was taken: refunds and disputes of one payment wait here for each other.
  await run(`select a.id from account a where a.id = $1${dialect.lock('a')}`, [wallet])
  const known = await run('select id, outstanding from taken_back where topup_ref = $1', [refOf(payment)])
  const mine = known.find((row) => row.id === id)
  if (mine !== undefined && nanoOf(mine, 'outstanding') <= outstanding) return 'replayed'
  await run(
    `insert into taken_back (id, topup_ref, outstanding) values ($1, $2, $3)
     on conflict (id) do update set outstanding = excluded.outstanding`,
    [id, refOf(payment), outstanding],
  )
  const reclaimed = known.reduce((sum, row) => sum + nanoOf(row, 'outstanding'), 0n)
  const before = mine === undefined ? 0n : nanoOf(mine, 'outstanding')
  const limit = nanoOf(topup, 'amount')
  const more = least(limit, reclaimed - before + outstanding) - least(limit, reclaimed)
  const move = { kind: 'adjust', ofTopup: refOf(payment), note: `of ${refOf(payment)}` } as const
  if (more > 0n) {
    await postIn(run, dialect, { ...move, ref: refOf(id), debit: wallet, credit: 'cash', amount: more }, true)
    await pauseTopUps(run, dialect, wallet)
  }
  if (more < 0n) {
    const ref = `${refOf(id)}:back${outstanding === 0n ? '' : `:${outstanding}`}`
    await postIn(run, dialect, { ...move, ref, debit: 'cash', credit: wallet, amount: -more })
  }
  return 'posted'
}

export const checkoutStore = (engine: Engine): CheckoutStore => {
  const { dialect } = engine
  return {
    openCheckout: ({ id, walletId, invoiceId, amount }, by) =>
      engine.transaction('control', async (run) => {
        const given = { id, walletId, invoiceId, amount }
        await runOne(run, checkouts.insert('checkout', given, { created_at: dialect.now }))
        const after = {
          amount_usd: decimalFromNano(amount),
          ...(invoiceId === undefined ? {} : { invoice: invoiceId }),
        }
        await recordOfWallet(run, dialect, {
          by,
          walletId,
          what: 'wallet.checkout_opened',
          subject: id,
          after,
        })
      }),
    checkout: async (id) =>
      (
        await once(
          engine,
          'control',
          `select o.* from checkout o where o.id = $1 and ${hasNotLeft('o.wallet_id')}`,
          id,
        )
      ).map(checkoutOf)[0],
    creditPayment: ({ checkoutId, payment, amount }) =>
      posting(engine, async (run) => {
        const ref = refOf(payment)
        // Locked first: copies of one event wait here, and then find what the first copy posted.
        const text = `select o.* from checkout o where o.id = $1 and ${hasNotLeft('o.wallet_id')}`
        const [row] = await run(text + dialect.lock('o'), [checkoutId])
        if (row === undefined) return 'unknown'
        if ((await topupOf(run, ref)) !== undefined) return 'replayed'
        const outcome = await creditIn(run, dialect, checkoutOf(row), amount, ref)
        await run('update checkout set paid_ref = $2 where id = $1 and paid_ref is null', [checkoutId, ref])
        await topUpCredited(run, dialect, checkoutId)
        return outcome
      }),
    takeBack: (taken) => posting(engine, (run) => takeIn(run, dialect, taken)),
  }
}
