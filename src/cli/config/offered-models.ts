/** What vendors at the operator's own addresses offer, if turnpike.yaml names none of their models. */

import type { Model } from '../../core/model.ts'
import { authorized } from '../../gateway/ask/authorize.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { freeModel, offeredAt } from '../../transport/discover.ts'
import { vendors } from '../../vendors/index.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import type { Config } from './config.ts'

/** The start waits no longer for another server's list. */
const LOOK_MS = 2_000

/** Models that are sold because their server bills nobody, and names of models that need a price first. */
export type Offered = {
  readonly models: readonly Model[]
  readonly unpriced: ReadonlyMap<string, readonly string[]>
}

/** Asks all of them at once. What runs on this machine is free, like the models found on its usual ports. */
export const offeredModels = async (config: Config): Promise<Offered> => {
  const builtIn = new Set(vendors.map(({ id }) => id))
  const named = new Set([
    ...config.models.map(({ vendor }) => vendor),
    ...Object.keys(config.media).map((id) => id.split('/')[0]),
  ])
  const silent = config.vendors.filter(({ vendor: { id } }) => !builtIn.has(id) && !named.has(id))
  const answers = await Promise.all(silent.map(async (setup) => ({ setup, names: await namesOf(setup) })))
  const isFree = ({ baseUrl }: VendorSetup) =>
    /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(baseUrl).hostname)
  return {
    models: answers.flatMap(({ setup, names }) =>
      isFree(setup) ? names.map((name) => freeModel(setup.vendor.id, name)) : [],
    ),
    unpriced: new Map(
      answers.filter(({ setup }) => !isFree(setup)).map(({ setup, names }) => [setup.vendor.id, names]),
    ),
  }
}

const namesOf = async (setup: VendorSetup): Promise<readonly string[]> => {
  const request = { url: `${setup.baseUrl}/models`, body: new Uint8Array() }
  return offeredAt(
    setup.baseUrl,
    await authorized({ setup, secret: setup.secrets[0] }, NO_CONDITIONS, request),
    LOOK_MS,
  )
}

/** A line for each vendor that sells nothing yet: what it offers, and how to sell that. */
export const unpricedLines = (unpriced: Offered['unpriced']): readonly string[] =>
  [...unpriced].map(([vendor, names]) =>
    names.length === 0
      ? `${vendor} has no models in turnpike.yaml, and lists none: turnpike models add ${vendor}/<its name>`
      : `${vendor} offers ${names.join(', ')}; give those that you sell a price: turnpike models add ${vendor}/${names[0]}`,
  )
