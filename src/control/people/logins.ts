/**
 * Acts on sign-ins of agents: a person sees which agent asks under a code, approves or denies it; and what an organisation
 * tells its agents. Source: RFC 8628, section 3.3.
 */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import type { Access } from '../../gateway/enter/access-token.ts'
import type { Actor } from '../../store/people/event-port.ts'
import { type Acting, act } from '../act.ts'
import { onlyOrg, orgOf } from '../org-of.ts'
import { isoOf, name } from '../read.ts'
import { done, time } from '../shown-key.ts'
import { may } from '../who.ts'
import { agentsKey } from './agents-key.ts'
import { takeAttempt } from './attempts.ts'

/** How long an agent stays signed in; then the person signs in again. */
export const LOGIN_MS = 30 * 86_400_000

/** As people type it: letters of either case, with or without the hyphen. */
const userCode = z
  .string()
  .transform((typed) => typed.toUpperCase().replaceAll(/[^A-Z]/g, ''))
  .refine((code) => code.length === 8, 'must be the code that the agent shows: eight letters')

const noSuchCode = () =>
  refuse(
    'not_found',
    'No agent asks under this code any more. Start the sign-in there again, and compare the code.',
  )

/** The person who acts, in an organisation of their own. */
const personOf = ({ who }: Acting): string => {
  if (who.actor.kind !== 'person' || who.actor.operator === true || who.reach.of !== 'organisation')
    throw refuse('forbidden', 'Agents sign in as people, in an organisation that they belong to.')
  return who.actor.id
}

/** Codes are short, so that each person may try few of them. */
const checkTries = ({ control, who: { actor } }: Acting): Promise<void> =>
  takeAttempt({ gateway: control, request: { address: actor.address ?? 'nobody' } }, `login ${actor.id}`)

export const loginGet = act({
  name: 'login.get',
  summary: 'Which agent asks to be signed in under a code.',
  reads: ['keys', 'keys_own'],
  input: { user_code: userCode },
  shows: namedObject('LoginAsked', {
    surface: z.string().describe('Which client it says it is'),
    address: z.string().describe('Where it asks from'),
    asked_at: time,
    ends_at: time,
  }),
  does: async (acting, { user_code: code }) => {
    personOf(acting)
    await checkTries(acting)
    const asked = must((await acting.control.store.logins.askedLogin(code)) ?? noSuchCode())
    const { surface, address, askedAt, endsAt } = asked
    return { surface, address, asked_at: isoOf(askedAt), ends_at: isoOf(endsAt) }
  },
})

export const loginApprove = act({
  name: 'login.approve',
  summary: 'Signs the agent in as the person, with the key that all their agents share.',
  changes: ['keys', 'keys_own'],
  input: { user_code: userCode },
  shows: namedObject('LoginApproved', { key: z.string().describe('The id of that key') }),
  does: async (acting, { user_code: code }) => {
    const { control, who } = acting
    const personId = personOf(acting)
    await checkTries(acting)
    must((await control.store.logins.askedLogin(code)) ?? noSuchCode())
    const { id: keyId, orgId } = await agentsKey(acting, {
      orgId: must(onlyOrg(acting) ?? noSuchCode()),
      personId,
    })
    const approved = await control.store.logins.approveLogin(code, { personId, orgId, keyId }, who.actor)
    if (!approved) throw noSuchCode()
    return { key: keyId }
  },
})

export const loginDeny = act({
  name: 'login.deny',
  summary: 'Refuses the agent that asks under a code.',
  changes: ['keys', 'keys_own'],
  input: { user_code: userCode },
  shows: done,
  does: async (acting, { user_code: code }) => {
    personOf(acting)
    await checkTries(acting)
    const orgId = must(onlyOrg(acting) ?? noSuchCode())
    if (!(await acting.control.store.logins.denyLogin(code, orgId, acting.who.actor))) throw noSuchCode()
    return { done: true as const }
  },
})

const loginShown = z.object({
  id: z.string(),
  surface: z.string().describe('Which client it says it is'),
  address: z.string().describe('Where it asked from'),
  person: z.string().describe('The id of whose agent it is'),
  key: z.string(),
  since: time,
  ends_at: time,
})

/** Whose sign-ins somebody sees and ends: their own, or those of all whose keys they may change. */
const whose = ({ who }: Acting): string | undefined => (may(who, 'keys') ? undefined : who.actor.id)

export const loginList = act({
  name: 'login.list',
  summary: 'Agents that are signed in, newest first: those of the person, or of the organisation.',
  reads: ['keys', 'keys_own'],
  input: { organisation: name.optional() },
  shows: namedObject('LoginList', { data: z.array(loginShown) }),
  does: async (acting, { organisation }) => {
    const query = { orgId: orgOf(acting, organisation), personId: whose(acting) }
    const logins = await acting.control.store.logins.logins(query)
    return {
      data: logins.map(({ id, surface, address, personId, keyId, askedAt, endsAt }) => ({
        id,
        surface,
        address,
        person: personId,
        key: keyId,
        since: isoOf(askedAt),
        ends_at: isoOf(endsAt),
      })),
    }
  },
})

/** Ends a sign-in: its access tokens on every process, with which its refresh token is worth nothing either. */
export const endLogin = async (
  { store, book }: Pick<Acting['control'], 'store' | 'book'>,
  { keyId, login }: Access,
  by: Actor,
): Promise<boolean> => {
  const key = await store.keys.key(keyId)
  if (key === undefined || key.endedLogins?.includes(login) === true) return false
  await book.changeKey(keyId, { endLogin: login, byCreator: false }, by)
  await store.logins.endLogin(login)
  return true
}

/** Signs all agents of a person out, in each of their organisations. */
export const endLoginsOf = async (
  control: Pick<Acting['control'], 'store' | 'book'>,
  personId: string,
  by: Actor,
): Promise<void> => {
  const { members, logins } = control.store
  for (const { orgId } of await members.list({ personId }))
    for (const { keyId, id: login } of await logins.logins({ orgId, personId }))
      await endLogin(control, { keyId, login }, by)
}

export const loginEnd = act({
  name: 'login.end',
  summary: 'Signs an agent out; answers once no process takes its token.',
  changes: ['keys', 'keys_own'],
  input: { organisation: name.optional(), login: name },
  shows: done,
  does: async (acting, { organisation, login }) => {
    const { control, who } = acting
    const query = { orgId: orgOf(acting, organisation), personId: whose(acting), id: login }
    const [found] = await control.store.logins.logins(query)
    if (found === undefined || !(await endLogin(control, { keyId: found.keyId, login }, who.actor)))
      throw refuse('not_found', 'There is no such sign-in, or it has ended.')
    return { done: true as const }
  },
})

const settingsShown = namedObject('AgentSettings', {
  settings: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('What managed-settings.json of the agents would hold; null for none'),
})

const org = {
  organisation: name.optional(),
  team: name.optional().describe('Agents of its people are told these in place of the organisation’s'),
}

export const noSuchTeam = () => refuse('not_found', 'There is no such team, or it is not yours.')

export const agentSettingsGet = act({
  name: 'agent_settings.get',
  summary: 'What the organisation, or a team of it, tells the agents of its people.',
  reads: ['team_read'],
  input: org,
  shows: settingsShown,
  does: async (acting, { organisation, team }) => {
    const { store } = acting.control
    const orgId = orgOf(acting, organisation)
    const settings =
      team === undefined
        ? await store.logins.agentSettings(orgId)
        : must((await store.teams.teams({ orgId, id: team }))[0] ?? noSuchTeam()).settings
    return { settings: settings ?? null }
  },
})

/** Agents take settings each hour and at each start, so a large one costs all of them. */
const SETTINGS_BYTES_MAX = 32 * 1024

const wrongSettings = (settings: JsonObject): boolean =>
  Buffer.byteLength(JSON.stringify(settings)) > SETTINGS_BYTES_MAX

export const agentSettingsPut = act({
  name: 'agent_settings.put',
  summary: 'Sets what the organisation, or a team of it, tells the agents of its people; null removes it.',
  changes: ['team'],
  input: { ...org, settings: z.unknown() },
  shows: settingsShown,
  does: async (acting, { organisation, team: teamId, settings }) => {
    const { control, who } = acting
    const orgId = orgOf(acting, organisation)
    if (settings !== null && !isObject(settings))
      throw invalid('settings', "'settings' must be an object of managed settings, or null for none.")
    if (settings !== null && wrongSettings(settings))
      throw invalid('settings', `'settings' may have ${SETTINGS_BYTES_MAX / 1024} KB at most.`)
    const told = settings ?? undefined
    if (teamId === undefined) await control.store.logins.setAgentSettings(orgId, told, who.actor)
    else if (!(await control.store.teams.setTeamSettings({ orgId, teamId }, told, who.actor)))
      throw noSuchTeam()
    return { settings }
  },
})
