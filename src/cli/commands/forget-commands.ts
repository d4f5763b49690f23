/** `turnpike wallet forget`: removes what is known of a customer. */
import type { Command } from 'commander'
import { organisationForget } from '../../control/people/forget.ts'
import type { Forgotten } from '../../store/people/forget-port.ts'
import { performAs } from '../run/control.ts'
import { type Database, Failed, onLedger, print } from '../run/run-command.ts'

type Json = { readonly json?: boolean }

/** What stays, and why. */
const kept = [
  'postings, receipts, invoices and payments, by their ids and references: the books must balance and be proved',
  'counts and costs of calls, by key: reports and limits are sums of them',
  'events with what was done, when and by which id, and no name or address',
  'earlier backups, log files and exports: they end with their own time',
] as const

/** Tells what was removed, and what stays and why. */
export const tellForgotten = (json: boolean | undefined, what: string, removed: Forgotten): void => {
  const rows = Object.entries(removed).filter(([, count]) => count > 0)
  print(
    json,
    { removed, kept },
    `${what}\n\nRemoved, or without what they said:\n${rows.map(([kind, count]) => `  ${kind.replaceAll('_', ' ')}: ${count}\n`).join('')}
Kept:\n${kept.map((one) => `  ${one}\n`).join('')}`,
  )
}

/** By its id alone: of two customers of one name, the wrong one would be gone. */
const forgetWallet = async (database: Database, id: string, { json }: Json): Promise<void> => {
  if ((await database.store.wallets.wallet(id)) === undefined)
    throw new Failed(`there is no wallet with the id '${id}'; 'turnpike wallet list' shows them`)
  const { removed } = await performAs('wallet forget', database, organisationForget, { wallet: id })
  tellForgotten(
    json,
    `The customer of ${id} is forgotten; its keys are deleted, and its money is where it was.`,
    removed,
  )
}

export const walletForgetCommand = (wallet: Command): void => {
  wallet
    .command('forget <id>')
    .description(
      'delete the keys of a customer and remove all that is known of it, for good; the books stay, by ids',
    )
    .option('--json', 'for programs')
    .action(onLedger(forgetWallet))
}
