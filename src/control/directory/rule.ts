/** What groups of a directory give: an organisation's rule, set by who may give it, and a person's role and teams by it. */
import { z } from 'zod'
import { namedObject, text } from '../../core/body.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import type { GroupRule } from '../../store/people/directory-port.ts'
import { type Role, roles } from '../../store/people/people-port.ts'
import { type Acting, act } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { bindAgents } from '../people/agents-key.ts'
import { stopKeysOf } from '../people/leaving.ts'
import { leaveTeam, teamRole } from '../people/teams.ts'
import { name } from '../read.ts'

/** Of an organisation that has set none. */
const USUAL: GroupRule = { defaultRole: 'developer', groups: [] }
const GROUPS_MAX = 200

const given = z.enum(
  roles.filter((one) => one !== 'owner'),
  'must be admin, billing, developer or viewer: only an owner makes an owner',
)

const ruleShown = namedObject('GroupRule', {
  default_role: given.nullable().describe('Of people in no group with a role; null keeps those out'),
  groups: z.array(
    z.object({
      group: z.string().describe('Its displayName in SCIM, or its name in the claim of OIDC_GROUPS_CLAIM'),
      role: given.nullable(),
      team: z.string().nullable().describe('The team that its people are in'),
      team_role: teamRole.nullable(),
    }),
  ),
})

const shown = ({ defaultRole, groups }: GroupRule): z.output<typeof ruleShown> => ({
  default_role: defaultRole === 'owner' ? null : defaultRole,
  groups: groups.map(({ group, role, team, teamRole: inTeam }) => ({
    group,
    role: role === undefined || role === 'owner' ? null : role,
    team: team ?? null,
    team_role: inTeam ?? null,
  })),
})

const org = { organisation: name.optional() }

export const groupRuleGet = act({
  name: 'group_rule.get',
  summary: 'Which role and team people have by their groups in the company’s directory.',
  reads: ['team_read'],
  input: org,
  shows: ruleShown,
  does: async (acting, { organisation }) =>
    shown((await acting.control.store.directory.groupRule(orgOf(acting, organisation))) ?? USUAL),
})

export const groupRulePut = act({
  name: 'group_rule.put',
  summary:
    'Sets which role and team people have by their groups in the company’s directory; it holds from the next change or sign-in of each.',
  changes: ['team'],
  input: {
    ...org,
    default_role: given.nullable(),
    groups: z
      .array(
        z.strictObject({
          group: text(1, 200, 'must be the name of a group'),
          role: given.nullable().optional(),
          team: name.nullable().optional(),
          team_role: teamRole.nullable().optional(),
        }),
      )
      .max(GROUPS_MAX, `may have ${GROUPS_MAX} rows at most`),
  },
  shows: ruleShown,
  does: async (acting, { organisation, default_role: defaultRole, groups }) => {
    const { control, who } = acting
    const orgId = orgOf(acting, organisation)
    // Whoever sets the rule makes those people that by it.
    for (const role of new Set([defaultRole, ...groups.map((row) => row.role)]))
      if (role != null && !who.gives(role))
        throw refuse('forbidden', `Only who may do all that a ${role} may sets who becomes one.`)
    const teams = new Set((await control.store.teams.teams({ orgId })).map(({ id }) => id))
    for (const [at, { team }] of groups.entries())
      if (team != null && !teams.has(team))
        throw invalid(`groups.${at}.team`, `'groups.${at}.team' ('${team}') is no team of the organisation.`)
    const rule: GroupRule = {
      defaultRole,
      groups: groups.map(({ group, role, team, team_role: inTeam }) => ({
        group,
        ...(role == null ? {} : { role }),
        ...(team == null ? {} : { team, teamRole: inTeam ?? 'member' }),
      })),
    }
    await control.store.directory.setGroupRule(orgId, rule, who.actor)
    return shown(rule)
  },
})

type Person = { readonly orgId: string; readonly personId: string }

const lastOwner = () =>
  refuse('forbidden', 'The organisation needs an owner; make somebody else one before this one goes.')

/** Throws the refusal of the last owner of an organisation. */
export const checkLeaves = async ({ control }: Acting, { orgId, personId }: Person): Promise<void> => {
  const owners = (await control.store.members.list({ orgId })).filter(({ role }) => role === 'owner')
  if (owners.length === 1 && owners[0]?.personId === personId) throw lastOwner()
}

/** Ends what the person has in the organisation, on every process: keys, agents, membership, and sessions if they have no other. */
export const letGo = async (acting: Acting, person: Person): Promise<void> => {
  const { members, people } = acting.control.store
  const { orgId, personId } = person
  await checkLeaves(acting, person)
  await stopKeysOf(acting, orgId, personId)
  if ((await members.remove({ orgId, personId }, acting.who.actor)) === 'last_owner') throw lastOwner()
  // Those that the person made meanwhile.
  await stopKeysOf(acting, orgId, personId)
  if ((await members.list({ personId })).length === 0)
    await people.remove('person_session', [{ column: 'user_id', is: '=', value: personId }])
}

/** Gives the person the role and the teams of these groups. An owner stays one; in teams that the rule does not name nothing changes. */
export const applyGroups = async (acting: Acting, person: Person, names: readonly string[]) => {
  const { control, who } = acting
  const { orgId, personId } = person
  const { members, teams, directory } = control.store
  const { defaultRole, groups } = (await directory.groupRule(orgId)) ?? USUAL
  const mine = groups.filter(({ group }) => names.includes(group))
  const role: Role | null = roles.find((one) => mine.some((row) => row.role === one)) ?? defaultRole
  const before = (await members.list({ orgId })).find((member) => member.personId === personId)?.role
  if (role === null && before !== 'owner') return letGo(acting, person)
  if (role !== null && before !== 'owner' && before !== role)
    await members.put({ orgId, personId, role }, who.actor)
  const present = await teams.teamsOf(person)
  for (const teamId of new Set(groups.flatMap(({ team }) => team ?? []))) {
    const rows = mine.filter(({ team }) => team === teamId)
    const wanted = rows.some(({ teamRole: one }) => one === 'admin') ? 'admin' : 'member'
    const now = present.find(({ id }) => id === teamId)
    if (rows.length === 0 && now !== undefined) await leaveTeam(acting, { ...person, teamId })
    if (rows.length > 0 && now?.role !== wanted)
      await teams.putTeamMember({ ...person, teamId, role: wanted }, who.actor)
  }
  await bindAgents(acting, person)
}
