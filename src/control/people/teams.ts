/**
 * Acts on teams: made with a budget, listed with their people, changed, ended. A team is a sub-wallet with people: its budget is
 * the ceiling of that, and its month a budget of the calls under it; both bind all its keys and the agents of its people, as hard
 * as any limit in money.
 */
import { z } from 'zod'
import { amount, line, namedObject } from '../../core/body.ts'
import { greatest, least, NANO_PER_USD, type Nano } from '../../core/money.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { newIdOf } from '../../core/time.ts'
import { SUB_WALLETS_MOST } from '../../store/accounts/sub-wallet-port.ts'
import type { ShownTagBudget } from '../../store/accounts/tag-budget-port.ts'
import { type Team, type TeamMember, teamRoles } from '../../store/people/team-port.ts'
import { SUB_TAG } from '../../tenancy/tags.ts'
import { type Acting, act } from '../act.ts'
import { orgOf, payer, walletIn } from '../org-of.ts'
import { isoOf, name } from '../read.ts'
import { done, time, usd } from '../shown-key.ts'
import { subWalletChange, subWalletDelete } from '../sub-wallets.ts'
import { bindAgents } from './agents-key.ts'
import { stopKeysOf } from './leaving.ts'
import { noSuchTeam } from './logins.ts'

const BUDGET_MAX = 10_000_000n * NANO_PER_USD
/** The ceiling of a team that has none in all: more than any team may have. */
const NO_TOTAL = 1_000_000_000n * NANO_PER_USD

const budget = amount('must be a number of USD, or null')
  .refine((nano) => nano > 0n && nano <= BUDGET_MAX, 'must be above 0 and at most 10000000')
  .nullable()
  .optional()
  .describe(
    'USD that the calls of the team may cost in all, above 0 and at most 10000000; null for no such bound beside that of the month',
  )
const monthly = amount('must be a number of USD, or null')
  .refine((nano) => nano <= BUDGET_MAX, 'must be at most 10000000')
  .nullable()
  .optional()
  .describe('USD that they may cost in a calendar month (UTC), beside the budget; null for no such bound')
const called = line(1, 200, 'must have 1 to 200 characters')
export const teamRole = z.enum(teamRoles, `must be one of ${teamRoles.join(', ')}`)
const one = { organisation: name.optional(), team: name }

const teamShown = namedObject('Team', {
  id: z.string().describe('Also the `sub_wallet` of its keys'),
  name: z.string(),
  wallet: z.string(),
  budget_usd: usd.nullable().describe('In all; null where only its month is bounded'),
  spent_usd: usd,
  held_usd: usd.describe('By open calls'),
  monthly_cap_usd: usd.nullable().describe('For a calendar month (UTC)'),
  spent_month_usd: usd.nullable().describe('In this month; null where no cap is set for it'),
  remaining_usd: usd.describe('The least that its budget and its month leave'),
  created_at: time,
  people: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      email: z.string(),
      role: z.enum(teamRoles).describe('Its admin makes and limits its keys, and sees their use'),
      since: time,
    }),
  ),
})

/** What a month of a team may cost, as a budget of its calls. */
const monthOf = ({ walletId, id }: Pick<Team, 'walletId' | 'id'>) => ({ walletId, tag: SUB_TAG, value: id })

/** Sets it, or with null takes it away; resolves once that applies on every process. */
const setMonth = async (
  { control, who }: Acting,
  team: Pick<Team, 'walletId' | 'id'>,
  cap: Nano | null,
): Promise<void> => {
  const { tagBudgets } = control.store
  const id = newIdOf('bud')
  const set =
    cap === null
      ? await tagBudgets.removeTagBudget(monthOf(team), who.actor)
      : await tagBudgets.putTagBudget({ ...monthOf(team), id, caps: { monthlyCap: cap } }, who.actor)
  if (set === 'too_many')
    throw refuse('forbidden', 'The wallet has as many budgets as it may have; take one away first.')
  if (set !== undefined) await control.book.untilKnown(set.at)
}

/** Throws unless one of them bounds the team. */
const checkBounds = (total: Nano | null, month: Nano | null): void => {
  if (total === null && month === null)
    throw invalid('budget_usd', "A team has a bound: 'budget_usd' in all, 'monthly_cap_usd', or both.")
}

const shown = (
  team: Team,
  members: readonly TeamMember[],
  month: ShownTagBudget | undefined,
): z.output<typeof teamShown> => ({
  id: team.id,
  name: team.label,
  wallet: team.walletId,
  budget_usd: team.budget === NO_TOTAL ? null : team.budget,
  spent_usd: team.spent,
  held_usd: team.held,
  monthly_cap_usd: month?.caps.monthlyCap ?? null,
  spent_month_usd: month?.spent.spentThisMonth ?? null,
  remaining_usd: greatest(
    least(
      team.budget - team.spent - team.held,
      month?.caps.monthlyCap === undefined
        ? team.budget
        : month.caps.monthlyCap - month.spent.spentThisMonth - month.held,
    ),
    0n,
  ),
  created_at: isoOf(team.createdAt),
  people: members
    .filter(({ teamId }) => teamId === team.id)
    .map(({ personId: id, name: person, email, role, joinedAt }) => ({
      id,
      name: person,
      email,
      role,
      since: isoOf(joinedAt),
    })),
})

/** Throws the 404 of a team that the organisation does not have. */
const teamNamed = async ({ control }: Acting, orgId: string, id: string): Promise<Team> =>
  must((await control.store.teams.teams({ orgId, id }))[0] ?? noSuchTeam())

const showTeam = async (acting: Acting, orgId: string, id: string) => {
  const { teams, tagBudgets } = acting.control.store
  const team = await teamNamed(acting, orgId, id)
  return shown(team, await teams.teamMembers(orgId), await tagBudgets.tagBudget(monthOf(team)))
}

export const teamList = act({
  name: 'team.list',
  summary: 'The teams of the organisation, with their budgets and people.',
  reads: ['team_read'],
  input: { organisation: name.optional() },
  shows: namedObject('TeamList', { data: z.array(teamShown) }),
  does: async (acting, { organisation }) => {
    const { teams, tagBudgets } = acting.control.store
    const orgId = orgOf(acting, organisation)
    const [found, members] = await Promise.all([teams.teams({ orgId }), teams.teamMembers(orgId)])
    const wallets = [...new Set(found.map(({ walletId }) => walletId))]
    const months = await Promise.all(
      wallets.map((id) => tagBudgets.tagBudgets(id, { tag: SUB_TAG, most: SUB_WALLETS_MOST })),
    )
    const monthsOf = new Map(months.flat().map((month) => [month.value, month]))
    return { data: found.map((team) => shown(team, members, monthsOf.get(team.id))) }
  },
})

export const teamCreate = act({
  name: 'team.create',
  summary: 'Makes a team with a budget in money, which binds its keys and the agents of its people together.',
  changes: ['team'],
  input: { ...payer, name: called, budget_usd: budget, monthly_cap_usd: monthly },
  shows: teamShown,
  does: async (acting, { name: label, budget_usd: most = null, monthly_cap_usd: month = null, ...of }) => {
    const { control, who } = acting
    checkBounds(most, month)
    const orgId = orgOf(acting, of.organisation)
    const id = newIdOf('sub')
    const walletId = await walletIn(acting, { ...of, organisation: orgId })
    // First, so that no team is there without it.
    if (month !== null) await setMonth(acting, { walletId, id }, month)
    const made = await control.store.teams.createTeam(
      { id, orgId, walletId, label: storable(label), budget: most ?? NO_TOTAL },
      who.actor,
    )
    if (made === undefined) {
      await setMonth(acting, { walletId, id }, null)
      throw refuse(
        'forbidden',
        'The wallet has reached its limit of sub-wallets and teams; delete an unused one.',
      )
    }
    return showTeam(acting, orgId, id)
  },
})

export const teamChange = act({
  name: 'team.change',
  summary: 'Changes the name or the budget of a team; answers once that applies on every process.',
  changes: ['team'],
  input: { ...one, name: called.optional(), budget_usd: budget, monthly_cap_usd: monthly },
  shows: teamShown,
  does: async (acting, { organisation, team: id, name: label, budget_usd: most, monthly_cap_usd: month }) => {
    const orgId = orgOf(acting, organisation)
    const before = await showTeam(acting, orgId, id)
    const { wallet } = before
    checkBounds(
      most === undefined ? before.budget_usd : most,
      month === undefined ? before.monthly_cap_usd : month,
    )
    // A bound that goes goes last, so that the team is never without one.
    if (month != null) await setMonth(acting, { walletId: wallet, id }, month)
    await subWalletChange.does(acting, {
      wallet,
      sub_wallet: id,
      label,
      budget_usd: most === null ? NO_TOTAL : most,
    })
    if (month === null) await setMonth(acting, { walletId: wallet, id }, null)
    return showTeam(acting, orgId, id)
  },
})

export const teamDelete = act({
  name: 'team.delete',
  summary:
    'Ends a team: its keys spend nothing any more; agents of its people go on with another team of theirs, or without one.',
  changes: ['team'],
  input: one,
  shows: done,
  does: async (acting, { organisation, team: id }) => {
    const orgId = orgOf(acting, organisation)
    const { walletId: wallet } = await teamNamed(acting, orgId, id)
    const members = await acting.control.store.teams.teamMembers(orgId)
    await subWalletDelete.does(acting, { wallet, sub_wallet: id })
    await setMonth(acting, { walletId: wallet, id }, null)
    for (const { personId } of members.filter(({ teamId }) => teamId === id))
      await bindAgents(acting, { orgId, personId }, id)
    return { done: true as const }
  },
})

type Place = { readonly orgId: string; readonly teamId: string; readonly personId: string }

/** Takes somebody out of a team; resolves once no process admits a call of the keys that they made in it. False if they are not in it. */
export const leaveTeam = async (acting: Acting, place: Place): Promise<boolean> => {
  const { orgId, teamId, personId } = place
  const { teams } = acting.control.store
  if (!(await teams.teamsOf(place)).some(({ id }) => id === teamId)) return false
  // Keys end first, in case something fails half-way; then those that the person made meanwhile.
  await stopKeysOf(acting, orgId, personId, teamId)
  const left = await teams.removeTeamMember(place, acting.who.actor)
  await stopKeysOf(acting, orgId, personId, teamId)
  await bindAgents(acting, place, teamId)
  return left
}

export const teamMemberPut = act({
  name: 'team.member_put',
  summary: 'Adds somebody of the organisation to a team, or changes their role in it.',
  changes: ['team'],
  input: { ...one, person: name, role: teamRole },
  shows: done,
  does: async (acting, { organisation, team: teamId, person: personId, role }) => {
    const orgId = orgOf(acting, organisation)
    const member = { orgId, teamId, personId, role }
    if (!(await acting.control.store.teams.putTeamMember(member, acting.who.actor)))
      throw refuse('not_found', 'There is no such team, or the person is not in its organisation.')
    await bindAgents(acting, member)
    return { done: true as const }
  },
})

export const teamMemberRemove = act({
  name: 'team.member_remove',
  summary: 'Removes somebody from a team, and disables the keys that they made in it.',
  changes: ['team'],
  input: { ...one, person: name },
  shows: done,
  does: async (acting, { organisation, team: teamId, person: personId }) => {
    if (!(await leaveTeam(acting, { orgId: orgOf(acting, organisation), teamId, personId })))
      throw refuse('not_found', 'There is no such team, or the person is not in it.')
    return { done: true as const }
  },
})
