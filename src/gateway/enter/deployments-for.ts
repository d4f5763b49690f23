/** The deployments of a model: at its own vendor, then its equals at others. */
import type { Model } from '../../core/model.ts'
import { type Deployment, deploymentsOf, RANK } from '../../routing/deployments.ts'
import type { LiveOffering } from '../parts/gateway.ts'

/** The deployments of a model, made at its first call. */
export const deploymentsFor = (offering: LiveOffering, model: Model): readonly Deployment[] => {
  const known = offering.deployments.get(model)
  if (known !== undefined) return known
  if (model.own !== undefined) throw new Error('the places of own keys are made with the twin of their model')
  const equals = (offering.failover.get(model.id) ?? []).flatMap((id) => offering.catalogue.find(id) ?? [])
  const found = [model, ...equals].flatMap((one, index) => {
    const setup = offering.vendors.get(one.vendor)
    return setup === undefined ? [] : deploymentsOf(setup, one, index * RANK)
  })
  offering.deployments.set(model, found)
  return found
}
