/** `turnpike credit …`: grants, shows, states and settles post-paid billing (mpp). */
import type { Command } from 'commander'
import { silentLog } from '../core/log.ts'
import { AMOUNT_FORM, decimalFromNano, nanoFromDecimal } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { monthOf, systemClock } from '../core/time.ts'
import { payFromWallet } from '../payment/pay-invoice.ts'
import { shownInvoice, shownLine, shownLines, shownStatement } from '../payment/show-credit.ts'
import type { CreditLine, CreditStatement } from '../store/funding/funding-port.ts'
import { OPERATOR_WALLET } from './first-start.ts'
import { addressAt } from './own-address.ts'
import { stripeFor } from './parts.ts'
import { byCommand, type Database, Failed, print, tableOf, withDatabase } from './run-command.ts'
import { walletOf } from './wallet-commands.ts'

type GrantOptions = { usd: string; wallet: string; netDays?: string; json?: boolean }
type StatementOptions = { wallet: string; month?: string; json?: boolean }
type PayOptions = { from: string; ref?: string; json?: boolean }

const DAYS_MAX = 365
const DAYS_USUAL = 14

export const creditCommands = (program: Command): void => {
  const credit = program.command('credit').description('post-paid billing (mpp): credit lines and invoices')
  credit
    .command('grant')
    .description('let a wallet’s keys use up to an amount and pay later; 0 withdraws it')
    .requiredOption('--usd <amount>', 'the most that may be owed')
    .option('--wallet <wallet>', 'which wallet: id or name', OPERATOR_WALLET)
    .option(
      '--net-days <n>',
      `days from an invoice until it is past due (default: as before, at first ${DAYS_USUAL})`,
    )
    .option('--json', 'for programs')
    .action((options: GrantOptions) => withDatabase((database) => grant(database, options)))
  credit
    .command('show')
    .description('all credit lines, or one with its invoices')
    .argument('[wallet]', 'which: id or name')
    .option('--json', 'for programs')
    .action((wallet: string | undefined, options: { json?: boolean }) =>
      withDatabase((database) =>
        wallet === undefined ? showAll(database, options.json) : showOne(database, wallet, options.json),
      ),
    )
  credit
    .command('statement')
    .description('what was used and paid in a month (UTC)')
    .option('--wallet <wallet>', 'which wallet: id or name', OPERATOR_WALLET)
    .option('--month <month>', 'such as 2026-11 (default: this month)')
    .option('--json', 'for programs')
    .action((options: StatementOptions) => withDatabase((database) => state(database, options)))
  credit
    .command('pay <invoice>')
    .description('pay an invoice from its wallet, or note that it was paid to you in another way')
    .option(
      '--from <source>',
      'wallet; cash for money that you received; stripe for a link to pay it',
      'wallet',
    )
    .option('--ref <text>', 'your reference of the money received')
    .option('--json', 'for programs')
    .action((id: string, options: PayOptions) => withDatabase((database) => pay(database, id, options)))
}

const grant = async (database: Database, options: GrantOptions): Promise<void> => {
  const limit = nanoFromDecimal(options.usd)
  if (limit === undefined) throw new Failed(`--usd must be ${AMOUNT_FORM}, not '${options.usd}'`)
  const days = options.netDays
  if (days !== undefined && (!/^\d{1,3}$/.test(days) || Number(days) > DAYS_MAX))
    throw new Failed(`--net-days must be a number from 0 to ${DAYS_MAX}, not '${days}'`)
  const { id } = await walletOf(database, options.wallet)
  const netDays =
    days === undefined ? ((await database.store.credit.creditLine(id))?.netDays ?? DAYS_USUAL) : Number(days)
  const by = byCommand('credit grant')
  const line = shownLine(await database.store.credit.grantCredit({ walletId: id, limit, netDays }, by))
  print(options.json, line, tableOf([line]))
}

const showAll = async ({ store }: Database, json: boolean | undefined): Promise<void> => {
  await store.credit.closeMonths()
  const lines = (await store.credit.creditLines()).map(shownLine)
  print(json, lines, tableOf(lines))
}

const lineOf = async (database: Database, wallet: string): Promise<CreditLine> => {
  const { id } = await walletOf(database, wallet)
  const line = await database.store.credit.creditLine(id)
  if (line === undefined)
    throw new Failed(`'${wallet}' has no credit line; 'turnpike credit grant --wallet ${wallet}' opens one`)
  return line
}

const showOne = async (database: Database, wallet: string, json: boolean | undefined): Promise<void> => {
  await database.store.credit.closeMonths()
  const found = await lineOf(database, wallet)
  const invoices = (await database.store.credit.invoices(found.walletId)).map(shownInvoice)
  const line = shownLine(found)
  print(json, { ...line, invoices }, `${tableOf([line])}\n${tableOf(invoices)}`)
}

const state = async (database: Database, options: StatementOptions): Promise<void> => {
  await database.store.credit.closeMonths()
  const line = await lineOf(database, options.wallet)
  const month = options.month ?? monthOf(Date.now())
  const statement = await database.store.credit.statement(line.walletId, month)
  if (statement === undefined)
    throw new Failed(`--month must be a month from ${line.opened} on, such as 2026-11, not '${month}'`)
  print(options.json, shownStatement(statement), textOf(statement))
}

const textOf = (statement: CreditStatement): string => {
  const { wallet, month, opening_usd, used_usd, paid_usd, closing_usd, invoice } = shownStatement(statement)
  const sums = { wallet, month, opening_usd, used_usd, paid_usd, closing_usd, invoice: invoice?.id ?? '' }
  return `${tableOf(shownLines(statement))}\n${tableOf([sums])}`
}

/** A link with which the customer pays by Stripe; the payment itself arrives by the webhook. */
const link = async ({ store, config }: Database, id: string, json: boolean | undefined): Promise<void> => {
  const stripe = await stripeFor(config, store, silentLog)
  if (stripe === undefined) throw new Failed('Stripe is off: set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET')
  const invoice = await store.credit.invoice(id)
  if (invoice?.status !== 'open' && invoice?.status !== 'past_due')
    throw new Failed(`there is no unpaid invoice '${id}'; 'turnpike credit show <wallet>' lists them`)
  const { walletId, total } = invoice
  const origin = addressAt(config.host, config.port)
  const opened = await stripe.checkout({
    walletId,
    invoiceId: id,
    amount: total,
    label: `Invoice ${id}`,
    origin,
  })
  if (opened instanceof Refusal) throw new Failed(opened.message)
  print(json, opened, `${opened.url}\n`)
}

const pay = async (database: Database, id: string, options: PayOptions): Promise<void> => {
  const { from, ref, json } = options
  if (from === 'stripe') return link(database, id, json)
  if (from !== 'wallet' && from !== 'cash')
    throw new Failed(`--from must be wallet, cash or stripe, not '${from}'`)
  const { store } = database
  const by = byCommand('credit pay')
  const outcome =
    from === 'wallet'
      ? await payFromWallet(store.credit, systemClock, id, by)
      : await store.credit.payInvoice({ id, from, ...(ref === undefined ? {} : { note: ref }) }, by)
  const invoice = await store.credit.invoice(id)
  if (outcome === 'unknown' || invoice === undefined)
    throw new Failed(`there is no invoice '${id}'; 'turnpike credit show <wallet>' lists them`)
  if (outcome === 'short') throw new Failed(`the wallet ${invoice.walletId} holds less than the invoice`)
  if (outcome === 'leased') throw new Failed(`calls hold the money of ${invoice.walletId}; try again`)
  const text =
    outcome === 'paid' ? `paid ${decimalFromNano(invoice.total)} USD` : 'nothing was due; nothing changed'
  print(json, { ...shownInvoice(invoice), outcome }, `${text}; ${id} is ${invoice.status}\n`)
}
