/** Who acts: a key, a person, a machine of the operator or a command; what it may do, and whose things it reaches. */
import { checkEnabled } from '../admission/caller.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import type { Month } from '../core/time.ts'
import type { Actor } from '../store/people/event-port.ts'
import type { Machine } from '../store/people/machine-port.ts'
import type { Role } from '../store/people/people-port.ts'
import type { OwnTeam } from '../store/people/team-port.ts'
import type { Key } from '../tenancy/key.ts'
import { checkManages } from '../tenancy/rights.ts'
import { houseRights, mayGive, type Right, rightsOf } from './rights.ts'

/** Whose things it reaches: a key itself and what is below it, one organisation's, or the whole house's. */
type Reach =
  | { readonly of: 'key'; readonly key: Key }
  | { readonly of: 'organisation'; readonly orgId: string }
  /** Only those organisations, if any are named. */
  | { readonly of: 'house'; readonly orgs?: readonly string[] }

export type Who = {
  /** For the record. */
  readonly actor: Actor
  readonly reach: Reach
  /** The teams that a person is in: without the right `keys` all their keys are bound to one of these. */
  readonly teams?: readonly OwnTeam[]
  /** Undefined if it has one of these rights, else the refusal that says who could give it. */
  readonly lacks: (rights: readonly Right[]) => Refusal | undefined
  /** What bounds its credential: it gives nobody one that is bound less. */
  readonly bounds?: Pick<Machine, 'expiresAt' | 'addresses' | 'rpm'>
  /** Whether it may make somebody this, or change who is: nobody makes anybody more than they are. */
  readonly gives: (role: Role | 'operator') => boolean
  /** Records a use that changed nothing, by its act's name: of those whose every use is an event. */
  readonly looked?: (what: string) => Promise<void>
}

export const may = ({ lacks }: Who, right: Right): boolean => lacks([right]) === undefined

/** Whether it reaches everything, and not some organisations only. */
export const reachesAll = (who: Who): boolean => orgsOf(who) === 'all'

/** Whether it leads that team: it makes and limits the team's keys, and sees their use. */
export const leads = ({ teams = [] }: Who, id: string | undefined): boolean =>
  teams.some((team) => team.id === id && team.role === 'admin')

/** The organisations in reach. */
export const orgsOf = ({ reach }: Who): readonly string[] | 'all' => {
  if (reach.of === 'house') return reach.orgs ?? 'all'
  return [reach.of === 'key' ? reach.key.orgId : reach.orgId]
}

export const reaches = (who: Who, orgId: string): boolean => {
  const orgs = orgsOf(who)
  return orgs === 'all' || orgs.includes(orgId)
}

/** Throws unless who acts reaches the whole house: what a server does, it does for every organisation. */
export const checkWholeHouse = (who: Who): void => {
  if (!reachesAll(who)) throw refuse('not_found', 'This is of the whole house, and you reach a part of it.')
}

/** A right that needs an enabled key; a disabled one still sees and changes its own limits, and sees its use. */
const ofKey: Readonly<Partial<Record<Right, (key: Key, month: Month) => Refusal | undefined>>> = {
  read_own: () => undefined,
  keys_own: () => undefined,
  keys: (key, month) => checkEnabled(key, month) ?? checkManages(key),
  wallet_read: (key, month) => checkEnabled(key, month) ?? checkAccount(key),
  rules: (key, month) => checkEnabled(key, month) ?? checkAccount(key) ?? checkManages(key),
  wallet: (key, month) => checkEnabled(key, month) ?? checkAccount(key) ?? checkManages(key),
  // Whoever calls may pay in; who is billed sees the bill, and may pay it.
  fund: checkEnabled,
  bill: (key, month) => checkEnabled(key, month) ?? checkBilled(key),
  sub_wallets_read: checkEnabled,
  sub_wallets: (key, month) => checkEnabled(key, month) ?? checkManages(key) ?? checkUnbound(key),
  tenants: (key, month) => checkEnabled(key, month) ?? checkAccount(key) ?? checkManages(key),
  statements: (key, month) => checkEnabled(key, month) ?? checkAccount(key) ?? checkManages(key),
}

/** Why the key does not speak for the whole account: it shares the wallet with others, or tries the server out. */
export const checkAccount = (key: Key): Refusal | undefined => {
  if (key.trialUntil !== undefined)
    return refuse('forbidden', 'Anonymous trials cannot use this endpoint; sign up for a key of your own.')
  if (key.ancestors.length > 0 || key.subWallet !== undefined)
    return refuse(
      'forbidden',
      "This concerns the whole wallet: a child key, or one that is bound to a sub-wallet, cannot do it; use the account's own key.",
    )
  return undefined
}

/** The bill belongs to the organisation: a child key, or a key that is bound to a sub-wallet, does not see it. */
const checkBilled = (key: Key): Refusal | undefined =>
  key.ancestors.length === 0 && key.subWallet === undefined
    ? undefined
    : refuse(
        'forbidden',
        "The bill is the account's; a child key, or one that is bound to a sub-wallet, sees its own use under /v1/usage.",
      )

/** A key that is bound to a sub-wallet could raise its own ceiling, so it may only look. */
const checkUnbound = (key: Key): Refusal | undefined =>
  key.subWallet === undefined
    ? undefined
    : refuse('forbidden', 'The key is bound to a sub-wallet; it may see it but not make or change any.')

const notOfKeys = () =>
  refuse('forbidden', 'A key cannot do this; a person or a machine of the operator can.')

/** A key that calls. */
export const whoIsKey = (key: Key, month: Month, address?: string): Who => ({
  actor: { kind: 'key', id: key.id, name: key.label, ...(address === undefined ? {} : { address }) },
  reach: { of: 'key', key },
  lacks: (rights) => {
    let refusal: Refusal | undefined = notOfKeys()
    for (const right of rights) {
      const check = ofKey[right]
      if (check === undefined) continue
      refusal = check(key, month)
      if (refusal === undefined) return undefined
    }
    return refusal
  },
  gives: () => false,
})

type Person = {
  readonly personId: string
  readonly email: string
  readonly orgId: string
  readonly role: Role
  readonly operator: boolean
  /** An operator who acts for an organisation that is not their own. */
  readonly actsFor: boolean
  readonly address: string
  readonly teams?: readonly OwnTeam[]
}

const actorOf = ({ personId, email, actsFor, address }: Omit<Person, 'orgId' | 'role' | 'teams'>): Actor => ({
  kind: 'person',
  id: personId,
  name: email,
  address,
  operator: actsFor,
})

/** A person who is signed in and looks at an organisation. */
export const whoIsPerson = (person: Person): Who => {
  const { orgId, role, operator, teams = [] } = person
  const rights: readonly Right[] = operator ? [...rightsOf(role), ...houseRights] : rightsOf(role)
  return {
    actor: actorOf(person),
    reach: { of: 'organisation', orgId },
    teams,
    lacks: (wanted) =>
      wanted.some((right) => rights.includes(right))
        ? undefined
        : refuse('forbidden', `Your role (${role}) may not do this; ask an owner or admin.`, {
            headers: { 'x-role': role },
          }),
    gives: (wanted) => wanted !== 'operator' && mayGive(role, wanted),
  }
}

/** An operator who is signed in, at the pages of the house. */
export const whoIsOperator = (person: Omit<Person, 'orgId' | 'role' | 'teams'>): Who => ({
  actor: actorOf(person),
  reach: { of: 'house' },
  lacks: () => undefined,
  gives: () => true,
})

/** The command of that name, run by whoever has the ledger. */
export const whoIsCommand = (name: string): Who => ({
  actor: { kind: 'command', id: name, name: `turnpike ${name}` },
  reach: { of: 'house' },
  lacks: () => undefined,
  gives: () => true,
})
