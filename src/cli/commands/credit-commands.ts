/** `turnpike credit …`: grants, shows, states and settles post-paid billing (mpp). */
import type { Command } from 'commander'
import {
  billingGet,
  billingStatement,
  creditList,
  invoicePay,
  invoiceSettle,
} from '../../control/money/invoices.ts'
import { creditGrant } from '../../control/money/money.ts'
import { silentLog } from '../../core/log.ts'
import { decimalFromNano } from '../../core/money.ts'
import { monthOf } from '../../core/time.ts'
import { OPERATOR_WALLET } from '../config/first-start.ts'
import { stripeFor } from '../config/parts.ts'
import { controlOf, forPrograms, performAs } from '../run/control.ts'
import { type Database, Failed, onLedger, print, tableOf, under } from '../run/run-command.ts'
import { walletOf } from './wallet-commands.ts'

type GrantOptions = { usd: string; wallet: string; netDays?: string; json?: boolean }
type StatementOptions = { wallet: string; month?: string; json?: boolean }
type PayOptions = { from: string; ref?: string; json?: boolean }

export const creditCommands = (program: Command): void => {
  const credit = program.command('credit').description('post-paid billing (mpp): credit lines and invoices')
  under(credit, 'grant', 'let a wallet’s keys use up to an amount and pay later; 0 withdraws it')
    .requiredOption('--usd <amount>', 'the most that may be owed')
    .option('--wallet <wallet>', 'which wallet: id or name', OPERATOR_WALLET)
    .option('--net-days <n>', 'days from an invoice until it is past due (default: as before, at first 14)')
    .option('--json', 'for programs')
    .action(onLedger(grant))
  under(credit, 'show', 'all credit lines, or one with its invoices')
    .argument('[wallet]', 'which: id or name')
    .option('--json', 'for programs')
    .action(
      onLedger((database, wallet: string | undefined, options: { json?: boolean }) =>
        wallet === undefined ? showAll(database, options.json) : showOne(database, wallet, options.json),
      ),
    )
  under(credit, 'statement', 'what was used and paid in a month (UTC)')
    .option('--wallet <wallet>', 'which wallet: id or name', OPERATOR_WALLET)
    .option('--month <month>', 'such as 2026-11 (default: this month)')
    .option('--json', 'for programs')
    .action(onLedger(state))
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
    .action(onLedger(pay))
}

const grant = async (database: Database, options: GrantOptions): Promise<void> => {
  const { id } = await walletOf(database, options.wallet)
  const input = {
    wallet: id,
    limit_usd: options.usd,
    ...(options.netDays === undefined ? {} : { net_days: options.netDays }),
  }
  const line = await performAs('credit grant', database, creditGrant, input)
  const shown = forPrograms(line)
  print(options.json, shown, tableOf([shown]))
}

const showAll = async (database: Database, json: boolean | undefined): Promise<void> => {
  await database.store.credit.closeMonths()
  const { data } = await performAs('credit show', database, creditList, {})
  const lines = data.map(forPrograms)
  print(json, lines, tableOf(lines))
}

/** The line with its invoices, of the months that are over. */
const billOf = async (database: Database, command: string, name: string) => {
  await database.store.credit.closeMonths()
  const { id: wallet } = await walletOf(database, name)
  const bill = await performAs(command, database, billingGet, { wallet })
  if (bill.status === 'none')
    throw new Failed(`'${name}' has no credit line; 'turnpike credit grant --wallet ${name}' opens one`)
  return bill
}

const showOne = async (database: Database, wallet: string, json: boolean | undefined): Promise<void> => {
  const { invoices, ...line } = await billOf(database, 'credit show', wallet)
  const [shown, each] = [forPrograms(line), invoices.map(forPrograms)]
  print(json, { ...shown, invoices: each }, `${tableOf([shown])}\n${tableOf(each)}`)
}

const state = async (database: Database, options: StatementOptions): Promise<void> => {
  const { wallet } = await billOf(database, 'credit statement', options.wallet)
  const input = { wallet, month: options.month ?? monthOf(Date.now()) }
  const statement = await performAs('credit statement', database, billingStatement, input)
  const { lines, invoice, ...sums } = statement
  const text = `${tableOf(lines.map(forPrograms))}\n${tableOf([{ ...forPrograms(sums), invoice: invoice?.id ?? '' }])}`
  print(options.json, forPrograms(statement), text)
}

/** A link with which the customer pays by Stripe; the payment itself arrives by the webhook. */
const link = async (database: Database, invoice: string, json: boolean | undefined): Promise<void> => {
  const stripe = await stripeFor(database.config, database.store, silentLog)
  if (stripe === undefined) throw new Failed('Stripe is off: set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET')
  const control = { ...(await controlOf(database)), payments: { stripe } }
  const { checkout } = await performAs('credit pay', control, invoicePay, { invoice, method: 'stripe' })
  print(json, { id: checkout?.id, url: checkout?.url }, `${checkout?.url}\n`)
}

const pay = async (database: Database, id: string, options: PayOptions): Promise<void> => {
  const { from, ref, json } = options
  if (from === 'stripe') return link(database, id, json)
  if (from !== 'wallet' && from !== 'cash')
    throw new Failed(`--from must be wallet, cash or stripe, not '${from}'`)
  const { invoice, outcome } =
    from === 'wallet'
      ? await performAs('credit pay', database, invoicePay, { invoice: id, method: 'wallet' })
      : await performAs('credit pay', database, invoiceSettle, {
          invoice: id,
          ...(ref === undefined ? {} : { ref }),
        })
  const text =
    outcome === 'paid' ? `paid ${decimalFromNano(invoice.total_usd)} USD` : 'nothing was due; nothing changed'
  print(json, { ...forPrograms(invoice), outcome }, `${text}; ${id} is ${invoice.status}\n`)
}
