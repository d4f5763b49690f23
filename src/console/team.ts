/** The people of an organisation, their invitations and roles, and what was done in it. */
import { refuse } from '../core/refusal.ts'
import type { Event } from '../store/people/event-port.ts'
import type { Role } from '../store/people/people-port.ts'
import { toBeAdded, welcome } from './adding.ts'
import {
  actorOf,
  type ConsoleRoute,
  type Here,
  may,
  personOf,
  type Reply,
  type Within,
  within,
} from './here.ts'
import { stopKeysOf } from './leaving.ts'
import { INVITATION_MS } from './links.ts'

import { bodied, isoOf } from './read.ts'
import { mayGive } from './rights.ts'
import { events, inviteBody, invited, roleBody, team } from './schema/people.ts'
import { most } from './schema/reports.ts'
import { done } from './schema/shared.ts'

/** Whether owners and admins may add people here; with closed sign-up only operators may. */
const mayInvite = (here: Here): boolean =>
  may(here, 'team') && (here.settings.signUp !== 'closed' || personOf(here).operator)

const getTeam = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const members = await here.gateway.store.members.list({ orgId: here.session.orgId })
  return {
    value: {
      data: members.map(({ personId, name, email, role, createdAt }) => ({
        id: personId,
        name,
        email,
        role,
        since: isoOf(createdAt),
      })),
      may_invite: mayInvite(here),
    },
  }
}

const checkGives = (here: Within, role: Role): void => {
  if (!mayGive(here.session.role, role))
    throw refuse('forbidden', 'Only an owner makes, changes or removes an owner.')
}

const invite = async (context: Here, { email, role }: { email: string; role: Role }): Promise<Reply> => {
  const here = within(context)
  if (!mayInvite(here))
    throw refuse('forbidden', 'Only the operator of this server adds people (SIGN_UP is closed).')
  checkGives(here, role)
  const { store } = here.gateway
  const { orgId } = here.session
  const members = await store.members.list({ orgId })
  if (members.some((member) => member.email === email.trim().toLowerCase()))
    throw refuse('forbidden', 'This person is a member already; change the role instead.')
  const added = await toBeAdded(here, email)
  const { id } = added.person
  await store.members.put({ orgId, personId: id, role }, actorOf(here))
  const letter = { lifeMs: INVITATION_MS, subject: 'You are invited to Turnpike' }
  return { value: { id, ...(await welcome(here, added, letter)) }, status: 201 }
}

const target = async (here: Within) => {
  const members = await here.gateway.store.members.list({ orgId: here.session.orgId })
  const found = members.find(({ personId }) => personId === here.request.params.id)
  if (found === undefined) throw refuse('not_found', 'There is no such person in your organisation.')
  checkGives(here, found.role)
  return found
}

const lastOwner = () => refuse('forbidden', 'The organisation needs an owner; make somebody else one first.')

const changeRole = async (context: Here, { role }: { role: Role }): Promise<Reply> => {
  const here = within(context)
  const { personId, orgId } = await target(here)
  checkGives(here, role)
  if ((await here.gateway.store.members.put({ orgId, personId, role }, actorOf(here))) === 'last_owner')
    throw lastOwner()
  return { value: { done: true } }
}

const removeMember = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { personId, orgId, role } = await target(here)
  const { members } = here.gateway.store
  const owners = (await members.list({ orgId })).filter((member) => member.role === 'owner')
  if (role === 'owner' && owners.length === 1) throw lastOwner()
  // Keys end first: a person who was removed cannot be removed again, if something fails half-way.
  await stopKeysOf(here, personId)
  if ((await members.remove({ orgId, personId }, actorOf(here))) === 'last_owner') throw lastOwner()
  // Those that the person made meanwhile.
  await stopKeysOf(here, personId)
  return { value: { done: true } }
}

const shownEvent = ({ id, at, orgId, actor, what, subject, before, after }: Event) => ({
  id,
  at: isoOf(at),
  org: orgId,
  actor: actor.name,
  actor_kind: actor.kind,
  operator: actor.operator === true,
  address: actor.address ?? null,
  what,
  subject,
  before: before ?? null,
  after: after ?? null,
})

const listEvents = async (here: Here, orgId: string | undefined): Promise<Reply> => {
  const { query } = here.request
  const count = most(query.get('limit'), 100, 500)
  const before = query.get('before')
  const found = await here.gateway.store.events.list({
    ...(orgId === undefined ? {} : { orgId }),
    ...(before === undefined ? {} : { before }),
    most: count + 1,
  })
  return { value: { data: found.slice(0, count).map(shownEvent), has_more: found.length > count } }
}

export const teamRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/team',
    summary: 'The people of the organisation.',
    audience: ['team_read'],
    answer: team,
    handler: getTeam,
  },
  bodied({
    method: 'POST',
    path: '/team',
    summary: 'Adds somebody; if no mail is sent, the one-time link is in the answer.',
    audience: ['team'],
    fresh: true,
    body: inviteBody,
    answer: invited,
    statuses: [201],
    handler: invite,
  }),
  bodied({
    method: 'PUT',
    path: '/team/:id',
    summary: 'Changes the role of a member.',
    audience: ['team'],
    fresh: true,
    body: roleBody,
    answer: done,
    handler: changeRole,
  }),
  {
    method: 'DELETE',
    path: '/team/:id',
    summary: 'Removes a member, and disables the keys that they made for the organisation.',
    audience: ['team'],
    fresh: true,
    answer: done,
    handler: removeMember,
  },
  {
    method: 'GET',
    path: '/events',
    summary: 'What people did in the organisation, newest first.',
    audience: ['events'],
    query: ['before', 'limit'],
    answer: events,
    handler: (here) => listEvents(here, within(here).session.orgId),
  },
  {
    method: 'GET',
    path: '/operator/events',
    summary: 'What people did in all organisations.',
    audience: 'operator',
    query: ['before', 'limit'],
    answer: events,
    handler: (here) => listEvents(here, undefined),
  },
]
