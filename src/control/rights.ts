/**
 * Who may do what: one table of rights. Roles of people and credentials of machines are given some of them; a key has those
 * of the account that it speaks for.
 */
import type { Role } from '../store/people/people-port.ts'

/** Rights within an organisation. `own` means the keys that a person or a machine made, and what those used. */
export const orgRights = [
  'read',
  'read_own',
  'keys',
  'keys_own',
  'wallet_read',
  'wallet',
  'fund',
  'bill',
  'rules',
  'sub_wallets_read',
  'sub_wallets',
  'tenants',
  'statements',
  'invoices',
  'play',
  'team_read',
  'team',
  'events',
] as const

/** Rights over the whole house: operators and commands have them all, machines those that they were made with. */
export const houseRights = ['accounts', 'credit', 'people', 'system', 'machines', 'directory'] as const

export type Right = (typeof orgRights)[number] | (typeof houseRights)[number]

export const everyRight: readonly Right[] = [...orgRights, ...houseRights]

const rights: Readonly<Record<Role, readonly Right[]>> = {
  owner: orgRights,
  admin: orgRights.filter((right) => !['wallet', 'fund', 'bill'].includes(right)),
  billing: [
    'read',
    'read_own',
    'wallet_read',
    'wallet',
    'sub_wallets_read',
    'statements',
    'invoices',
    'team_read',
    'events',
  ],
  developer: ['read_own', 'keys_own', 'play', 'team_read'],
  viewer: ['read', 'read_own', 'wallet_read', 'sub_wallets_read', 'team_read'],
}

/** What a role may do in its organisation. */
export const rightsOf = (role: Role): readonly Right[] => rights[role]

/** Whether a person with the first role may give or take the second: nobody can make somebody more than they are. */
export const mayGive = (giver: Role, role: Role): boolean =>
  giver === 'owner' || (giver === 'admin' && role !== 'owner')
