/** The models that a key's own aliases stand for. */
import type { Model } from '../../core/model.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import type { Catalogue } from '../../pricing/catalogue.ts'
import { nameFor } from '../../tenancy/aliases.ts'
import type { Aliases, Key } from '../../tenancy/key.ts'
import { unknownModel } from './unknown-model.ts'

/** Finds models by the names that the key uses. A key without aliases gets the catalogue itself. */
export const finderFor = (catalogue: Catalogue, key: Key): ((name: string) => Model | undefined) =>
  key.aliases === undefined ? catalogue.find : (name) => catalogue.find(nameFor(key, name))

/**
 * Why these cannot be aliases: the first one that stands for no model of the catalogue, with the model that was
 * probably meant.
 */
export const checkAliases = (
  catalogue: Catalogue,
  aliases: Aliases | null | undefined,
): Refusal | undefined => {
  for (const [alias, name] of Object.entries(aliases ?? {}))
    if (catalogue.find(name) === undefined)
      return invalid(
        'aliases',
        `'aliases': '${alias}' stands for no model. ${unknownModel(catalogue, name).message}`,
      )
  return undefined
}

/** The models as the key names them: its own aliases and the operator's. Where names are equal, the key's own wins. */
export const namedFor = (
  catalogue: Catalogue,
  { aliases }: Key,
  models: readonly Model[],
): readonly Model[] => {
  if (aliases === undefined) return models
  const own = Map.groupBy(Object.keys(aliases), (alias) => catalogue.find(aliases[alias] ?? '')?.id)
  return models.map(({ aliases: others = [], ...model }) => {
    const left = others.filter((alias) => !Object.hasOwn(aliases, alias))
    const names = [...left, ...(own.get(model.id) ?? [])]
    return names.length === 0 ? model : { ...model, aliases: names }
  })
}
