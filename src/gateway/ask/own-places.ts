/**
 * Where calls of an organisation go that has keys at vendors itself: to those, in order, and to keys of the house only where
 * its owner said so. A call runs under a twin of its model, which has these places and the price of such calls.
 */
import type { Model } from '../../core/model.ts'
import { Refusal, refuse } from '../../core/refusal.ts'
import type { Secret } from '../../core/secret.ts'
import { ownTwin } from '../../pricing/own-price.ts'
import { type Deployment, deploymentsOf, newTraffic, RANK, type Traffic } from '../../routing/deployments.ts'
import { houseMayAsk, type OwnKeys } from '../../tenancy/own-keys.ts'
import type { OwnKeyRing } from '../../transport/own-key-ring.ts'
import { ofOthers, type VendorSetup } from '../../vendors/setup.ts'
import type { Gateway } from '../parts/gateway.ts'
import { OWN_KEY } from '../parts/trace.ts'

/** The keys of a vendor, opened, as the vendor is set up with them. */
type OpenedAt = { readonly setup: VendorSetup; readonly ids: readonly string[] }

/** What this process has opened for an organisation, while that is not too old and its keys stay the same. */
type Opened = {
  readonly of: string
  /** How vendors were set up then. */
  readonly offering: Gateway['offering']
  readonly untilMs: number
  readonly at: Map<string, Promise<OpenedAt>>
  readonly twins: WeakMap<Model, Model>
  /** What traffic has shown about its keys; it takes no part in that of the house's. */
  readonly traffic: Traffic
}

const ORGS_MOST = 10_000
const known = new WeakMap<OwnKeyRing, Map<string, Opened>>()

const openedOf = ({ ownKeys: ring, clock, offering }: Gateway, orgId: string, own: OwnKeys): Opened => {
  const orgs = known.get(ring) ?? new Map<string, Opened>()
  if (orgs.size === 0) known.set(ring, orgs)
  const [before, of, nowMs] = [orgs.get(orgId), JSON.stringify(own), clock.monotonicMs()]
  const same = before?.of === of && before.offering === offering
  if (before !== undefined && same && nowMs < before.untilMs) return before
  const traffic = before?.traffic ?? newTraffic()
  const opened: Opened = {
    ...{ of, offering, untilMs: nowMs + ring.openMs, traffic },
    ...{ at: new Map(), twins: new WeakMap() },
  }
  if (orgs.size >= ORGS_MOST) orgs.clear()
  orgs.set(orgId, opened)
  return opened
}

/** How many milliseconds more this process lets an organisation's keys rest, with one model or all, by their ids. */
export const ownRests = (ring: OwnKeyRing, orgId: string, nowMs: number): ReadonlyMap<string, number> => {
  const rests = new Map<string, number>()
  for (const [name, { restingUntilMs }] of known.get(ring)?.get(orgId)?.traffic.health ?? []) {
    const [, id = ''] = (name.split(' ', 1)[0] ?? '').split('#')
    if (restingUntilMs > nowMs) rests.set(id, Math.max(rests.get(id) ?? 0, restingUntilMs - nowMs))
  }
  return rests
}

const none = (vendor: string, why: string): Refusal =>
  refuse(
    'own_keys_unavailable',
    `Your organisation has keys of its own at ${vendor}, and ${why}. The house's key was not asked; nothing was charged.`,
    { members: { provider: vendor } },
  )

type Owner = { readonly orgId: string; readonly own: OwnKeys }

const openAt = async (gateway: Gateway, { orgId, own }: Owner, vendor: string): Promise<OpenedAt> => {
  const setup = gateway.offering.vendors.get(vendor)
  const { keys = [] } = own[vendor] ?? {}
  if (keys.length === 0) throw none(vendor, 'all of them are turned off')
  if (setup === undefined || setup.authorize !== undefined)
    throw none(vendor, 'this server reaches it in another way now')
  const rows = await gateway.store.ownKeys.sealed(orgId, vendor)
  const found: { id: string; secret: Secret }[] = []
  for (const id of keys) {
    const row = rows.find((one) => one.id === id)
    if (row !== undefined) found.push({ id, secret: await gateway.ownKeys.open(orgId, row) })
  }
  if (found.length === 0) throw none(vendor, 'none of them is there')
  return {
    setup: { ...ofOthers(setup), secrets: found.map(({ secret }) => secret) },
    ids: found.map(({ id }) => id),
  }
}

/** The organisation's own deployments of a model. Throws the refusal of a vendor at which none can be used. */
export const ownDeployments = async (
  gateway: Gateway,
  owner: Owner,
  model: Model,
): Promise<readonly Deployment[]> => {
  const { at, traffic } = openedOf(gateway, owner.orgId, owner.own)
  const { vendor } = model
  const opening = at.get(vendor) ?? openAt(gateway, owner, vendor)
  at.set(vendor, opening)
  const { setup, ids } = await opening.catch((thrown: unknown) => {
    at.delete(vendor)
    throw thrown
  })
  return deploymentsOf(setup, model).map((one, index) => {
    const key = `${vendor}#${ids[index]}`
    return { ...one, key, id: `${key} ${model.id}`, place: OWN_KEY, priority: index, own: traffic }
  })
}

/** None where the owner lets the house's keys answer. */
const orNone = async (work: Promise<readonly Deployment[]>, falls: boolean): Promise<readonly Deployment[]> =>
  work.catch((thrown: unknown) => {
    if (falls && thrown instanceof Refusal) return []
    throw thrown
  })

const ranked = (places: readonly Deployment[], rank: number): readonly Deployment[] =>
  places.map((one) => ({ ...one, priority: one.priority + rank }))

/**
 * Its own keys; then the house's where they may be asked; then equal models at other vendors, by its own keys where it has
 * some there, else by the house's where those may be asked in place of its own.
 */
const placesOf = async (
  gateway: Gateway,
  owner: Owner,
  { twin, model }: { readonly twin: Model; readonly model: Model },
): Promise<readonly Deployment[]> => {
  const { offering } = gateway
  const falls = owner.own[model.vendor]?.fallBack === true
  const setup = offering.vendors.get(model.vendor)
  const places = [...(await orNone(ownDeployments(gateway, owner, twin), falls))]
  if (falls && setup !== undefined) places.push(...deploymentsOf(setup, twin, RANK))
  for (const [index, id] of (offering.failover.get(model.id) ?? []).entries()) {
    const equal = offering.catalogue.find(id)
    const there = equal && offering.vendors.get(equal.vendor)
    if (equal === undefined || there === undefined) continue
    const rank = (index + 2) * RANK
    if (owner.own[equal.vendor] !== undefined)
      places.push(...ranked(await orNone(ownDeployments(gateway, owner, equal), true), rank))
    if (falls && houseMayAsk(owner.own, equal.vendor)) places.push(...deploymentsOf(there, equal, rank + 100))
  }
  return places
}

/** The twin of a model at whose vendor the organisation has keys. Throws the refusal of a vendor where none can be used. */
export const ownModel = async (gateway: Gateway, owner: Owner, model: Model): Promise<Model> => {
  const { deployments } = gateway.offering
  const { twins } = openedOf(gateway, owner.orgId, owner.own)
  const before = twins.get(model)
  if (before !== undefined) return before
  const { feeBasisPoints: basisPoints, feePerCall: perCall } = gateway.options.ownKeys
  const falls = owner.own[model.vendor]?.fallBack === true
  const twin = ownTwin(model, { fee: { basisPoints, perCall }, falls })
  deployments.set(twin, await placesOf(gateway, owner, { twin, model }))
  twins.set(model, twin)
  return twin
}

/** Throws the refusal of a call that x402 pays, which carries the house's keys alone, for an organisation with its own at the vendor. */
export const checkCarried = (own: OwnKeys | undefined, { vendor }: Pick<Model, 'vendor'>): void => {
  if (own?.[vendor] === undefined) return
  throw refuse(
    'own_keys_not_carried',
    `Your organisation has keys of its own at ${vendor}, and a call that x402 pays would be sent with the house's. Send it as a call that the wallet pays, which uses them.`,
    { members: { provider: vendor } },
  )
}
