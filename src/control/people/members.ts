/** Acts on the people of an organisation: listed, invited, given another role, removed. */
import { z } from 'zod'
import { line, namedObject } from '../../core/body.ts'
import { refuse } from '../../core/refusal.ts'
import { type Role, roles } from '../../store/people/people-port.ts'
import { type Acting, act } from '../act.ts'
import { orgOf, walletOf } from '../org-of.ts'
import { email, flag, isoOf, name } from '../read.ts'
import { done, time } from '../shown-key.ts'
import { may } from '../who.ts'
import { toBeAdded, welcome } from './adding.ts'
import { stopKeysOf } from './leaving.ts'
import { linkGiven } from './mail.ts'
import { normalEmail } from './new-person.ts'

const role = z.enum(roles, `must be one of ${roles.join(', ')}`)
const org = { organisation: name.optional() }
const one = { ...org, person: name }

/** With closed sign-up only those add people who answer for all of them. */
const mayInvite = ({ who, control }: Acting): boolean =>
  may(who, 'team') && (control.console?.signUp !== 'closed' || may(who, 'people'))

/** Throws unless who acts may add somebody in this role. */
export const checkAdds = (acting: Acting, wanted: Role): void => {
  if (!mayInvite(acting))
    throw refuse('forbidden', 'Only the operator of this server adds people (SIGN_UP is closed).')
  checkGives(acting, wanted)
}

const checkGives = ({ who }: Acting, wanted: Role): void => {
  if (who.gives(wanted)) return
  throw wanted === 'owner'
    ? refuse('forbidden', 'Only an owner makes, changes or removes an owner.')
    : refuse('forbidden', `Only who may do all that a ${wanted} may makes, changes or removes one.`)
}

export const memberList = act({
  name: 'member.list',
  summary: 'The people of the organisation.',
  reads: ['team_read'],
  input: org,
  shows: namedObject('MemberList', {
    data: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        email: z.string(),
        role: z.enum(roles),
        since: time,
      }),
    ),
    may_invite: z.boolean(),
  }),
  does: async (acting, { organisation }) => {
    const orgId = orgOf(acting, organisation)
    const members = await acting.control.store.members.list({ orgId })
    return {
      data: members.map(({ personId: id, createdAt, ...member }) => ({
        id,
        name: member.name,
        email: member.email,
        role: member.role,
        since: isoOf(createdAt),
      })),
      may_invite: mayInvite(acting),
    }
  },
})

export const memberInvite = act({
  name: 'member.invite',
  summary: 'Adds somebody; if no mail is sent, the one-time link is in the answer.',
  changes: ['team'],
  input: {
    ...org,
    email,
    role,
    name: line(1, 200, 'must be a name').optional(),
    operator: flag().describe('Makes them an operator too, who runs the server and sees all organisations'),
  },
  shows: namedObject('MemberInvited', { id: z.string(), ...linkGiven }),
  does: async (acting, { organisation, email: address, role: given, name: called, operator }) => {
    const { control, who } = acting
    const { members } = control.store
    const orgId = orgOf(acting, organisation)
    checkAdds(acting, given)
    if (operator === true) checkGivesOperator(acting)
    // Who is in an organisation, or looks at it, knows that there is one.
    if (who.reach.of === 'house') await walletOf(control, orgId)
    if ((await members.list({ orgId })).some((member) => member.email === normalEmail(address)))
      throw refuse('forbidden', 'This person is a member already; change the role instead.')
    const added = await toBeAdded(acting, address, called)
    const { id } = added.person
    await members.put({ orgId, personId: id, role: given }, who.actor)
    if (operator === true) await members.setOperator(id, true, who.actor)
    return { id, ...(await welcome(acting, added, 'You are invited to Turnpike')) }
  },
})

/** Throws unless who acts may do all that an operator may. */
export const checkGivesOperator = ({ who }: Acting): void => {
  if (!who.gives('operator')) throw refuse('forbidden', 'Only who may do everything makes an operator.')
}

const target = async (acting: Acting, organisation: string | undefined, person: string) => {
  const orgId = orgOf(acting, organisation)
  const members = await acting.control.store.members.list({ orgId })
  const found = members.find(({ personId }) => personId === person)
  if (found === undefined) throw refuse('not_found', 'There is no such person in your organisation.')
  checkGives(acting, found.role)
  const lastOwner = found.role === 'owner' && !members.some((it) => it !== found && it.role === 'owner')
  return { ...found, lastOwner }
}

const lastOwner = () => refuse('forbidden', 'The organisation needs an owner; make somebody else one first.')

export const memberChange = act({
  name: 'member.change',
  summary: 'Changes the role of a member.',
  changes: ['team'],
  input: { ...one, role },
  shows: done,
  does: async (acting, { organisation, person, role: given }) => {
    const { personId, orgId } = await target(acting, organisation, person)
    checkGives(acting, given)
    const put = await acting.control.store.members.put({ orgId, personId, role: given }, acting.who.actor)
    if (put === 'last_owner') throw lastOwner()
    return { done: true as const }
  },
})

export const memberRemove = act({
  name: 'member.remove',
  summary: 'Removes a member, and disables the keys that they made for the organisation.',
  changes: ['team'],
  input: one,
  shows: done,
  does: async (acting, { organisation, person }) => {
    const { personId, orgId, lastOwner: isLast } = await target(acting, organisation, person)
    if (isLast) throw lastOwner()
    // Keys end first: a person who was removed cannot be removed again, if something fails half-way.
    await stopKeysOf(acting, orgId, personId)
    const { members } = acting.control.store
    if ((await members.remove({ orgId, personId }, acting.who.actor)) === 'last_owner') throw lastOwner()
    // Those that the person made meanwhile.
    await stopKeysOf(acting, orgId, personId)
    return { done: true as const }
  },
})
