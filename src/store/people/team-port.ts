/** The store's port for teams: sub-wallets with people. The keys of a team are those that are bound to its sub-wallet. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Instant } from '../../core/time.ts'
import type { WalletId } from '../../tenancy/key.ts'
import type { NewSubWallet, SubWallet } from '../accounts/sub-wallet-port.ts'
import type { Actor } from './event-port.ts'

export const teamRoles = ['admin', 'member'] as const
export type TeamRole = (typeof teamRoles)[number]

export type TeamMember = {
  readonly teamId: string
  readonly personId: string
  readonly role: TeamRole
  readonly name: string
  readonly email: string
  readonly joinedAt: Instant
}

/** A team and its money: `label` is its name, `budget` the most that its keys may cost in all (nano-USD). */
export type Team = SubWallet & {
  readonly walletId: WalletId
  /** Present if agents of its people are told something of their own. */
  readonly settings?: JsonObject
}

/** A team that somebody is in. */
export type OwnTeam = { readonly id: string; readonly walletId: WalletId; readonly role: TeamRole }

/** Each change records one event, in its transaction. */
export type TeamStore = {
  /** Makes the sub-wallet too. Undefined when the wallet has as many sub-wallets as it may have. */
  createTeam(
    team: Omit<NewSubWallet, 'makerId'> & { readonly orgId: string },
    by: Actor,
  ): Promise<Team | undefined>
  /** By name; those whose sub-wallet was deleted are no more. */
  teams(of: { readonly orgId: string; readonly id?: string }): Promise<readonly Team[]>
  /** The people of an organisation's teams, by e-mail address. */
  teamMembers(orgId: string): Promise<readonly TeamMember[]>
  /** The teams of a person in an organisation: by when they joined, the first one first. */
  teamsOf(of: { readonly orgId: string; readonly personId: string }): Promise<readonly OwnTeam[]>
  /** Adds somebody to a team or changes their role; false if there is no such team, or they are no member of its organisation. */
  putTeamMember(
    member: {
      readonly orgId: string
      readonly teamId: string
      readonly personId: string
      readonly role: TeamRole
    },
    by: Actor,
  ): Promise<boolean>
  /** False if they are not in it. */
  removeTeamMember(
    member: { readonly orgId: string; readonly teamId: string; readonly personId: string },
    by: Actor,
  ): Promise<boolean>
  /** What agents of its people are told; undefined removes it. False if there is no such team. */
  setTeamSettings(
    team: { readonly orgId: string; readonly teamId: string },
    settings: JsonObject | undefined,
    by: Actor,
  ): Promise<boolean>
}
