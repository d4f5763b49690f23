/**
 * `turnpike person …`, `turnpike events` and `turnpike roll-up`: the people who use the console, what they did, and the
 * console's sums.
 */
import type { Command } from 'commander'
import { addressOfLink, INVITATION_MS, LINK_MS, mintLink } from '../console/links.ts'
import { normalEmail, type Person, personBy } from '../console/new-person.ts'
import { endCredentials, isProved, personToAdd } from '../console/proof.ts'
import { email as emailAddress } from '../console/schema/session.ts'
import { systemClock } from '../core/time.ts'
import { type Role, roles } from '../store/people/people-port.ts'
import { addressAt } from './own-address.ts'
import { byCommand, type Database, Failed, print, tableOf, withDatabase } from './run-command.ts'

type Json = { readonly json?: boolean }

/** A link that proves the address: who runs the command vouches for whom they give it to. */
const linkOf = async (
  { store, config }: Database,
  { email, lifeMs, by }: { readonly email: string; readonly lifeMs: number; readonly by: string },
): Promise<string> => {
  const origin = config.console.origin ?? addressAt(config.host, config.port)
  const proves = { how: 'operator', by: `turnpike ${by}` } as const
  return addressOfLink(
    origin,
    await mintLink(store.people, { email, now: systemClock.now(), lifeMs, proves }),
  )
}

/** Nothing is given to an account that may be somebody else's. */
const notProved = (email: string): Failed =>
  new Failed(
    `the owner of the account '${email}' has not proved the address, or not for a year; give them the link of 'turnpike person reset-link ${email}', and do this once they have used it`,
  )

const known = async ({ store }: Database, email: string): Promise<Person> => {
  const person = await personBy(store.people, email)
  if (person === undefined)
    throw new Failed(`there is no person '${email}'; 'turnpike person list' shows them`)
  return person
}

const roleOf = (text: string): Role => {
  const role = roles.find((one) => one === text)
  if (role === undefined) throw new Failed(`--role must be one of ${roles.join(', ')}, not '${text}'`)
  return role
}

type Invitation = Json & {
  readonly org: string
  readonly role: string
  readonly name?: string
  readonly operator?: boolean
}

/** What people did to their own sign-in is recorded under this name. */
const OF_PEOPLE = 'people'

const checkOrg = async ({ reports }: Database['store'], org: string): Promise<void> => {
  if ((await reports.walletsOf(org)).length === 0)
    throw new Failed(`there is no organisation '${org}'; 'turnpike wallet list' shows them`)
}

const invite = async (database: Database, email: string, options: Invitation): Promise<void> => {
  if (!emailAddress.safeParse(email).success) throw new Failed(`'${email}' is not an e-mail address`)
  const { store } = database
  const role = roleOf(options.role)
  await checkOrg(store, options.org)
  const now = systemClock.now()
  const added = await personToAdd(store.people, {
    email,
    name: options.name ?? email.split('@')[0] ?? email,
    now,
  })
  if (added === undefined) throw notProved(normalEmail(email))
  const { person } = added
  if (
    (await store.members.put(
      { orgId: options.org, personId: person.id, role },
      byCommand('person invite'),
    )) === 'last_owner'
  )
    throw new Failed('the organisation needs an owner; make somebody else one first')
  if (options.operator === true) await store.members.setOperator(person.id, true, byCommand('person invite'))
  const link = await linkOf(database, {
    email: person.email,
    lifeMs: INVITATION_MS,
    by: 'person invite',
  })
  print(
    options.json,
    { id: person.id, email: person.email, org: options.org, role, link },
    `${person.email} is ${role} of ${options.org}. This link signs them in once, within seven days:\n\n  ${link}\n`,
  )
}

const list = async ({ store }: Database, { json }: Json): Promise<void> => {
  const [people, members] = await Promise.all([
    store.people.find('person', { where: [], by: { column: 'email', down: false } }),
    store.members.list({}),
  ])
  const rows = people.map((row) => ({
    id: String(row.id),
    email: String(row.email),
    name: String(row.name),
    operator: row.operator === 1,
    organisations: members
      .filter(({ personId }) => personId === row.id)
      .map(({ orgId, role }) => `${orgId}:${role}`)
      .join(' '),
  }))
  print(json, rows, tableOf(rows))
}

const setOperator = async (
  database: Database,
  email: string,
  { off = false, json }: Json & { off?: boolean },
): Promise<void> => {
  const person = await known(database, email)
  if (!off && !isProved(person, systemClock.now())) throw notProved(person.email)
  await database.store.members.setOperator(person.id, !off, byCommand('person operator'))
  print(
    json,
    { id: person.id, email: person.email, operator: !off },
    `${person.email} is ${off ? 'no operator any more' : 'an operator'}\n`,
  )
}

type Reset = Json & { readonly lostDevice?: boolean }

const resetLink = async (database: Database, email: string, { json, lostDevice }: Reset): Promise<void> => {
  const person = await known(database, normalEmail(email))
  if (lostDevice === true) await endCredentials(database.store.people, person)
  const link = await linkOf(database, { email: person.email, lifeMs: LINK_MS, by: 'person reset-link' })
  await database.store.events.record({
    actor: byCommand('person reset-link'),
    orgId: OF_PEOPLE,
    what: 'person.link_made',
    subject: person.id,
    ...(lostDevice === true ? { after: { credentials: 'ended' } } : {}),
  })
  const rest =
    person.totp && lostDevice !== true
      ? 'It asks for a code of their authenticator app; with --lost-device it does not.\n'
      : ''
  print(
    json,
    { email: person.email, link },
    `This link signs ${person.email} in once, within a quarter of an hour:\n\n  ${link}\n${rest}`,
  )
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
    .action((email: string, options: Invitation) =>
      withDatabase((database) => invite(database, email, options)),
    )
  person
    .command('list')
    .description('everybody, with their organisations')
    .option('--json', 'for programs')
    .action((options: Json) => withDatabase((database) => list(database, options)))
  person
    .command('operator <email>')
    .description('make somebody an operator')
    .option('--off', 'take that right away again')
    .option('--json', 'for programs')
    .action((email: string, options: Json & { off?: boolean }) =>
      withDatabase((database) => setOperator(database, email, options)),
    )
  person
    .command('reset-link <email>')
    .description('print a link that signs somebody in once, where they can set a new password')
    .option('--lost-device', 'end their password, passkeys, codes and sessions first')
    .option('--json', 'for programs')
    .action((email: string, options: Reset) =>
      withDatabase((database) => resetLink(database, email, options)),
    )
}

/** What was done. */
export const eventsCommand = (program: Command): void => {
  program
    .command('events')
    .description('what people and commands did to money, keys, limits and people, newest first')
    .option('--org <id>', "of one organisation; 'people' for what they did to their own sign-in")
    .option('--json', 'for programs')
    .action(({ org, json }: Json & { org?: string }) =>
      withDatabase(async ({ store }) => {
        if (org !== undefined && org !== OF_PEOPLE) await checkOrg(store, org)
        const found = await store.events.list({ ...(org === undefined ? {} : { orgId: org }), most: 1_000 })
        const rows = found.map(({ at, orgId, actor, what, subject }) => ({
          at: new Date(at).toISOString(),
          organisation: orgId,
          by: actor.name,
          what,
          subject,
        }))
        print(
          json,
          found.map((event) => ({ ...event, at: new Date(event.at).toISOString() })),
          tableOf(rows),
        )
      }),
    )
}

/** The sums of the reports. */
export const rollUpCommand = (program: Command): void => {
  program
    .command('roll-up')
    .description('bring the sums of the console’s reports up to date')
    .option('--rebuild', 'discard them and sum the ledger again')
    .option('--json', 'for programs')
    .action(({ rebuild = false, json }: Json & { rebuild?: boolean }) =>
      withDatabase(async ({ store }) => {
        if (rebuild) await store.reports.forgetRollUps()
        const until = new Date(await store.reports.rollUp()).toISOString()
        print(
          json,
          { until },
          `the sums are complete up to ${until}; later calls are summed from the ledger\n`,
        )
      }),
    )
}
