/** Acts on a reseller's tenants: made from a list, suspended, and shown their own use by links. */

import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { line, namedObject } from '../../core/body.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { monthOf } from '../../core/time.ts'
import type { KeyChange, ReferenceTaken } from '../../store/accounts/tenancy-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { keyLabel, limitMembers } from '../../tenancy/limits-body.ts'
import { marginIn } from '../../tenancy/margin.ts'
import { type Acting, act } from '../act.ts'
import { madeShown, makeTenantKeys, wrongLimits } from '../make-key.ts'
import { orgOf, walletOf } from '../org-of.ts'
import { isoOf, name } from '../read.ts'
import { readLimits } from '../read-limits.ts'
import { done, keyShape, keyShown, showKeys, time } from '../shown-key.ts'
import { suspensionOf, type Tenant, tenantOf } from './tenant-of.ts'

/** The form in which a link's secret is stored. */
export const hashOfLink = (secret: string): string =>
  new Bun.CryptoHasher('sha256').update(secret).digest('hex')

/** The key above the organisation's tenants: the oldest that manages others. */
const resellerKey = async (acting: Acting, orgId: string): Promise<Key | undefined> => {
  if (acting.who.reach.of === 'key') return acting.who.reach.key
  const lines = await acting.control.store.reports.keys({ orgs: [orgId], which: 'own', most: 1_000 })
  return lines
    .map(({ key }) => key)
    .filter(
      ({ canManage, subWallet, disabledReason }) =>
        canManage && subWallet === undefined && disabledReason === undefined,
    )
    .at(-1)
}

/** Two tenants with one reference would be one tenant with two keys, which a list surely does not mean. */
const referencesOnce = ({
  value: tenants,
  issues,
}: z.core.ParsePayload<readonly { reference?: string | undefined }[]>) => {
  const places = new Map<string, number>()
  for (const [at, { reference }] of tenants.entries()) {
    if (reference === undefined) continue
    const before = places.get(reference)
    if (before !== undefined)
      issues.push({
        code: 'custom',
        path: [at, 'reference'],
        message: `is also that of 'tenants.${before}'; nothing was made`,
        input: reference,
      })
    else places.set(reference, at)
  }
}

const newTenant = z.strictObject({
  label: keyLabel,
  reference: line(1, 200, 'must have at most 200 characters').optional(),
  limits: z.strictObject(limitMembers).optional(),
})

/** A list that is sent again, with a few lines more, would make each of its tenants a second time. */
const isTaken = (
  tenants: readonly z.output<typeof newTenant>[],
  { reference: taken, label }: ReferenceTaken,
) => {
  const at = tenants.findIndex(({ reference }) => reference !== undefined && storable(reference) === taken)
  const param = `tenants.${at}.reference`
  return invalid(param, `'${param}' ('${taken}') is that of your tenant '${label}'; nothing was made.`)
}

export const tenantCreate = act({
  name: 'tenant.create',
  summary: 'Makes a child key for each tenant, all or none; their values are shown once.',
  changes: ['tenants'],
  input: {
    organisation: name.optional(),
    tenants: z
      .array(newTenant)
      .min(1, 'must name at least one tenant')
      .max(200, 'may name 200 tenants at most')
      .check(referencesOnce),
  },
  shows: namedObject('TenantsMade', {
    data: z.array(z.object({ ...keyShape, key: z.string().describe('The key; shown only now') })),
  }),
  does: async (acting, { organisation, tenants }) => {
    const { store } = acting.control
    const orgId = orgOf(acting, organisation)
    const parent = await resellerKey(acting, orgId)
    const wanted = tenants.map(({ label, reference, limits = {} }) => ({
      label,
      reference,
      limits: readLimits(acting.control, limits),
    }))
    // All are checked before the first is made: a refusal half-way would keep the values of the others from everyone.
    for (const { label, limits } of wanted) {
      const wrong = wrongLimits(acting, limits, parent)
      if (wrong !== undefined) throw refuse(wrong.code, `Tenant '${label}': ${wrong.message}`, wrong)
    }
    const walletId = parent?.walletId ?? (await walletOf(acting.control, orgId))
    const made = await makeTenantKeys(acting, { orgId, walletId }, parent, wanted)
    if ('reference' in made) throw isTaken(tenants, made)
    const lines = await Promise.all(
      made.map(({ key: { id } }) => store.reports.keys({ orgs: 'all', which: 'all', id, most: 1 })),
    )
    const shown = await showKeys(acting, lines.flat())
    const token = new Map(made.map((one) => [one.key.id, one.token]))
    return { data: shown.map((key) => madeShown(key, token.get(key.id) ?? '')) }
  },
})

export const target = async (acting: Acting, organisation: string | undefined, tenant: string) => {
  const orgId = orgOf(acting, organisation)
  return { orgId, tenant: await tenantOf(acting.control, orgId, tenant) }
}

const link = z.object({ id: z.string(), made_by: z.string(), created_at: time })

export const tenantShown = namedObject('Tenant', {
  id: z.string(),
  label: z.string(),
  reference: z.string().nullable(),
  margin_percent: z.number().describe('The reseller’s margin on our price'),
  own_margin: z.boolean().describe('Whether it is for this tenant, and not for all'),
  keys: z.array(keyShown).describe('Its keys that are not deleted, oldest first'),
  links: z.array(link),
})

export const showTenant = async (acting: Acting, orgId: string, { id, label, reference, keys }: Tenant) => {
  const { control } = acting
  const { tenants, reports } = control.store
  const [margins, links, lines] = await Promise.all([
    tenants.margins(orgId),
    tenants.links({ orgId, tenantId: id }),
    Promise.all(
      keys
        .filter((key) => !key.deleted)
        .map((key) => reports.keys({ orgs: [orgId], which: 'tenants', id: key.id, most: 1 })),
    ),
  ])
  const { basisPoints, own } = marginIn(margins, monthOf(control.clock.now()), id)
  return {
    id,
    label,
    reference: reference ?? null,
    margin_percent: basisPoints / 100,
    own_margin: own,
    keys: [...(await showKeys(acting, lines.flat()))],
    links: links.map((one) => ({ id: one.id, made_by: one.madeBy, created_at: isoOf(one.createdAt) })),
  }
}

export const named = { organisation: name.optional(), tenant: name }

export const tenantGet = act({
  name: 'tenant.get',
  summary: 'One tenant, by its id or that of any of its keys.',
  reads: ['tenants', 'statements'],
  input: named,
  shows: tenantShown,
  does: async (acting, { organisation, tenant: id }) => {
    const { orgId, tenant } = await target(acting, organisation, id)
    return showTenant(acting, orgId, tenant)
  },
})

/** Whether a key of the tenant, or one below those, is disabled by a suspension. */
const isSuspended = async ({ control }: Acting, id: string, keys: readonly Key[]): Promise<boolean> => {
  const below = await Promise.all(keys.map((key) => control.store.keys.list({ below: key.id })))
  return [keys, ...below].flat().some(({ disabledBy }) => disabledBy === suspensionOf(id))
}

/** How each of the keys changes; undefined if they stay as they are. */
const suspending = async (
  acting: Acting,
  { id, keys }: Tenant,
  suspended: boolean,
): Promise<KeyChange | undefined> => {
  const change = {
    disabledReason: suspended ? 'reseller' : null,
    withChildren: true,
    byCreator: true,
  } as const
  const there = keys.filter(({ deleted }) => !deleted)
  if (suspended || (await isSuspended(acting, id, there))) return { ...change, together: suspensionOf(id) }
  return there.every(({ disabledReason }) => disabledReason !== undefined) ? change : undefined
}

/**
 * Disables all keys of the tenant, or enables those that were disabled so: a key that had been disabled by itself stays
 * off, also when the lifting is repeated. Where no suspension is left and all keys are off, they were disabled one by one,
 * and all are enabled. Each key that changes has its own event. Answers once every process knows.
 */
export const tenantSuspend = act({
  name: 'tenant.suspend',
  summary: 'Suspends a tenant with all its keys, or lifts that; answers once every process knows.',
  changes: ['tenants'],
  input: { ...named, suspended: z.boolean('must be true or false') },
  shows: tenantShown,
  does: async (acting, { organisation, tenant: id, suspended }) => {
    const { orgId, tenant } = await target(acting, organisation, id)
    const change = await suspending(acting, tenant, suspended)
    if (change === undefined) {
      acting.unchanged?.()
      return showTenant(acting, orgId, tenant)
    }
    const toAll = (keys: readonly Key[]) =>
      Promise.all(
        keys
          .filter(({ deleted }) => !deleted)
          .map((key) => acting.control.book.changeKey(key.id, change, acting.who.actor)),
      )
    await toAll(tenant.keys)
    // A key that was rotated after it was read, and before it was changed, gave one in its former state.
    const after = await tenantOf(acting.control, orgId, id)
    const known = new Set(tenant.keys.map((key) => key.id))
    await toAll(after.keys.filter((key) => !known.has(key.id)))
    return showTenant(acting, orgId, after)
  },
})

const MOST_LINKS = 20

/** Only the hash of the link's secret is stored. */
export const tenantLink = act({
  name: 'tenant.link',
  summary: 'Makes a link that shows the tenant its own use and nothing else; its secret is shown once.',
  changes: ['tenants'],
  input: named,
  shows: namedObject('TenantLinkMade', { id: z.string(), link: z.string().describe('Shown only now') }),
  does: async (acting, { organisation, tenant: id }) => {
    const { orgId, tenant } = await target(acting, organisation, id)
    const { store, origin = '' } = acting.control
    if ((await store.tenants.links({ orgId, tenantId: tenant.id })).length >= MOST_LINKS)
      throw refuse('forbidden', `A tenant has at most ${MOST_LINKS} links; revoke one first.`)
    const secret = `tl-${randomBytes(32).toString('base64url')}`
    const made = {
      id: Bun.randomUUIDv7(),
      hash: hashOfLink(secret),
      orgId,
      tenantId: tenant.id,
      madeBy: acting.who.actor.name,
    }
    await store.tenants.makeLink(made, acting.who.actor)
    return { id: made.id, link: `${origin}/console/use#${secret}` }
  },
})

export const tenantUnlink = act({
  name: 'tenant.unlink',
  summary: 'Revokes such a link.',
  changes: ['tenants'],
  input: { ...named, link: name },
  shows: done,
  does: async (acting, { organisation, tenant: id, link: linkId }) => {
    const { orgId, tenant } = await target(acting, organisation, id)
    const ended = await acting.control.store.tenants.endLink(
      { id: linkId, orgId, tenantId: tenant.id },
      acting.who.actor,
    )
    must(ended || refuse('not_found', 'There is no such link of this tenant.'))
    return { done: true as const }
  },
})
