/** `turnpike wallet …`: creates, funds and shows wallets. */
import type { Command } from 'commander'
import type { z } from 'zod'
import { walletFund, walletWithdraw } from '../../control/money/money.ts'
import { walletGet } from '../../control/money/wallet.ts'
import { organisationList, organisationPut } from '../../control/organisations.ts'
import { decimalFromNano, usdNumber } from '../../core/money.ts'
import { newIdOf } from '../../core/time.ts'
import type { Wallet } from '../../store/accounts/tenancy-port.ts'
import { OPERATOR_WALLET } from '../config/first-start.ts'
import { everyPage, performAs } from '../run/control.ts'
import { type Database, Failed, onLedger, print, tableOf, under } from '../run/run-command.ts'
import { walletForgetCommand } from './forget-commands.ts'

export const walletCommands = (program: Command): void => {
  const wallet = program.command('wallet').description('wallets')
  under(wallet, 'create', 'make an organisation with an empty wallet')
    .requiredOption('--name <text>', 'whose it is')
    .option('--json', 'for programs')
    .action(onLedger(create))
  under(wallet, 'fund', 'add money to a wallet')
    .requiredOption('--usd <amount>', 'how much')
    .option('--wallet <wallet>', 'which wallet: id or name', OPERATOR_WALLET)
    .option('--ref <text>', 'your reference of the payment; the same one is never credited twice')
    .option('--json', 'for programs')
    .action(onLedger((database, options: FundOptions) => move(database, 'fund', options)))
  wallet
    .command('withdraw')
    .description('take money out of a wallet, for a payment back to its owner; never what open calls hold')
    .requiredOption('--usd <amount>', 'how much')
    .requiredOption('--wallet <wallet>', 'which wallet: id or name')
    .option('--ref <text>', 'your reference of the payment; the same one is never taken twice')
    .option('--json', 'for programs')
    .action(onLedger((database, options: FundOptions) => move(database, 'withdraw', options)))
  showCommands(wallet)
  walletForgetCommand(wallet)
}

const showCommands = (wallet: Command): void => {
  under(wallet, 'show', 'one wallet')
    .argument('[wallet]', 'which: id or name', OPERATOR_WALLET)
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, id: string, options: { json?: boolean }) => {
        const { id: wallet } = await walletOf(database, id)
        const found = await performAs('wallet show', database, walletGet, { wallet })
        const { organisation, ...of } = found
        const available_usd = of.balance_usd - of.held_usd
        const rows = {
          ...shown({ ...of, id: organisation, wallet, available_usd }),
          ...topUpsOf(found.top_ups),
        }
        print(options.json, rows, tableOf([rows]))
      }),
    )
  under(wallet, 'list', 'all wallets')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, options: { json?: boolean }) => {
        const rows = (await allOf(database)).map(shown)
        print(options.json, rows, tableOf(rows))
      }),
    )
}

const create = async (database: Database, { name, json }: { name: string; json?: boolean }) => {
  const organisation = newIdOf('org')
  const made = await performAs('wallet create', database, organisationPut, { organisation, name })
  print(json, shown(made), `${made.wallet}\n`)
}

type FundOptions = { usd: string; wallet: string; ref?: string; json?: boolean }

const move = async (
  database: Database,
  verb: 'fund' | 'withdraw',
  { usd, wallet, ref = Bun.randomUUIDv7(), json }: FundOptions,
): Promise<void> => {
  const { id } = await walletOf(database, wallet)
  const [act, done, before] =
    verb === 'fund'
      ? ([walletFund, 'credited', 'was credited before'] as const)
      : ([walletWithdraw, 'withdrew', 'was withdrawn before'] as const)
  const input = { wallet: id, amount_usd: usd, ref }
  const { outcome, ...after } = await performAs(`wallet ${verb}`, database, act, input)
  const text = outcome === 'posted' ? `${done} ${usd} USD` : `the reference ${ref} ${before}; nothing changed`
  print(
    json,
    { ...shown(after), outcome, ref },
    `${text}; ${id} now has ${decimalFromNano(after.balance_usd)} USD\n`,
  )
}

/** The wallet by its id, or by its name if only one has that; else the reason why none was found. */
export const walletOf = async ({ store }: Database, name: string): Promise<Wallet> => {
  const found = await store.wallets.wallet(name)
  if (found !== undefined) return found
  const [only, ...more] = (await store.wallets.list()).filter((wallet) => wallet.name === name)
  if (only === undefined) throw new Failed(`there is no wallet '${name}'; 'turnpike wallet list' shows them`)
  if (more.length > 0)
    throw new Failed(`${more.length + 1} wallets are named '${name}'; use an id from 'turnpike wallet list'`)
  return only
}

type Line = Pick<
  z.output<typeof organisationList.shows>['data'][number],
  'id' | 'name' | 'wallet' | 'balance_usd' | 'held_usd' | 'available_usd'
>
type TopUps = z.output<typeof walletGet.shows>['top_ups']

const shown = (line: Line) => ({
  id: line.wallet,
  name: line.name,
  organisation: line.id,
  balance_usd: usdNumber(line.balance_usd),
  held_usd: usdNumber(line.held_usd),
  available_usd: usdNumber(line.available_usd),
})

const allOf = (database: Database) =>
  everyPage((last: z.output<typeof organisationList.shows>['data'][number] | undefined) =>
    performAs('wallet list', database, organisationList, {
      limit: 1_000,
      ...(last === undefined ? {} : { after: last.wallet }),
    }),
  )

const topUpsOf = ({ rule, active, card_saved: saved, paused, charged_today_usd: today }: TopUps) => ({
  auto_top_up:
    rule === null
      ? 'off'
      : active
        ? `${decimalFromNano(rule.amount_usd)} USD when below ${decimalFromNano(rule.below_usd)} USD`
        : `paused: ${paused ?? (saved ? 'set the rule again' : 'no payment method')}`,
  topped_up_today_usd: usdNumber(today),
})
