/** The store's port for the keys that organisations have at vendors themselves. It never sees one of them unsealed. */
import type { Instant } from '../../core/time.ts'
import type { DataKeys, SealedKey } from '../../tenancy/own-keys.ts'
import type { Actor } from '../people/event-port.ts'

export type OwnKey = {
  readonly id: string
  readonly orgId: string
  readonly vendor: string
  readonly lastFour: string
  readonly place: number
  readonly enabled: boolean
  /** The name of who added it. */
  readonly addedBy: string
  readonly createdAt: Instant
}

export type NewOwnKey = Omit<OwnKey, 'place' | 'enabled' | 'addedBy' | 'createdAt'> & {
  readonly sealed: string
  /** The key whose place it takes, which is removed. */
  readonly instead?: string | undefined
}

/** When a change was made, for the wait until every process knows. */
type Changed = { readonly at: Instant }

export type OwnKeyStore = DataKeys & {
  /** In the order in which they are asked. */
  list(orgId: string): Promise<readonly OwnKey[]>
  sealed(orgId: string, vendor: string): Promise<readonly SealedKey[]>
  /** Undefined if the key whose place it takes is gone. */
  add(key: NewOwnKey, by: Actor): Promise<Changed | 'too_many' | undefined>
  /**
   * Turns it on or off, puts it at this place among those of its vendor, from 1, and lets calls of its vendor fall back;
   * undefined if there is none.
   */
  change(
    key: { readonly orgId: string; readonly id: string },
    change: {
      readonly enabled?: boolean | undefined
      readonly place?: number | undefined
      readonly fallBack?: boolean | undefined
    },
    by: Actor,
  ): Promise<Changed | undefined>
  remove(key: { readonly orgId: string; readonly id: string }, by: Actor): Promise<Changed | undefined>
  /** The vendors at which it falls back. */
  falls(orgId: string): Promise<ReadonlySet<string>>
}
