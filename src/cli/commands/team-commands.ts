/** `turnpike team …`: the teams of an organisation, their budgets and their people. */
import type { Command } from 'commander'
import { groupRuleGet, groupRulePut } from '../../control/directory/rule.ts'
import {
  teamChange,
  teamCreate,
  teamDelete,
  teamList,
  teamMemberPut,
  teamMemberRemove,
} from '../../control/people/teams.ts'
import { decimalFromNano } from '../../core/money.ts'
import { controlOf, forPrograms, performAs } from '../run/control.ts'
import { type Database, onLedger, print, tableOf } from '../run/run-command.ts'
import { checkOrg } from './events-command.ts'
import { personNamed } from './person-commands.ts'

type Options = { readonly org: string; readonly json?: boolean }
type Change = Options & { readonly name?: string; readonly budget?: string; readonly monthlyCap?: string }

const controlFor = async (database: Database, { org }: Options) => {
  await checkOrg(database.store, org)
  return controlOf(database)
}

const list = async (database: Database, options: Options): Promise<void> => {
  const { org, json } = options
  const control = await controlFor(database, options)
  const { data } = await performAs('team list', control, teamList, { organisation: org })
  const rows = data.map(
    ({ id, name, budget_usd, spent_usd, monthly_cap_usd: month, spent_month_usd: inMonth, people }) => ({
      id,
      name,
      budget_usd: budget_usd === null ? '' : decimalFromNano(budget_usd),
      spent_usd: decimalFromNano(spent_usd),
      monthly_cap_usd: month === null ? '' : decimalFromNano(month),
      spent_month_usd: inMonth === null ? '' : decimalFromNano(inMonth),
      people: people.map(({ email, role }) => `${email}:${role}`).join(' '),
    }),
  )
  print(json, data.map(forPrograms), tableOf(rows))
}

/** The bounds that were given; `none` takes one away. */
const boundsOf = ({ budget, monthlyCap }: Change) => ({
  ...(budget === undefined ? {} : { budget_usd: budget === 'none' ? null : budget }),
  ...(monthlyCap === undefined ? {} : { monthly_cap_usd: monthlyCap === 'none' ? null : monthlyCap }),
})

const create = async (database: Database, name: string, options: Change): Promise<void> => {
  const control = await controlFor(database, options)
  const input = { organisation: options.org, name, ...boundsOf(options) }
  const made = await performAs('team create', control, teamCreate, input)
  print(options.json, forPrograms(made), `${made.id} is the team '${made.name}'\n`)
}

const change = async (database: Database, team: string, options: Change): Promise<void> => {
  const { org, name, json } = options
  const input = {
    organisation: org,
    team,
    ...(name === undefined ? {} : { name }),
    ...boundsOf(options),
  }
  const made = await performAs('team change', await controlFor(database, options), teamChange, input)
  print(json, forPrograms(made), `${team} is changed\n`)
}

const end = async (database: Database, team: string, options: Options): Promise<void> => {
  const control = await controlFor(database, options)
  await performAs('team delete', control, teamDelete, { organisation: options.org, team })
  print(options.json, { id: team, deleted: true }, `${team} is no more; its keys spend nothing\n`)
}

type Rules = Options & {
  readonly group?: string
  readonly role?: string
  readonly team?: string
  readonly teamRole?: string
  readonly remove?: string
  readonly others?: string
}

type Adding = Options & { readonly role: string }

const memberOf = async (database: Database, team: string, email: string, { org }: Options) => {
  const { id } = await personNamed(database, email)
  return { organisation: org, team, person: id }
}

const add = async (database: Database, team: string, email: string, options: Adding): Promise<void> => {
  const control = await controlFor(database, options)
  const input = { ...(await memberOf(database, team, email, options)), role: options.role }
  await performAs('team add', control, teamMemberPut, input)
  print(options.json, { team, email, role: options.role }, `${email} is ${options.role} of ${team}\n`)
}

const remove = async (database: Database, team: string, email: string, options: Options): Promise<void> => {
  const control = await controlFor(database, options)
  await performAs('team remove', control, teamMemberRemove, await memberOf(database, team, email, options))
  print(
    options.json,
    { team, email },
    `${email} is not in ${team}; the keys that they made in it are disabled\n`,
  )
}

const groups = async (database: Database, options: Rules): Promise<void> => {
  const { org: organisation, group, remove: gone, others, role, team, teamRole, json } = options
  const control = await controlFor(database, options)
  const now = await performAs('team groups', control, groupRuleGet, { organisation })
  const named = gone ?? group
  const rule =
    named === undefined && others === undefined
      ? now
      : await performAs('team groups', control, groupRulePut, {
          organisation,
          default_role: others === undefined ? now.default_role : others === 'none' ? null : others,
          groups: [
            ...now.groups.filter((row) => row.group !== named),
            ...(group === undefined
              ? []
              : [{ group, role: role ?? null, team: team ?? null, team_role: teamRole ?? null }]),
          ],
        })
  const rest = { group: '(everybody else)', role: rule.default_role, team: null, team_role: null }
  print(json, rule, tableOf([...rule.groups, rest]))
}

export const teamCommands = (program: Command): void => {
  const team = program.command('team').description('teams of an organisation: a budget, people and keys')
  const command = (words: string, about: string): Command =>
    team
      .command(words)
      .description(about)
      .option('--org <id>', 'the organisation', 'operator')
      .option('--json', 'for programs')
  command('list', 'the teams of an organisation, with their people').action(onLedger(list))
  command('create <name>', 'make a team; its keys and agents may spend its budget together')
    .option('--budget <usd>', 'the most that its calls may cost in all')
    .option('--monthly-cap <usd>', 'the most that they may cost in a calendar month')
    .action(onLedger(create))
  command('change <team>', 'another name or budget')
    .option('--name <text>', 'its name')
    .option('--budget <usd>', 'the most that its calls may cost in all, or none')
    .option('--monthly-cap <usd>', 'the most that they may cost in a calendar month, or none')
    .action(onLedger(change))
  command('delete <team>', 'end a team; its keys spend nothing any more').action(onLedger(end))
  command('add <team> <email>', 'add somebody of the organisation, or change their role in the team')
    .option('--role <role>', 'member, or admin: makes and limits its keys, and sees their use', 'member')
    .action(onLedger(add))
  command('remove <team> <email>', 'remove somebody, and disable the keys that they made in the team').action(
    onLedger(remove),
  )
  command('groups', 'what groups of the company’s directory give, and to change it')
    .option('--group <name>', 'a group to set, with what it gives')
    .option('--role <role>', 'its role: admin, billing, developer or viewer')
    .option('--team <team>', 'its team')
    .option('--team-role <role>', 'its role in the team: member or admin')
    .option('--remove <name>', 'a group that gives nothing any more')
    .option('--others <role>', 'the role of people in no group with one; none keeps them out')
    .action(onLedger(groups))
}
