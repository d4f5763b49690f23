/** Who may do what in the console: one table, of roles and permissions. Operators act for an organisation as its owner. */
import type { Role } from '../store/people/people-port.ts'

/** `own` means a person's own keys and what those used. */
export type Permission =
  | 'read'
  | 'read_own'
  | 'keys'
  | 'keys_own'
  | 'wallet_read'
  | 'wallet'
  | 'rules'
  | 'tenants'
  | 'statements'
  | 'play'
  | 'team_read'
  | 'team'
  | 'events'

const everything: readonly Permission[] = [
  'read',
  'read_own',
  'keys',
  'keys_own',
  'wallet_read',
  'wallet',
  'rules',
  'tenants',
  'statements',
  'play',
  'team_read',
  'team',
  'events',
]

const rights: Readonly<Record<Role, readonly Permission[]>> = {
  owner: everything,
  admin: everything.filter((act) => act !== 'wallet'),
  billing: ['read', 'read_own', 'wallet_read', 'wallet', 'statements', 'team_read', 'events'],
  developer: ['read_own', 'keys_own', 'play', 'team_read'],
  viewer: ['read', 'read_own', 'wallet_read', 'team_read'],
}

/** What a role may do. */
export const permissionsOf = (role: Role): readonly Permission[] => rights[role]

/** Whether a person with the first role may give or take the second: nobody can make somebody more than they are. */
export const mayGive = (giver: Role, role: Role): boolean =>
  giver === 'owner' || (giver === 'admin' && role !== 'owner')
