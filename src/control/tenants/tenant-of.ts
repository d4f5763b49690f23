/** The tenant that an address names, by the id of the tenant or of any of its keys. */
import { refuse } from '../../core/refusal.ts'
import type { TenantKey } from '../../store/tenants/tenant-port.ts'
import type { Key } from '../../tenancy/key.ts'
import type { Control } from '../act.ts'

export type Tenant = {
  readonly id: string
  readonly label: string
  readonly reference: string | undefined
  /** The keys directly below the reseller's key, oldest first, including deleted ones. */
  readonly keys: readonly Key[]
}

/** What its keys are disabled together with while a tenant is suspended. */
export const suspensionOf = (tenantId: string): string => `suspended ${tenantId}`

/** The tenants of some keys, oldest first. Each has the name of its newest key. */
export const tenantsAmong = (found: readonly TenantKey[]): readonly Tenant[] => {
  const tenants = new Map<string, Tenant>()
  for (const { key, tenantId, reference } of found)
    if (key.ancestors.length === 1)
      tenants.set(tenantId, {
        id: tenantId,
        label: key.label,
        reference,
        keys: [...(tenants.get(tenantId)?.keys ?? []), key],
      })
  return [...tenants.values()]
}

/** The organisation's tenant. Throws the 404 if there is none, or it is not theirs. */
export const tenantOf = async (
  { store }: Pick<Control, 'store'>,
  orgId: string,
  id: string,
): Promise<Tenant> => {
  const [line] = await store.reports.keys({ orgs: [orgId], which: 'tenants', id, most: 1 })
  const tenantId = line?.tenantId ?? line?.key.ancestors.at(-2) ?? line?.key.id
  const all = tenantId === undefined ? [] : await store.tenants.keys({ orgId, tenantId })
  const tenant = tenantsAmong(all).find((one) => one.id === tenantId)
  if (tenant === undefined) throw refuse('not_found', 'There is no such tenant, or it is not yours.')
  return tenant
}
