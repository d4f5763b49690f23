/** Acts on machines: credentials for the operator's programs, scoped to rights and organisations. */
import { z } from 'zod'
import { checkCell } from '../cells/wrong-cell.ts'
import { isBlockWithin, readBlock } from '../core/address.ts'
import { line, namedObject } from '../core/body.ts'
import { invalid, must, type Refusal, refuse } from '../core/refusal.ts'
import { storable } from '../core/storable.ts'
import { type Instant, newIdOf } from '../core/time.ts'
import { newMachineToken, prefixOf } from '../gateway/parts/new-token.ts'
import type { Actor } from '../store/people/event-port.ts'
import { HOUSE, type Machine } from '../store/people/machine-port.ts'
import { type Acting, act, type Control } from './act.ts'
import { count, instant, isoOf, name } from './read.ts'
import { everyRight, type Right, rightsOf } from './rights.ts'
import { done, time } from './shown-key.ts'
import { orgsOf, reaches, reachesAll, type Who } from './who.ts'

const shape = {
  id: z.string(),
  label: z.string(),
  prefix: z.string(),
  rights: z.array(z.string()).describe('What it may do'),
  organisations: z.array(z.string()).nullable().describe('The only organisations it reaches; null for all'),
  addresses: z.array(z.string()).nullable().describe('The only addresses it may come from; null for any'),
  rpm_limit: z.int(),
  expires_at: time.nullable(),
  revoked: z.boolean(),
  created_at: time,
  version: z.int(),
}
const machineShown = namedObject('Machine', shape)
const machineMade = namedObject('MachineMade', {
  ...shape,
  credential: z.string().describe('Sent as a bearer token; shown only now'),
})

const shown = (machine: Machine): z.output<typeof machineShown> => ({
  id: machine.id,
  label: machine.label,
  prefix: machine.prefix,
  rights: [...machine.rights],
  organisations: machine.orgs === undefined ? null : [...machine.orgs],
  addresses: machine.addresses === undefined ? null : [...machine.addresses],
  rpm_limit: machine.rpm,
  expires_at: machine.expiresAt === undefined ? null : isoOf(machine.expiresAt),
  revoked: machine.revoked,
  created_at: isoOf(machine.createdAt),
  version: machine.version,
})

const drawn = ({ control: { hash, options } }: Acting) => {
  const credential = newMachineToken(options.cell.own)
  return { credential, hash: hash(credential), hashedBy: hash.id, prefix: prefixOf(credential) }
}

const right = z.enum(everyRight as [Right, ...Right[]], `must be one of ${everyRight.join(', ')}`)
const block = z
  .string()
  .refine(
    (value) => readBlock(value) !== undefined,
    'must be an address or a block of them, such as 10.0.0.0/8',
  )

export const machineCreate = act({
  name: 'machine.create',
  summary: 'Makes a credential for a program of the operator; it is shown once.',
  changes: ['machines'],
  input: {
    label: line(1, 200, 'must have 1 to 200 characters'),
    rights: z.array(right).min(1, 'must name at least one right'),
    organisations: z.array(name).min(1).optional(),
    addresses: z.array(block).min(1).optional(),
    rpm_limit: count(1, 1_000_000),
    expires_at: instant(),
  },
  shows: machineMade,
  does: async (acting, { label, rights, organisations, addresses, rpm_limit: rpm, expires_at: ends }) => {
    // Nobody gives a machine what they may not do themselves.
    for (const one of rights) must(acting.who.lacks([one]))
    const inReach = orgsOf(acting.who)
    const orgs = organisations ?? (inReach === 'all' ? undefined : inReach)
    if (orgs?.every((id) => reaches(acting.who, id)) === false)
      throw refuse('not_found', 'There is no such organisation, or it is not yours.')
    await checkThere(acting, orgs ?? [])
    const bounds = must(boundsFor(acting.who, { addresses, rpm, expiresAt: ends }))
    const { credential, ...secret } = drawn(acting)
    const made = await acting.control.store.machines.create(
      {
        ...secret,
        ...bounds,
        id: newIdOf('mac'),
        label: storable(label),
        rights,
        ...(orgs === undefined ? {} : { orgs }),
      },
      acting.who.actor,
    )
    return { ...shown(made), credential }
  },
})

/** Throws the 400 that names the first organisation that is none: a machine for a misspelt one would reach nothing. */
const checkThere = async ({ control: { store } }: Acting, orgs: readonly string[]): Promise<void> => {
  for (const [at, id] of orgs.entries())
    if ((await store.reports.walletsOf(id)).length === 0)
      throw invalid(`organisations.${at}`, `'organisations.${at}' ('${id}') is no organisation.`)
}

export const machineList = act({
  name: 'machine.list',
  summary: 'The credentials of machines, newest first, without their values; revoked ones too.',
  reads: ['machines'],
  input: {},
  shows: namedObject('MachineList', { data: z.array(machineShown) }),
  does: async (acting) => ({ data: (await within(acting)).map(shown) }),
})

const within = async (acting: Acting): Promise<readonly Machine[]> =>
  (await acting.control.store.machines.list()).filter((machine) => isWithinReach(acting.who, machine))

const noSuch = () =>
  refuse('not_found', 'There is no such machine, or it was revoked, or may do more than you.')

/** Throws the 404 unless who acts reaches the machine. */
const checkNamed = async (acting: Acting, id: string): Promise<void> => {
  if (!(await within(acting)).some((machine) => machine.id === id)) throw noSuch()
}

export const machineRotate = act({
  name: 'machine.rotate',
  summary: 'Gives a machine another credential, shown once; the one before is invalid at once.',
  changes: ['machines'],
  input: { machine: name },
  shows: machineMade,
  does: async (acting, { machine: id }) => {
    await checkNamed(acting, id)
    const { credential, ...secret } = drawn(acting)
    const made = await acting.control.store.machines.rotate(id, secret, acting.who.actor)
    return { ...shown(must(made ?? noSuch())), credential }
  },
})

export const machineRevoke = act({
  name: 'machine.revoke',
  summary: 'Revokes a machine for good; its next request is refused.',
  changes: ['machines'],
  input: { machine: name },
  shows: done,
  does: async (acting, { machine: id }) => {
    const { control, who } = acting
    await checkNamed(acting, id)
    must((await control.store.machines.revoke(id, who.actor)) ?? noSuch())
    return { done: true as const }
  },
})

/** The credential of an `Authorization` value. A key of a caller is told where it does not belong. */
const credentialIn = (authorization: string | null): string | Refusal => {
  if (authorization === null || authorization.trim() === '')
    return refuse(
      'missing_authorization',
      "Send the credential of a machine in the header 'Authorization: Bearer tm-…'; turnpike machine create makes one.",
      { headers: { 'www-authenticate': 'Bearer' } },
    )
  return (
    /^bearer +(tm-\S+)$/i.exec(authorization.trim())?.[1] ??
    refuse(
      'invalid_api_key',
      'This address is for machines of the operator: send a credential that begins with tm-, from turnpike machine create.',
      { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } },
    )
  )
}

/** The machine of an `Authorization` value, also under the previous secret, from which it moves to the present one. */
export const machineOf = async (
  { store: { machines }, hash, options }: Pick<Control, 'store' | 'hash' | 'options'>,
  authorization: string | null,
): Promise<Machine | undefined> => {
  const credential = must(credentialIn(authorization))
  const { own } = options.cell
  if (own !== undefined) checkCell(own, credential)
  const present = hash(credential)
  const before = hash.before?.(credential) ?? present
  const found = await machines.byHash(present, before)
  if (found !== undefined && found.hashedBy !== hash.id)
    await machines.rehash(found.id, { before, hash: present, hashedBy: hash.id })
  return found
}

/** The machine, if it may act now: it was not revoked, has not expired, and comes from where it may. */
export const checkMachine = (
  machine: Machine | undefined,
  now: Instant,
  isFrom: (block: string) => boolean,
): Machine | Refusal => {
  if (machine === undefined || machine.revoked)
    return refuse('invalid_api_key', 'The credential of the machine is unknown or was revoked.')
  if (machine.expiresAt !== undefined && now >= machine.expiresAt)
    return refuse(
      'invalid_api_key',
      `The credential expired on ${isoOf(machine.expiresAt)}; make another one.`,
    )
  if (machine.addresses?.some(isFrom) === false)
    return refuse('forbidden', 'The machine may not act from this address.')
  return machine
}

/** A machine that acts. Each use of it is an event. */
export const whoIsMachine = (
  { store }: Pick<Control, 'store'>,
  { id, label, rights, orgs, expiresAt, addresses, rpm }: Machine,
  address: string,
): Who => {
  const actor: Actor = { kind: 'machine', id, name: label, address }
  return {
    actor,
    reach: { of: 'house', ...(orgs === undefined ? {} : { orgs }) },
    bounds: { expiresAt, addresses, rpm },
    lacks: (wanted) =>
      wanted.some((one) => rights.includes(one))
        ? undefined
        : refuse(
            'forbidden',
            `The machine may not do this: it needs the right ${wanted.join(' or ')}, and has ${rights.join(', ')}.`,
          ),
    gives: (role) =>
      (role === 'operator' ? everyRight : rightsOf(role)).every((right) => rights.includes(right)) &&
      (role !== 'operator' || orgs === undefined),
    looked: (what) => store.events.record({ actor, orgId: HOUSE, what, subject: id }),
  }
}

type Bounds = Pick<Machine, 'expiresAt' | 'addresses' | 'rpm'>
type AskedBounds = { readonly [Name in keyof Bounds]: Bounds[Name] | undefined }

/** Requests per minute, unless others are asked for. */
const RPM = 600

/** The first bound, by its member's name, in which it is freer than who acts. */
const freerIn = ({ bounds }: Who, { expiresAt, addresses, rpm }: Bounds): string | undefined => {
  if (bounds === undefined) return undefined
  if ((expiresAt ?? Number.POSITIVE_INFINITY) > (bounds.expiresAt ?? Number.POSITIVE_INFINITY))
    return 'expires_at'
  const own = bounds.addresses
  const inside = (block: string) => own?.some((around) => isBlockWithin(block, around)) !== false
  if (own !== undefined && addresses?.every(inside) !== true) return 'addresses'
  return rpm > bounds.rpm ? 'rpm_limit' : undefined
}

/** The bounds of a machine that who acts may make: what is not asked for is as theirs. */
const boundsFor = (who: Who, { expiresAt, addresses, rpm }: AskedBounds): Bounds | Refusal => {
  const own = who.bounds
  const bounds = {
    expiresAt: expiresAt ?? own?.expiresAt,
    addresses: addresses ?? own?.addresses,
    rpm: rpm ?? Math.min(RPM, own?.rpm ?? RPM),
  }
  const freer = freerIn(who, bounds)
  return freer === undefined
    ? bounds
    : refuse('forbidden', `A machine may not make one that is bound less in '${freer}' than itself.`)
}

/** Whether it has no right that who acts lacks, no organisation beyond their reach, and no bound fewer. */
const isWithinReach = (who: Who, machine: Bounds & Pick<Machine, 'rights' | 'orgs'>): boolean => {
  return (
    machine.rights.every((one) => who.lacks([one as Right]) === undefined) &&
    (reachesAll(who) || machine.orgs?.every((id) => reaches(who, id)) === true) &&
    freerIn(who, machine) === undefined
  )
}
