/** Patterns of models in a wallet's rules: globs of model ids, as people write them and as they are stored. */
import { present } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { matches } from './pattern.ts'
import type { RulesChange, WalletRules } from './wallet-rules.ts'

/** The models on sale, by their ids and short names. */
type SoldModel = {
  readonly find: (name: string) => Model | undefined
  readonly list: () => readonly Model[]
}

/**
 * The change, with its patterns as they are stored: a short name becomes the id it stands for. A pattern that matches
 * no model on sale is refused, because it is a typing error that would block everything or nothing.
 */
export const withModelIds = (change: RulesChange, sold: SoldModel): RulesChange | Refusal => {
  const allowedModels = modelIds('allowed_models', change.allowedModels, sold)
  if (allowedModels instanceof Refusal) return allowedModels
  const blockedModels = modelIds('blocked_models', change.blockedModels, sold)
  if (blockedModels instanceof Refusal) return blockedModels
  return {
    ...change,
    ...present({ allowedModels, blockedModels }),
  }
}

type Patterns = readonly string[] | null | undefined

/** The patterns of a member as they are stored, or the refusal of one that matches no model. */
export const modelIds = <Given extends Patterns>(
  name: string,
  patterns: Given,
  sold: SoldModel,
): readonly string[] | Exclude<Given, readonly string[]> | Refusal => {
  if (patterns == null) return patterns as Exclude<Given, readonly string[]>
  const ids = patterns.map((pattern) => [pattern, keptAs(pattern, sold)] as const)
  const [unknown] = ids.find(([, kept]) => kept.length === 0) ?? []
  return unknown === undefined
    ? [...new Set(ids.flatMap(([, kept]) => kept))]
    : invalid(name, `'${name}': '${unknown}' matches no model that is sold here; nothing was changed.`)
}

/** The patterns of ids for a pattern as written; none if nothing matches. */
const keptAs = (pattern: string, { find, list }: SoldModel): readonly string[] => {
  const named = find(pattern)
  if (named !== undefined) return [named.id]
  if (list().some(({ id }) => matches(pattern, id))) return [pattern]
  const short = list().filter(({ id, vendor }) => {
    const name = id.slice(vendor.length + 1)
    return find(name)?.id === id && matches(pattern, name)
  })
  return short.map(({ id }) => id)
}

/**
 * The names by which rules know a model: a discounted model follows the rules of its twin, and may also be named
 * itself.
 */
const namesOf = ({ id, cheaper }: Pick<Model, 'id' | 'cheaper'>): readonly string[] =>
  cheaper === undefined ? [id] : [id, id.slice(0, -1)]

/** Whether a list of patterns has the model. */
export const isListed = (patterns: readonly string[], model: Pick<Model, 'id' | 'cheaper'>): boolean => {
  const names = namesOf(model)
  return patterns.some((pattern) => names.some((name) => matches(pattern, name)))
}

/** Whether calls of the model are allowed: it is not blocked and, if there is a list, it is on it. */
export const allowsModel = (
  { allowedModels, blockedModels }: WalletRules,
  model: Pick<Model, 'id' | 'cheaper'>,
): boolean =>
  !isListed(blockedModels ?? [], model) && (allowedModels === undefined || isListed(allowedModels, model))
