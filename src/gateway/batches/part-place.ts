/** Where a vendor's own batches take the lines of a model, and at what price. */
import type { Model } from '../../core/model.ts'
import type { Instant } from '../../core/time.ts'
import { inBatches } from '../../pricing/batch-price.ts'
import type { Deployment } from '../../routing/deployments.ts'
import type { BatchPart } from '../../store/batches/batch-port.ts'
import { timeOf } from '../../store/months/call-ids.ts'
import type { BatchBucket, VendorBatches, VendorBatchForm } from '../../vendors/batches/vendor-batch.ts'
import { urlOf, type VendorSetup } from '../../vendors/setup.ts'
import { deploymentsFor } from '../enter/deployments-for.ts'
import type { Gateway } from '../parts/gateway.ts'

type PartPlace = {
  readonly form: VendorBatchForm
  /** The model at its price in batches. */
  readonly model: Model
  /** Its vendor's keys, at least one. */
  readonly deployments: readonly Deployment[]
  /** The operator's name for batches of the model, if there is one. */
  readonly named: string | undefined
  readonly bucket: BatchBucket | undefined
}

/** Undefined if no vendor takes lines of the model. What vendors have is theirs to end, also when no more is handed on. */
export const partPlaceOf = ({ offering }: Gateway, model: Model): PartPlace | undefined => {
  if (model.cheaper !== undefined) return undefined
  const setup = offering.vendors.get(model.vendor)
  const batches = setup?.vendor.batches
  const cached = batches?.cachedInput(model.upstreamName)
  if (batches === undefined || cached === undefined) return undefined
  const twin = inBatches(model, cached)
  const { at } = batches
  const deployments = deploymentsFor(offering, twin)
    .filter((one) => one.model === twin)
    .map((one) => ({ ...one, setup: atBatches(one.setup, at) }))
  const named = setup?.batches?.[model.id.slice(model.vendor.length + 1)]
  return { form: batches.form, model: twin, deployments, named, bucket: setup?.bucket }
}

/** The vendor where its batches are asked for. */
const atBatches = (setup: VendorSetup, at: string | undefined): VendorSetup =>
  setup.jobs !== undefined
    ? { ...setup, baseUrl: setup.jobs.baseUrl, authorize: setup.jobs.authorize }
    : at === undefined
      ? setup
      : { ...setup, baseUrl: urlOf(setup, at) }

/** The place where lines of the model are sent now; undefined where they are run here. */
export const openPlaceOf = (gateway: Gateway, model: Model): PartPlace | undefined => {
  if (!gateway.options.batchAtVendors) return undefined
  const place = partPlaceOf(gateway, model)
  const needs = gateway.offering.vendors.get(model.vendor)?.vendor.batches?.needs
  return place === undefined || (needs !== undefined && !hasWhat(place, needs)) ? undefined : place
}

/** Whether the operator gave what the vendor's batches need for the model. */
const hasWhat = (
  { model, named, bucket }: PartPlace,
  needs: NonNullable<VendorBatches['needs']>,
): boolean => {
  if (needs === 'names') return named !== undefined
  const name = model.id.slice(model.vendor.length + 1)
  return bucket !== undefined && (bucket.models?.includes(name) ?? true)
}

/** The way of lines that their vendor runs: the model and the path of each. */
export const routeOf = (model: Model, path: string): string => `${model.id} ${path}`

export const pathOn = (route: string): string => route.slice(route.indexOf(' ') + 1)

/** The model that a route names; empty for the ways of lines that are run here. */
const nameOn = (route: string): string => route.split(' ')[0] ?? ''

const modelOn = ({ offering }: Gateway, route: string, at?: Instant): Model | undefined => {
  const name = nameOn(route)
  return name === '' ? undefined : offering.catalogue.find(name, at)
}

/**
 * What sells a line that goes this way: the model that the route names and no other, whatever the line's own name of it stands
 * for by now; as it was sold when the line was sent, once that has its result.
 */
export const soldOn = (gateway: Gateway, route: string, sentAt: Instant | undefined): Gateway => {
  if (nameOn(route) === '') return gateway
  const { offering } = gateway
  const catalogue = { ...offering.catalogue, find: () => modelOn(gateway, route, sentAt) }
  return { ...gateway, offering: { ...offering, catalogue } }
}

/** The place of a part, whose model may have ended since; undefined if nobody sells it here. */
export const placeOfPart = (
  gateway: Gateway,
  { id, route }: Pick<BatchPart, 'id' | 'route'>,
): PartPlace | undefined => {
  const model = modelOn(gateway, route, timeOf(id))
  return model && partPlaceOf(gateway, model)
}

/** The place where lines that go this way are sent now. */
export const nextPlaceOn = (gateway: Gateway, route: string): PartPlace | undefined => {
  const model = modelOn(gateway, route)
  return model && openPlaceOf(gateway, model)
}
