/** `turnpike wallet …`: creates, funds and shows wallets. */
import type { Command } from 'commander'
import { AMOUNT_FORM, decimalFromNano, type Nano, nanoFromDecimal, usdNumber } from '../core/money.ts'
import { systemClock } from '../core/time.ts'
import { newId } from '../gateway/new-token.ts'
import { awaitLeases } from '../payment/await-leases.ts'
import type { Wallet } from '../store/accounts/tenancy-port.ts'
import { ReplayConflict } from '../store/faults.ts'
import { OPERATOR_WALLET } from './first-start.ts'
import { byCommand, type Database, Failed, print, tableOf, withDatabase } from './run-command.ts'

export const walletCommands = (program: Command): void => {
  const wallet = program.command('wallet').description('wallets')
  wallet
    .command('create')
    .description('make an organisation with an empty wallet')
    .requiredOption('--name <text>', 'whose it is')
    .option('--json', 'for programs')
    .action((options: { name: string; json?: boolean }) =>
      withDatabase((database) => create(database, options)),
    )
  wallet
    .command('fund')
    .description('add money to a wallet')
    .requiredOption('--usd <amount>', 'how much')
    .option('--wallet <wallet>', 'which wallet: id or name', OPERATOR_WALLET)
    .option('--ref <text>', 'your reference of the payment; the same one is never credited twice')
    .option('--json', 'for programs')
    .action((options: FundOptions) => withDatabase((database) => fund(database, options)))
  wallet
    .command('withdraw')
    .description('take money out of a wallet, for a payment back to its owner; never what open calls hold')
    .requiredOption('--usd <amount>', 'how much')
    .requiredOption('--wallet <wallet>', 'which wallet: id or name')
    .option('--ref <text>', 'your reference of the payment; the same one is never taken twice')
    .option('--json', 'for programs')
    .action((options: FundOptions) => withDatabase((database) => withdraw(database, options)))
  showCommands(wallet)
}

const NAME_MAX = 200

const showCommands = (wallet: Command): void => {
  wallet
    .command('show')
    .description('one wallet')
    .argument('[wallet]', 'which: id or name', OPERATOR_WALLET)
    .option('--json', 'for programs')
    .action((id: string, options: { json?: boolean }) =>
      withDatabase(async (database) => {
        const found = await walletOf(database, id)
        const rows = { ...shown(found), ...(await topUpsOf(database, found.id)) }
        print(options.json, rows, tableOf([rows]))
      }),
    )
  wallet
    .command('list')
    .description('all wallets')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) =>
      withDatabase(async ({ store }) => {
        const rows = (await store.wallets.list()).map(shown)
        print(options.json, rows, tableOf(rows))
      }),
    )
}

const create = async (
  { store }: Database,
  { name, json }: { name: string; json?: boolean },
): Promise<void> => {
  if (name.trim() === '' || name.length > NAME_MAX)
    throw new Failed(`--name is required: whose it is, in at most ${NAME_MAX} characters`)
  const id = newId('wal')
  const by = byCommand('wallet create')
  const made = await store.wallets.createWallet({ id, orgId: `org_${id.slice(4)}`, name }, by)
  print(json, shown(made), `${made.id}\n`)
}

type FundOptions = { usd: string; wallet: string; ref?: string; json?: boolean }

const amountOf = ({ usd }: FundOptions): Nano => {
  const amount = nanoFromDecimal(usd)
  if (amount === undefined || amount === 0n)
    throw new Failed(`--usd must be above 0 and ${AMOUNT_FORM}, not '${usd}'`)
  return amount
}

const withdraw = async (database: Database, options: FundOptions): Promise<void> => {
  const amount = amountOf(options)
  const { id } = await walletOf(database, options.wallet)
  const ref = options.ref ?? Bun.randomUUIDv7()
  const outcome = await awaitLeases(systemClock, () =>
    database.store.funding.withdraw({ walletId: id, amount, ref }, byCommand('wallet withdraw')),
  ).catch((error: unknown) => {
    if (error instanceof ReplayConflict)
      throw new Failed(`the reference ${ref} was used for another withdrawal; nothing changed`)
    throw error
  })
  const after = await walletOf(database, id)
  if (outcome === 'short')
    throw new Failed(
      `${id} has ${decimalFromNano(after.balance - after.held)} USD beside what open calls hold; nothing changed`,
    )
  if (outcome === 'leased')
    throw new Failed(`servers hold the money of ${id} for calls; nothing changed, try again`)
  const text =
    outcome === 'posted'
      ? `withdrew ${options.usd} USD`
      : `the reference ${ref} was withdrawn before; nothing changed`
  print(
    options.json,
    { ...shown(after), outcome, ref },
    `${text}; ${id} now has ${decimalFromNano(after.balance)} USD\n`,
  )
}

const fund = async (database: Database, options: FundOptions): Promise<void> => {
  const amount = amountOf(options)
  const before = await walletOf(database, options.wallet)
  const ref = options.ref ?? Bun.randomUUIDv7()
  const event = {
    actor: byCommand('wallet fund'),
    orgId: before.orgId,
    what: 'wallet.funded',
    subject: before.id,
    after: { amount_usd: decimalFromNano(amount), note: ref },
  }
  const transfer = {
    kind: 'topup',
    ref: `operator:${ref}`,
    debit: 'cash',
    credit: before.id,
    amount,
  } as const
  const outcome = await database.store.ledger.post(transfer, event).catch((error: unknown) => {
    if (error instanceof ReplayConflict)
      throw new Failed(`the reference ${ref} was used for another payment; nothing changed`)
    throw error
  })
  const after = await walletOf(database, options.wallet)
  const text =
    outcome === 'posted'
      ? `credited ${options.usd} USD`
      : `the reference ${options.ref} was credited before; nothing changed`
  print(
    options.json,
    { ...shown(after), outcome },
    `${text}; ${after.id} now has ${decimalFromNano(after.balance)} USD\n`,
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

const shown = (wallet: Wallet) => ({
  id: wallet.id,
  name: wallet.name,
  organisation: wallet.orgId,
  balance_usd: usdNumber(wallet.balance),
  held_usd: usdNumber(wallet.held),
  available_usd: usdNumber(wallet.balance - wallet.held),
})

/** The state of the wallet's top-up rule. */
const topUpsOf = async ({ store }: Database, id: string) => {
  const { autoTopUp } = (await store.wallets.walletRules(id)).rules
  const { active, saved, paused, today } = await store.funding.topUpStatus(id)
  return {
    auto_top_up:
      autoTopUp === undefined
        ? 'off'
        : active
          ? `${decimalFromNano(autoTopUp.amount)} USD when below ${decimalFromNano(autoTopUp.below)} USD`
          : `paused: ${paused ?? (saved ? 'set the rule again' : 'no payment method')}`,
    topped_up_today_usd: usdNumber(today),
  }
}
