/** Lists of models of another gateway as patterns of ours. */
import type { Json } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { isListed, modelIds } from '../../tenancy/model-patterns.ts'

export type ModelsSold = {
  readonly find: (name: string) => Model | undefined
  readonly list: () => readonly Model[]
}

/** LiteLLM's words for all models, or all that a team has. */
const ALL = new Set(['*', 'all-proxy-models', 'all-team-models'])
const NONE = 'no-default-models'

/**
 * The patterns for a list of theirs, within those of the key above; undefined where it allows all. What is sold under no
 * such name, or not allowed above, is in `unknown`.
 */
export const modelsIn = (
  names: readonly string[],
  sold: ModelsSold,
  above: Json | undefined,
): { readonly allowed: readonly string[] | undefined; readonly unknown: readonly string[] } => {
  if (names.length === 0 || names.some((name) => ALL.has(name))) return { allowed: undefined, unknown: [] }
  const allowed: string[] = []
  const unknown: string[] = []
  for (const name of names) {
    const ids = name === NONE ? [] : modelIds('models', [name], sold)
    const fitting = Array.isArray(ids) ? ids.filter((id) => isWithin(id, sold, above)) : []
    if (fitting.length === 0 && name !== NONE) unknown.push(name)
    allowed.push(...fitting)
  }
  return { allowed: [...new Set(allowed)], unknown }
}

/** Whether all models of a pattern are allowed above. */
const isWithin = (pattern: string, { list }: ModelsSold, above: Json | undefined): boolean =>
  !Array.isArray(above) ||
  list()
    .filter((model) => isListed([pattern], model))
    .every((model) => isListed(above.map(String), model))
