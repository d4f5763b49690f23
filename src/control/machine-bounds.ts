/** What a machine may give others: nobody makes, sees, renews or ends a machine that can do more than they. */
import { isBlockWithin } from '../core/address.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import type { Machine } from '../store/people/machine-port.ts'
import type { Right } from './rights.ts'
import { reaches, reachesAll, type Who } from './who.ts'

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
export const boundsFor = (who: Who, { expiresAt, addresses, rpm }: AskedBounds): Bounds | Refusal => {
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
export const isWithinReach = (who: Who, machine: Bounds & Pick<Machine, 'rights' | 'orgs'>): boolean => {
  return (
    machine.rights.every((one) => who.lacks([one as Right]) === undefined) &&
    (reachesAll(who) || machine.orgs?.every((id) => reaches(who, id)) === true) &&
    freerIn(who, machine) === undefined
  )
}
