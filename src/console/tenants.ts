/** A reseller's tenants: created from a list, suspended, their prices, and the links that show them their own use. */
import { randomBytes } from 'node:crypto'
import { invalid, refuse } from '../core/refusal.ts'
import { monthOf } from '../core/time.ts'
import type { KeyChange, ReferenceTaken } from '../store/accounts/tenancy-port.ts'
import type { Key } from '../tenancy/key.ts'
import type { LimitsBody } from '../tenancy/limits-body.ts'
import { marginIn } from '../tenancy/margin.ts'
import { actorOf, type ConsoleRoute, type Here, type Reply, type Within, within } from './here.ts'
import { hashOfLink } from './links.ts'
import { makeTenantKeys, resellerKey, walletOf, wrongLimits } from './make-key.ts'
import { bodied, isoOf, storable } from './read.ts'
import { keysMade, tenantsBody } from './schema/keys.ts'
import { done } from './schema/shared.ts'
import {
  ownPriceBody,
  pointsOf,
  priceBody,
  suspendBody,
  tenantLinkMade,
  tenantShown,
} from './schema/tenants.ts'
import { shownKey } from './shown-key.ts'
import { suspensionOf, type Tenant, tenantOf } from './tenant-of.ts'

type NewTenant = { label: string; reference?: string | undefined; limits?: LimitsBody | undefined }

/** A list that is sent again, with a few lines more, would make each of its tenants a second time. */
const isTaken = (tenants: readonly NewTenant[], { reference: taken, label }: ReferenceTaken) => {
  const at = tenants.findIndex(({ reference }) => reference !== undefined && storable(reference) === taken)
  const param = `tenants.${at}.reference`
  return invalid(param, `'${param}' ('${taken}') is that of your tenant '${label}'; nothing was made.`)
}

/** Makes one child key per tenant. Their values are in this answer and nowhere else. */
const createTenants = async (
  context: Here,
  { tenants }: { tenants: readonly NewTenant[] },
): Promise<Reply> => {
  const here = within(context)
  const walletId = await walletOf(here)
  const parent = await resellerKey(here, walletId)
  const wanted = tenants.map(({ label, reference, limits = {} }) => ({ label, reference, limits, parent }))
  // All are checked before the first is made: a refusal half-way would keep the values of the others from everyone.
  for (const one of wanted) {
    const wrong = wrongLimits(here, one)
    if (wrong !== undefined) throw refuse(wrong.code, `Tenant '${one.label}': ${wrong.message}`, wrong)
  }
  const data = await makeTenantKeys(here, walletId, wanted)
  if ('reference' in data) throw isTaken(tenants, data)
  return { value: { data }, status: 201 }
}

const target = async (context: Here): Promise<{ here: Within; tenant: Tenant }> => {
  const here = within(context)
  return { here, tenant: await tenantOf(here.gateway, here.session.orgId, here.request.params.id ?? '') }
}

const shown = async (here: Within, { id, label, reference, keys }: Tenant) => {
  const { gateway, session } = here
  const { tenants, reports } = gateway.store
  const { orgId } = session
  const [margins, links, lines] = await Promise.all([
    tenants.margins(orgId),
    tenants.links({ orgId, tenantId: id }),
    Promise.all(
      keys
        .filter((key) => !key.deleted)
        .map((key) => reports.keys({ orgId, which: 'tenants', id: key.id, most: 1 })),
    ),
  ])
  const { basisPoints, own } = marginIn(margins, monthOf(gateway.clock.now()), id)
  return {
    id,
    label,
    reference: reference ?? null,
    margin_percent: basisPoints / 100,
    own_margin: own,
    keys: lines.flat().map((line) => shownKey(gateway, line)),
    links: links.map((link) => ({ id: link.id, made_by: link.madeBy, created_at: isoOf(link.createdAt) })),
  }
}

const getTenant = async (context: Here): Promise<Reply> => {
  const { here, tenant } = await target(context)
  return { value: await shown(here, tenant) }
}

/**
 * Disables all keys of the tenant, or enables those that were disabled so: a key that had been disabled by itself stays
 * off. If none was, all were disabled one by one, and all are enabled. Answers once every process knows.
 */
const suspendTenant = async (context: Here, { suspended }: { suspended: boolean }): Promise<Reply> => {
  const { here, tenant } = await target(context)
  const together = suspensionOf(tenant.id)
  const change = {
    disabledReason: suspended ? 'operator' : null,
    withChildren: true,
    byCreator: true,
  } as const
  const toAll = (keys: readonly Key[], how: KeyChange) =>
    Promise.all(
      keys
        .filter(({ deleted }) => !deleted)
        .map(({ id }) => here.gateway.book.changeKey(id, how, actorOf(here))),
    )
  await toAll(tenant.keys, { ...change, together })
  const wasSuspended = tenant.keys.some((key) => !key.deleted && key.disabledBy === together)
  if (!suspended && !wasSuspended) await toAll(tenant.keys, change)
  // A key that was rotated after it was read, and before it was changed, gave one in its former state.
  const after = (await target(context)).tenant
  const known = new Set(tenant.keys.map(({ id }) => id))
  await toAll(
    after.keys.filter(({ id }) => !known.has(id)),
    { ...change, together },
  )
  return { value: await shown(here, after) }
}

const setPrice = async (
  context: Here,
  price: { margin_percent: number; from_month?: string | undefined },
): Promise<Reply> => {
  const here = within(context)
  await here.gateway.store.tenants.setMargin(
    here.session.orgId,
    {
      fromMonth: price.from_month ?? monthOf(here.gateway.clock.now()),
      basisPoints: pointsOf(price.margin_percent),
    },
    actorOf(here),
  )
  return { value: { done: true } }
}

const setOwnPrice = async (
  context: Here,
  price: { margin_percent: number | null; from_month?: string | undefined },
): Promise<Reply> => {
  const { here, tenant } = await target(context)
  await here.gateway.store.tenants.setMargin(
    here.session.orgId,
    {
      tenantId: tenant.id,
      fromMonth: price.from_month ?? monthOf(here.gateway.clock.now()),
      ...(price.margin_percent === null ? {} : { basisPoints: pointsOf(price.margin_percent) }),
    },
    actorOf(here),
  )
  return { value: await shown(here, tenant) }
}

const MOST_LINKS = 20

/** A link that shows the tenant its own use and nothing else. Only the hash of its secret is stored. */
const makeLink = async (context: Here): Promise<Reply> => {
  const { here, tenant } = await target(context)
  const { gateway, session, settings } = here
  const { tenants } = gateway.store
  if ((await tenants.links({ orgId: session.orgId, tenantId: tenant.id })).length >= MOST_LINKS)
    throw refuse('forbidden', `A tenant has at most ${MOST_LINKS} links; revoke one first.`)
  const secret = `tl-${randomBytes(32).toString('base64url')}`
  const link = {
    id: Bun.randomUUIDv7(),
    hash: hashOfLink(secret),
    orgId: session.orgId,
    tenantId: tenant.id,
    madeBy: session.email,
  }
  await tenants.makeLink(link, actorOf(here))
  const address = `${settings.origin ?? here.request.origin}/console/use#${secret}`
  return { value: { id: link.id, link: address }, status: 201 }
}

const endLink = async (context: Here): Promise<Reply> => {
  const { here, tenant } = await target(context)
  const link = { id: here.request.params.link ?? '', orgId: here.session.orgId, tenantId: tenant.id }
  if (!(await here.gateway.store.tenants.endLink(link, actorOf(here))))
    throw refuse('not_found', 'There is no such link of this tenant.')
  return { value: { done: true } }
}

const id = '/tenants/:id'

export const tenantRoutes: readonly ConsoleRoute[] = [
  bodied({
    method: 'POST',
    path: '/tenants',
    summary: 'Makes a child key for each tenant; their values are shown once.',
    audience: ['tenants'],
    body: tenantsBody,
    answer: keysMade,
    statuses: [201],
    handler: createTenants,
  }),
  bodied({
    method: 'PUT',
    path: '/tenants/price',
    summary: 'The margin on our price for all tenants without a price of their own; for reports only.',
    audience: ['tenants'],
    body: priceBody,
    answer: done,
    handler: setPrice,
  }),
  {
    method: 'GET',
    path: id,
    summary: 'One tenant, by its id or that of any of its keys.',
    audience: ['tenants', 'statements'],
    answer: tenantShown,
    handler: getTenant,
  },
  bodied({
    method: 'PUT',
    path: id,
    summary: 'Suspends a tenant with all its keys, or lifts that; answers once every process knows.',
    audience: ['tenants'],
    body: suspendBody,
    answer: tenantShown,
    handler: suspendTenant,
  }),
  bodied({
    method: 'PUT',
    path: `${id}/price`,
    summary: 'The margin on our price for this tenant; for reports only.',
    audience: ['tenants'],
    body: ownPriceBody,
    answer: tenantShown,
    handler: setOwnPrice,
  }),
  {
    method: 'POST',
    path: `${id}/links`,
    summary: 'Makes a link that shows the tenant its own use; its secret is shown once.',
    audience: ['tenants'],
    answer: tenantLinkMade,
    statuses: [201],
    handler: makeLink,
  },
  {
    method: 'DELETE',
    path: `${id}/links/:link`,
    summary: 'Revokes such a link.',
    audience: ['tenants'],
    answer: done,
    handler: endLink,
  },
]
