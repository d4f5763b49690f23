/** Acts on all people of the house: listed, made operators, given links, removed. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { refuse } from '../../core/refusal.ts'
import { roles } from '../../store/people/people-port.ts'
import { type Acting, act } from '../act.ts'
import { count, flag, name } from '../read.ts'
import { done } from '../shown-key.ts'
import { reaches, reachesAll } from '../who.ts'
import { PROVED_BY } from './adding.ts'
import { removed } from './forget.ts'
import { stopKeysOf } from './leaving.ts'
import { addressOfLink, LINK_MS, mintLink } from './links.ts'
import { endLoginsOf } from './logins.ts'
import { checkGivesOperator } from './members.ts'
import { type Person, personBy, personById } from './new-person.ts'
import { endCredentials, isProved } from './proof.ts'

/** The organisation under which stands what concerns nobody's organisation: people's own sign-in. */
export const OF_PEOPLE = 'people'

const one = { person: name.describe('The id or the e-mail address') }

const noSuch = () => refuse('not_found', 'There is no such person, or they may do more than you.')

/**
 * The person, with the organisations that they are in. Whoever acts must reach all of them, and may do there what the
 * person may: a link opens all that the person has.
 */
const personIn = async (acting: Acting, named: string): Promise<Person & { orgs: readonly string[] }> => {
  const { store } = acting.control
  const { gives } = acting.who
  const person = (await personById(store.people, named)) ?? (await personBy(store.people, named))
  if (person === undefined) throw noSuch()
  const own = await store.members.list({ personId: person.id })
  const within = own.every(({ orgId, role }) => reaches(acting.who, orgId) && gives(role))
  if (!within || (own.length === 0 && !reachesAll(acting.who)) || (person.operator && !gives('operator')))
    throw noSuch()
  return { ...person, orgs: own.map(({ orgId }) => orgId) }
}

export const personList = act({
  name: 'person.list',
  summary: 'Everybody in reach by e-mail address, with their organisations.',
  reads: ['people'],
  input: {
    limit: count(1, 1_000),
    after: name.optional().describe('The `email` of the last one before'),
  },
  shows: namedObject('PersonList', {
    data: z.array(
      z.object({
        id: z.string(),
        email: z.string(),
        name: z.string(),
        operator: z.boolean(),
        organisations: z.array(z.object({ id: z.string(), role: z.enum(roles) })),
      }),
    ),
    has_more: z.boolean(),
  }),
  does: async ({ control: { store }, who }, { limit = 100, after }) => {
    const members = (await store.members.list({})).filter(({ orgId }) => reaches(who, orgId))
    const ids = [...new Set(members.map(({ personId }) => personId))]
    const found = await store.people.find('person', {
      where: [
        ...(reachesAll(who) ? [] : [{ column: 'id', is: 'in', value: ids } as const]),
        ...(after === undefined ? [] : [{ column: 'email', is: '>', value: after } as const]),
      ],
      by: { column: 'email', down: false },
      most: limit + 1,
    })
    return {
      data: found.slice(0, limit).map((row) => ({
        id: String(row.id),
        email: String(row.email),
        name: String(row.name),
        operator: row.operator === 1,
        organisations: members
          .filter(({ personId }) => personId === row.id)
          .map(({ orgId: id, role }) => ({ id, role })),
      })),
      has_more: found.length > limit,
    }
  },
})

export const personOperator = act({
  name: 'person.operator',
  summary: 'Makes somebody an operator, who runs the server and sees all organisations, or ends that.',
  changes: ['people'],
  input: { ...one, operator: z.boolean('must be true or false') },
  shows: done,
  does: async (acting, { person: named, operator }) => {
    const person = await personIn(acting, named)
    checkGivesOperator(acting)
    if (operator && !isProved(person, acting.control.clock.now()))
      throw refuse(
        'forbidden',
        `The owner of the account '${person.email}' has not proved the address, or not for a year. ${PROVED_BY}`,
        { members: { reason: 'not_proved' } },
      )
    await acting.control.store.members.setOperator(person.id, operator, acting.who.actor)
    return { done: true as const }
  },
})

/** A link that proves the address: who may do this vouches for whom they give it to. */
export const personLink = act({
  name: 'person.link',
  summary:
    'Makes a link that signs somebody in once, within a quarter of an hour, where they set a password.',
  changes: ['people'],
  input: {
    ...one,
    lost_device: flag().describe('Ends their password, passkeys, codes, sessions and agents’ sign-ins first'),
  },
  shows: namedObject('PersonLink', {
    id: z.string(),
    email: z.string(),
    link: z.string().describe('Shown only now'),
    asks_code: z.boolean().describe('Whether it asks for a code of their authenticator app'),
  }),
  does: async (acting, { person: named, lost_device: lost = false }) => {
    const { control, who } = acting
    const { people, events } = control.store
    const person = await personIn(acting, named)
    const { id, email } = person
    // First: nothing is ended, and no link given, without its event.
    await events.record({
      actor: who.actor,
      orgId: OF_PEOPLE,
      what: 'person.link_made',
      subject: id,
      ...(lost ? { after: { credentials: 'ended' } } : {}),
    })
    if (lost) {
      await endCredentials(people, person)
      await endLoginsOf(control, id, who.actor)
    }
    const proves = { how: 'operator', by: who.actor.name } as const
    const secret = await mintLink(people, { email, now: control.clock.now(), lifeMs: LINK_MS, proves })
    return { id, email, link: addressOfLink(control.origin ?? '', secret), asks_code: person.totp && !lost }
  },
})

/** An organisation would be left without an owner. */
const lastOwner = () =>
  refuse(
    'forbidden',
    'An organisation would be left without an owner; make somebody else one first, or forget its wallet.',
  )

export const personRemove = act({
  name: 'person.remove',
  summary: 'Removes a person and all that is known of them; the books and what they did stay, by ids.',
  changes: ['people'],
  input: one,
  shows: namedObject('PersonRemoved', { id: z.string(), removed }),
  does: async (acting, { person: named }) => {
    const { store } = acting.control
    const { id, orgs } = await personIn(acting, named)
    for (const orgId of orgs) {
      const members = await store.members.list({ orgId })
      if (members.every(({ personId, role }) => role !== 'owner' || personId === id)) throw lastOwner()
    }
    const stopKeys = async () => {
      for (const orgId of orgs) await stopKeysOf(acting, orgId, id)
    }
    // Keys end first, in case something fails half-way; then those that the person made meanwhile.
    await stopKeys()
    const gone = await store.forget.forgetPerson(id, acting.who.actor)
    if (gone === 'last_owner') throw lastOwner()
    if (gone === 'unknown') throw noSuch()
    await stopKeys()
    return { id, removed: { ...gone } }
  },
})
