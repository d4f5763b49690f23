/**
 * Where a model can be asked: its own vendor's deployments, then those of equal models at other vendors, in the
 * operator's order.
 */
import type { Soon } from '../../book/contract.ts'
import type { Model } from '../../core/model.ts'
import { Refusal } from '../../core/refusal.ts'
import { whenKnown } from '../../core/soon.ts'
import { type Deployment, deploymentsOf, RANK } from '../../routing/deployments.ts'
import { allowsModel } from '../../tenancy/model-patterns.ts'
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import { isFor } from '../enter/rules.ts'
import type { Gateway, LiveOffering } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'

/** The deployments of a model, made at its first call. */
export const deploymentsFor = (offering: LiveOffering, model: Model): readonly Deployment[] => {
  const known = offering.deployments.get(model)
  if (known !== undefined) return known
  const equals = (offering.failover.get(model.id) ?? []).flatMap((id) => offering.catalogue.find(id) ?? [])
  const found = [model, ...equals].flatMap((one, index) => {
    const setup = offering.vendors.get(one.vendor)
    return setup === undefined ? [] : deploymentsOf(setup, one, index * RANK)
  })
  offering.deployments.set(model, found)
  return found
}

/** Where a call may be sent: to equals only if the rules of its wallet allow them too. */
export const placesFor = (
  { offering, book }: Gateway,
  { key, model }: Pick<Task, 'key' | 'model'>,
): Soon<readonly Deployment[]> => {
  const all = offering.deployments.get(model) ?? deploymentsFor(offering, model)
  if (all.length === 1 || !offering.failover.has(model.id)) return all
  const fit = key.models === undefined ? all : all.filter((one) => isFor(key, one.model))
  return whenKnown(book.rules(key.walletId), allowedAmong, fit, model)
}

/** The model itself was allowed when the call came; equals of which nothing is known now are not asked. */
const allowedAmong = (
  rules: WalletRules | Refusal,
  all: readonly Deployment[],
  own: Model,
): readonly Deployment[] =>
  all.filter(({ model }) => model === own || (!(rules instanceof Refusal) && allowsModel(rules, model)))
