/** `turnpike person …` and `turnpike roll-up`: the people who use the console, and the console's sums. */
import type { Command } from 'commander'
import type { z } from 'zod'
import type { Control } from '../../control/act.ts'
import { rollUp } from '../../control/house/system.ts'
import { memberChange, memberInvite, memberList } from '../../control/people/members.ts'
import { normalEmail, personBy } from '../../control/people/new-person.ts'
import { personLink, personList, personOperator, personRemove } from '../../control/people/persons.ts'
import { email as emailForm } from '../../control/read.ts'
import { roles } from '../../store/people/people-port.ts'
import { everyPage, performAs } from '../run/control.ts'
import { type Database, Failed, onLedger, print, tableOf, under } from '../run/run-command.ts'
import { checkOrg } from './events-command.ts'
import { tellForgotten } from './forget-commands.ts'

const PAGE = 1_000

type PersonShown = z.output<typeof personList.shows>['data'][number]
type Json = { readonly json?: boolean }

type Invitation = Json & {
  readonly org: string
  readonly role: string
  readonly name?: string
  readonly operator?: boolean
}

/** The person of that address. Throws Failed where there is none. */
export const personNamed = async ({ store }: Pick<Control, 'store'>, email: string) => {
  const person = await personBy(store.people, email)
  if (person === undefined)
    throw new Failed(`there is no person '${email}'; 'turnpike person list' shows them`)
  return person
}

/** A member gets another role; whoever has an account gets a link as after a lost password. */
const invite = async (database: Database, email: string, options: Invitation): Promise<void> => {
  const { org, role, name, operator } = options
  if (!emailForm.safeParse(email).success) throw new Failed(`'${email}' is not an e-mail address`)
  await checkOrg(database.store, org)
  const as = 'person invite'
  const { data: members } = await performAs(as, database, memberList, { organisation: org })
  const member = members.find((one) => one.email === normalEmail(email))
  const who = { organisation: org, role }
  let link: string | null = null
  if (member === undefined) {
    const more = { ...(name === undefined ? {} : { name }), ...(operator === true ? { operator } : {}) }
    link = (await performAs(as, database, memberInvite, { ...who, email, ...more })).link
  } else {
    await performAs(as, database, memberChange, { ...who, person: member.id })
    if (operator === true) await performAs(as, database, personOperator, { person: member.id, operator })
  }
  const person = await personNamed(database, email)
  const lasts = link === null ? 'a quarter of an hour' : 'seven days'
  link ??= (await performAs(as, database, personLink, { person: person.id })).link
  print(
    options.json,
    { id: person.id, email: person.email, org, role, link },
    `${person.email} is ${role} of ${org}. This link signs them in once, within ${lasts}:\n\n  ${link}\n`,
  )
}

const list = async (database: Database, { json }: Json): Promise<void> => {
  const people = await everyPage((last: PersonShown | undefined) =>
    performAs('person list', database, personList, { limit: PAGE, ...(last && { after: last.email }) }),
  )
  const rows = people.map((person) => ({
    ...person,
    organisations: person.organisations.map(({ id, role }) => `${id}:${role}`).join(' '),
  }))
  print(json, rows, tableOf(rows))
}

const setOperator = async (
  database: Database,
  email: string,
  { off = false, json }: Json & { off?: boolean },
): Promise<void> => {
  const person = await personNamed(database, email)
  const input = { person: person.id, operator: !off }
  await performAs('person operator', database, personOperator, input)
  print(
    json,
    { id: person.id, email: person.email, operator: !off },
    `${person.email} is ${off ? 'no operator any more' : 'an operator'}\n`,
  )
}

type Reset = Json & { readonly lostDevice?: boolean }

const resetLink = async (database: Database, email: string, { json, lostDevice }: Reset): Promise<void> => {
  const { id } = await personNamed(database, email)
  const input = { person: id, lost_device: lostDevice === true }
  const made = await performAs('person reset-link', database, personLink, input)
  const rest = made.asks_code
    ? 'It asks for a code of their authenticator app; with --lost-device it does not.\n'
    : ''
  print(
    json,
    { email: made.email, link: made.link },
    `This link signs ${made.email} in once, within a quarter of an hour:\n\n  ${made.link}\n${rest}`,
  )
}

const remove = async (database: Database, email: string, { json }: Json): Promise<void> => {
  const { id } = await personNamed(database, email)
  const { removed } = await performAs('person remove', database, personRemove, {
    person: id,
  })
  tellForgotten(json, `The person ${id} is removed; the keys that they made are disabled.`, removed)
}

export const personCommands = (program: Command): void => {
  const person = program.command('person').description('people who use the console')
  person
    .command('invite <email>')
    .description('make somebody a member of an organisation, and print a link that signs them in once')
    .option('--org <id>', 'the organisation', 'operator')
    .option('--role <role>', roles.join(', '), 'developer')
    .option('--name <text>', 'their name')
    .option('--operator', 'make them an operator, who runs the server and sees all organisations')
    .option('--json', 'for programs')
    .action(onLedger(invite))
  under(person, 'list', 'everybody, with their organisations')
    .option('--json', 'for programs')
    .action(onLedger(list))
  under(person, 'operator <email>', 'make somebody an operator')
    .option('--off', 'take that right away again')
    .option('--json', 'for programs')
    .action(onLedger(setOperator))
  person
    .command('reset-link <email>')
    .description('print a link that signs somebody in once, where they can set a new password')
    .option('--lost-device', 'end their password, passkeys, codes, sessions and agents’ sign-ins first')
    .option('--json', 'for programs')
    .action(onLedger(resetLink))
  person
    .command('remove <email>')
    .description('remove a person and all that is known of them; the books and what they did stay, by ids')
    .option('--json', 'for programs')
    .action(onLedger(remove))
}

/** The sums of the reports. */
export const rollUpCommand = (program: Command): void => {
  under(program, 'roll-up', 'bring the sums of the console’s reports up to date')
    .option('--rebuild', 'discard them and sum the ledger again')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, { rebuild = false, json }: Json & { rebuild?: boolean }) => {
        const { until } = await performAs('roll-up', database, rollUp, { rebuild })
        print(
          json,
          { until },
          `the sums are complete up to ${until}; later calls are summed from the ledger\n`,
        )
      }),
    )
}
