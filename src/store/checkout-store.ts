/** Payments by Stripe: credited once, and taken back when the payer got the money back. */
import { least, type Nano } from '../core/money.ts'
import type { Transfer } from '../ledger/words.ts'
import { type Engine, once, type Row, type Run, statement, type Words } from './engine.ts'
import type { Checkout, CheckoutStore } from './funding-port.ts'
import { lockInvoice, markPaid } from './invoice-row.ts'
import { postIn, posting } from './post.ts'
import { maybeText, nanoOf, textOf } from './row.ts'

const checkoutOf = (row: Row): Checkout => {
  const invoiceId = maybeText(row, 'invoice_id')
  return {
    id: textOf(row, 'id'),
    walletId: textOf(row, 'wallet_id'),
    ...(invoiceId === undefined ? {} : { invoiceId }),
    amount: nanoOf(row, 'amount'),
    paid: maybeText(row, 'paid_ref') !== undefined,
  }
}

const refOf = (payment: string): string => `stripe:${payment}`

const topupOf = async (run: Run, ref: string): Promise<Row | undefined> =>
  (
    await run(
      `select t.credit, coalesce(c.wallet_id, t.credit) as wallet_id from transfer t
       left join credit_line c on c.account_id = t.credit where t.kind = 'topup' and t.ref = $1`,
      [ref],
    )
  )[0]

/** The account that the payment is for: the credit line while its invoice is unpaid and covered, else the wallet. */
const creditIn = async (run: Run, words: Words, checkout: Checkout, paid: Nano, ref: string) => {
  const amount = least(paid, checkout.amount)
  const invoice =
    checkout.invoiceId === undefined ? undefined : await lockInvoice(run, words, checkout.invoiceId)
  const settles =
    invoice !== undefined &&
    maybeText(invoice, 'paid_ref') === undefined &&
    nanoOf(invoice, 'total') === amount
  const credit = settles ? textOf(invoice, 'account_id') : checkout.walletId
  const outcome = await postIn(run, words, { kind: 'topup', ref, debit: 'cash', credit, amount })
  if (settles) await markPaid(run, textOf(invoice, 'id'), ref)
  return outcome
}

export const checkoutStore = (engine: Engine): CheckoutStore => {
  const { words } = engine
  return {
    openCheckout: async ({ id, walletId, invoiceId, amount }) => {
      await once(
        engine,
        'control',
        statement(
          `insert into checkout (id, wallet_id, invoice_id, amount, created_at) values ($1, $2, $3, $4, ${words.now})`,
          id,
          walletId,
          invoiceId ?? null,
          amount,
        ),
      )
    },
    checkout: async (id) => {
      const [row] = await once(engine, 'control', statement('select * from checkout where id = $1', id))
      return row === undefined ? undefined : checkoutOf(row)
    },
    creditPayment: ({ checkoutId, payment, amount }) =>
      posting(engine, async (run) => {
        const ref = refOf(payment)
        // Locked first: copies of one event wait here, and then find what the first of them posted.
        const [row] = await run(`select o.* from checkout o where o.id = $1${words.lock('o')}`, [checkoutId])
        if (row === undefined) return 'unknown'
        if ((await topupOf(run, ref)) !== undefined) return 'replayed'
        const outcome = await creditIn(run, words, checkoutOf(row), amount, ref)
        await run('update checkout set paid_ref = $2 where id = $1 and paid_ref is null', [checkoutId, ref])
        return outcome
      }),
    takeBack: ({ id, payment, amount, ended }) =>
      posting(engine, async (run) => {
        const topup = await topupOf(run, refOf(payment))
        if (topup === undefined) return 'unknown'
        const wallet = textOf(topup, 'wallet_id')
        const ref = refOf(id)
        const note = `of ${refOf(payment)}`
        const taken: Transfer = { kind: 'adjust', ref, debit: wallet, credit: 'cash', amount, note }
        const outcome = await postIn(run, words, taken, true)
        if (!ended) return outcome
        return postIn(run, words, { ...taken, ref: `${ref}:back`, debit: 'cash', credit: wallet })
      }),
  }
}
