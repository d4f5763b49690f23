/**
 * The store's port for a reseller's tenants: their keys, the reseller's prices, and links that show a tenant its use.
 */
import type { Instant, Month } from '../../core/time.ts'
import type { Key, KeyId } from '../../tenancy/key.ts'
import type { Actor } from '../people/event-port.ts'

/** A key of a tenant, or a key below one. A tenant has the id of its first key. */
export type TenantKey = {
  readonly key: Key
  readonly tenantId: KeyId
  /** The reseller's own name for the tenant. */
  readonly reference?: string
}

/** A reseller's margin on our price, in hundredths of a percent, from a month on. */
export type TenantMargin = {
  /** Absent: for all tenants without a margin of their own. */
  readonly tenantId?: KeyId
  readonly fromMonth: Month
  /** Absent: from then on the tenant has no margin of its own. */
  readonly basisPoints?: number
}

export type TenantLink = {
  readonly id: string
  readonly orgId: string
  readonly tenantId: KeyId
  /** The e-mail address of the person who made it. */
  readonly madeBy: string
  readonly createdAt: Instant
}

export type TenantStore = {
  /** The keys of all tenants of an organisation, or of one, oldest first, including deleted ones. */
  keys(of: { readonly orgId: string; readonly tenantId?: KeyId }): Promise<readonly TenantKey[]>
  /** Whether calls that tenants began in the month go on, such as lines of a batch: they will be charged to that month. */
  goOn(of: { readonly orgId: string; readonly tenantId?: KeyId; readonly month: Month }): Promise<boolean>
  /** All margins of an organisation, by month. */
  margins(orgId: string): Promise<readonly TenantMargin[]>
  /** The same, with the organisation's name, which is that of its first wallet. */
  pricing(orgId: string): Promise<{ readonly margins: readonly TenantMargin[]; readonly name: string }>
  /**
   * Sets a margin from its month on, until the next one that is set. Processes hear of it as of a change of the rules of
   * the organisation's wallets. Returns a time of the database after the change.
   */
  setMargin(orgId: string, margin: TenantMargin, by: Actor): Promise<Instant>
  links(of: { readonly orgId: string; readonly tenantId: KeyId }): Promise<readonly TenantLink[]>
  linkByHash(hash: string): Promise<TenantLink | undefined>
  makeLink(link: Omit<TenantLink, 'createdAt'> & { readonly hash: string }, by: Actor): Promise<void>
  /** False if the tenant has no such link. */
  endLink(link: Pick<TenantLink, 'id' | 'orgId' | 'tenantId'>, by: Actor): Promise<boolean>
}
