/** The store's port for what organisations' directories say: users and groups (SCIM), and what groups give. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Instant } from '../../core/time.ts'
import type { Actor } from './event-port.ts'
import type { Role } from './people-port.ts'
import type { TeamRole } from './team-port.ts'

export const resourceKinds = ['User', 'Group'] as const
export type ResourceKind = (typeof resourceKinds)[number]

/** A user or group, as its directory sent it. */
export type Resource = {
  readonly id: string
  readonly kind: ResourceKind
  /** The userName or displayName in lower case, which no other of its kind in the organisation has. */
  readonly name: string
  /** Of a user who is active, or was. */
  readonly personId?: string
  /** Of a user whether they may come in; true of groups. */
  readonly active: boolean
  /** What it was sent with, without its members and without what the server gives (RFC 7643, section 3.1). */
  readonly attributes: JsonObject
  readonly createdAt: Instant
  readonly changedAt: Instant
  /** Grows with every change. */
  readonly version: number
}

/** A group's user, or a user's group. */
type GroupMember = { readonly groupId: string; readonly userId: string }

type Place = { readonly orgId: string; readonly id: string }

/** What becomes of a resource; `members` are the ids of users, all of them. */
export type ResourceChange = Pick<Resource, 'name' | 'active' | 'attributes'> & {
  readonly members?: readonly string[] | undefined
}

/** What somebody in a group of the directory is: of several groups the role that may most, and all teams. */
export type GroupRule = {
  /** Of people in no group that gives a role; null if those do not belong to the organisation. */
  readonly defaultRole: Role | null
  readonly groups: readonly {
    readonly group: string
    readonly role?: Role
    readonly team?: string
    readonly teamRole?: TeamRole
  }[]
}

/** Each change records one event, in its transaction. */
export type DirectoryStore = {
  /** Undefined if another resource of the kind has the name. Users that there are not are left out of a group. */
  createResource(
    resource: ResourceChange & Place & Pick<Resource, 'kind'>,
    by: Actor,
  ): Promise<Resource | undefined>
  /** The resource as it is, if it has this version still; `taken` if another one has the name. */
  changeResource(
    place: Place,
    version: number,
    change: ResourceChange,
    by: Actor,
  ): Promise<Resource | 'taken' | undefined>
  /** What it was; undefined if there is none. */
  deleteResource(place: Place, by: Actor): Promise<Resource | undefined>
  /** By when they were made; those of one kind, name or id. */
  resources(of: {
    readonly orgId: string
    readonly kind?: ResourceKind
    readonly name?: string
    readonly id?: string
  }): Promise<readonly Resource[]>
  /** All memberships of the organisation, or those of one user or group. */
  groupMembers(orgId: string, of?: string): Promise<readonly GroupMember[]>
  /** Notes whose account a user is; false if another user of the organisation is that person. It is no change of the user. */
  notePerson(place: Place, personId: string): Promise<boolean>
  groupRule(orgId: string): Promise<GroupRule | undefined>
  setGroupRule(orgId: string, rule: GroupRule, by: Actor): Promise<void>
}
