/** The store's port for machines of the operator: credentials for programs, of which only a hash is stored. */
import type { Instant } from '../../core/time.ts'
import type { Actor } from './event-port.ts'

/** The organisation under which events of the whole house stand. */
export const HOUSE = 'house'

/** The organisation of whoever runs the server, which the first start makes. */
export const OPERATOR_ORG = 'operator'

export type Machine = {
  readonly id: string
  readonly label: string
  /** The first characters of the credential, so that people recognise it. */
  readonly prefix: string
  readonly rights: readonly string[]
  /** Only these organisations; all if absent. */
  readonly orgs?: readonly string[]
  /** Only from these addresses (CIDR); from anywhere if absent. */
  readonly addresses?: readonly string[] | undefined
  /** Requests per minute. */
  readonly rpm: number
  readonly expiresAt?: Instant | undefined
  readonly revoked: boolean
  readonly createdAt: Instant
  /** Which secret the hash of its credential was made by, as far as that is known. */
  readonly hashedBy?: string
  readonly version: number
}

type NewMachine = Pick<Machine, 'id' | 'label' | 'rights' | 'orgs' | 'addresses' | 'rpm' | 'expiresAt'> &
  NewCredential

type NewCredential = {
  /** HMAC-SHA-256 of the credential under the server's secret, in hex; and the id of that secret. */
  readonly hash: string
  readonly hashedBy?: string | undefined
  readonly prefix: string
}

/** Each change records one event, in its transaction. */
export type MachineStore = {
  create(machine: NewMachine, by: Actor): Promise<Machine>
  /** The machine whose credential has this hash, or that under the previous secret. */
  byHash(hash: string, before?: string): Promise<Machine | undefined>
  /** Notes the hash under the present secret where that or the one under the previous one stands. It is no change of the machine. */
  rehash(
    id: string,
    it: Pick<NewCredential, 'hash' | 'hashedBy'> & { readonly before: string },
  ): Promise<void>
  /** Newest first, revoked ones too. */
  list(): Promise<readonly Machine[]>
  /** Another credential for the same machine: the one before is invalid at once. Undefined if there is none to rotate. */
  rotate(id: string, it: NewCredential, by: Actor): Promise<Machine | undefined>
  /** Undefined if there is none, or it was revoked before. */
  revoke(id: string, by: Actor): Promise<Machine | undefined>
}
