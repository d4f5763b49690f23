/** `turnpike budget …`: what calls for a team, a feature or an end user may cost. */
import type { Command } from 'commander'
import type { z } from 'zod'
import { budgetDelete, budgetGet, budgetList, budgetPut } from '../../control/budgets.ts'
import { capList } from '../../tenancy/limits.ts'
import { OPERATOR_WALLET } from '../config/first-start.ts'
import { everyPage, forPrograms, performAs } from '../run/control.ts'
import { type Database, onLedger, print, tableOf, withDatabase } from '../run/run-command.ts'
import { walletOf } from './wallet-commands.ts'

type Options = {
  wallet: string
  value?: string
  values?: string
  beyond?: string
  json?: boolean
} & Readonly<Record<string, unknown>>

type Shown = z.output<typeof budgetGet.shows>

export const budgetCommands = (program: Command): void => {
  const budget = program
    .command('budget')
    .description(
      'budgets of tags and end users (the tag "user"): X-Turnpike-Tags of calls, or what their bodies say',
    )
  const sub = (words: string, description: string) =>
    budget
      .command(words)
      .description(description)
      .option('--wallet <wallet>', 'which wallet: id or name', OPERATOR_WALLET)
      .option('--json', 'for programs')
  const valued = (command: Command) =>
    command.option('--value <value>', 'of the tag; without it the default for values without a budget')
  sub('list', 'all budgets of a wallet').argument('[tag]', 'only those of this tag').action(onLedger(list))
  valued(sub('show', 'one budget'))
    .argument('<tag>', 'such as user')
    .action(doing(budgetGet, () => ({})))
  const set = valued(sub('set', 'set all of a budget')).argument('<tag>', 'such as user')
  for (const { option, help } of capOptions) set.option(`${option} <usd>`, help)
  set
    .option('--values <count>', 'of a default: for how many values it makes budgets')
    .option('--beyond <refuse|other>', 'of a default: what becomes of calls for more values')
    .action(doing(budgetPut, limitsOf))
  valued(sub('remove', 'take a budget away; its value then has the default of its tag'))
    .argument('<tag>', 'such as user')
    .action(doing(budgetDelete, () => ({})))
}

const capOptions = capList.map(({ member, cap }) => ({
  member,
  option: `--${member.replace('_usd', '').replaceAll('_', '-')}`,
  help: `${cap.called} in USD`,
}))

const limitsOf = (options: Options) => ({
  ...Object.fromEntries(
    capOptions.flatMap(({ member, option }) => {
      const given = options[option.slice(2).replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())]
      return given === undefined ? [] : [[member, given]]
    }),
  ),
  ...(options.values === undefined ? {} : { values_max: Number(options.values) }),
  ...(options.beyond === undefined ? {} : { beyond: options.beyond }),
})

const doing =
  (act: typeof budgetGet | typeof budgetPut | typeof budgetDelete, more: (options: Options) => object) =>
  (tag: string, options: Options): Promise<void> =>
    withDatabase(async (database) => {
      const { id: wallet } = await walletOf(database, options.wallet)
      const value = options.value === undefined ? {} : { value: options.value }
      const input = { wallet, tag, ...value, ...more(options) }
      const shown = forPrograms(
        await performAs(act.name.replace('.', ' '), database, act as typeof budgetGet, input),
      )
      print(options.json, shown, tableOf([shown]))
    })

const list = async (database: Database, tag: string | undefined, { wallet: name, json }: Options) => {
  const { id: wallet } = await walletOf(database, name)
  const found = await everyPage((last: Shown | undefined) =>
    performAs('budget list', database, budgetList, {
      wallet,
      limit: 1_000,
      ...(tag === undefined ? {} : { tag }),
      ...(last === undefined ? {} : { after: last.id }),
    }),
  )
  const rows = found.map(forPrograms)
  print(json, rows, tableOf(rows))
}
