/**
 * Facts about a vendor's models that no price catalogue has, from src/pricing/knowledge.json: cheaper tiers, last days,
 * names that are not sold.
 */
import knowledge from '../src/pricing/knowledge.json' with { type: 'json' }

/** The source of a fact, and the day when it was noted. */
type Sourced = { readonly models: readonly string[]; readonly source: string; readonly noted: string }

export type VendorKnowledge = {
  readonly cheaper?: readonly (Sourced & { tier: string; atFullPrice?: readonly string[] })[]
  readonly notSold?: readonly (Sourced & { why: string })[]
  readonly ends?: readonly (Sourced & { on: string })[]
}

export const knowledgeOf: Readonly<Record<string, VendorKnowledge>> = knowledge.vendors

/** The additions to an entry of the price table. */
export type Known = {
  ends?: string
  cheaper?: { tier: string; atFullPrice?: readonly string[] }
}

const named = (name: string, models: readonly string[]): boolean =>
  models.some((model) => (model.startsWith('*') ? name.endsWith(model.slice(1)) : name === model))

/** The entries with the facts about them, without those that are not sold. */
export const withKnowledge = <Entry extends object>(
  vendor: string,
  entries: Readonly<Record<string, Entry>>,
): Record<string, Entry & Known> => {
  const { cheaper = [], notSold = [], ends = [] } = knowledgeOf[vendor] ?? {}
  const known: Record<string, Entry & Known> = {}
  for (const [name, entry] of Object.entries(entries)) {
    if (notSold.some(({ models }) => named(name, models))) continue
    const end = ends.find(({ models }) => named(name, models))
    const tier = cheaper.find(({ models }) => named(name, models))
    known[name] = {
      ...entry,
      ...(end === undefined ? {} : { ends: end.on }),
      ...(tier === undefined ? {} : { cheaper: cheaperOf(tier) }),
    }
  }
  return known
}

const cheaperOf = ({ tier, atFullPrice }: NonNullable<VendorKnowledge['cheaper']>[number]) => ({
  tier,
  ...(atFullPrice === undefined ? {} : { atFullPrice }),
})

/** Names in the knowledge that no entry has: typing errors, or models that the catalogues have dropped. */
export const unknownNames = (vendor: string, names: readonly string[]): readonly string[] => {
  const { cheaper = [], notSold = [], ends = [] } = knowledgeOf[vendor] ?? {}
  return [...cheaper, ...notSold, ...ends]
    .flatMap(({ models }) => models)
    .filter((model) => !names.some((name) => named(name, [model])))
}
