/**
 * Where a model can be asked: its own vendor's deployments, then those of equal models at other vendors, in the
 * operator's order.
 */
import type { Model } from '../core/model.ts'
import { type Deployment, deploymentsOf, RANK } from '../routing/deployments.ts'
import type { Gateway } from './gateway.ts'

/** The deployments of a model, made at its first call. */
export const deploymentsFor = (gateway: Gateway, model: Model): readonly Deployment[] => {
  const known = gateway.deployments.get(model)
  if (known !== undefined) return known
  const equals = (gateway.failover.get(model.id) ?? []).flatMap((id) => gateway.catalogue.find(id) ?? [])
  const found = [model, ...equals].flatMap((one, index) => {
    const setup = gateway.vendors.get(one.vendor)
    return setup === undefined ? [] : deploymentsOf(setup, one, index * RANK)
  })
  gateway.deployments.set(model, found)
  return found
}
