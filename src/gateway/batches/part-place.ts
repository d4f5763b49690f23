/** Where a vendor's own batches take the lines of a model, and at what price. */
import type { Model } from '../../core/model.ts'
import { inBatches } from '../../pricing/batch-price.ts'
import type { Deployment } from '../../routing/deployments.ts'
import type { VendorBatchForm } from '../../vendors/batches/vendor-batch.ts'
import { urlOf } from '../../vendors/setup.ts'
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
    .map((one) =>
      at === undefined ? one : { ...one, setup: { ...one.setup, baseUrl: urlOf(one.setup, at) } },
    )
  const named = setup?.batches?.[model.id.slice(model.vendor.length + 1)]
  return { form: batches.form, model: twin, deployments, named }
}

/** The place where lines of the model are sent now; undefined where they are run here. */
export const openPlaceOf = (gateway: Gateway, model: Model): PartPlace | undefined => {
  if (!gateway.options.batchAtVendors) return undefined
  const place = partPlaceOf(gateway, model)
  const needsName = gateway.offering.vendors.get(model.vendor)?.vendor.batches?.operatorNames === true
  return needsName && place?.named === undefined ? undefined : place
}

/** The way of lines that their vendor runs: the model and the path of each. */
export const routeOf = (model: Model, path: string): string => `${model.id} ${path}`

export const pathOn = (route: string): string => route.slice(route.indexOf(' ') + 1)

const modelOn = ({ offering }: Gateway, route: string): Model | undefined => {
  const [name = ''] = route.split(' ')
  return name === '' ? undefined : offering.catalogue.find(name)
}

/** The place of lines that went this way; undefined for lines that are run here. */
export const placeOnRoute = (gateway: Gateway, route: string): PartPlace | undefined => {
  const model = modelOn(gateway, route)
  return model && partPlaceOf(gateway, model)
}

/** The place where lines that go this way are sent now. */
export const nextPlaceOn = (gateway: Gateway, route: string): PartPlace | undefined => {
  const model = modelOn(gateway, route)
  return model && openPlaceOf(gateway, model)
}
