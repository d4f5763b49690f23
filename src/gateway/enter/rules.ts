/** The rules of a wallet, as they apply to a call: which models it may use, and what one call may cost. */
import type { Soon } from '../../book/contract.ts'
import type { Model } from '../../core/model.ts'
import { must, Refusal, refuse } from '../../core/refusal.ts'
import { nameFor } from '../../tenancy/aliases.ts'
import { NO_CONDITIONS, together } from '../../tenancy/conditions.ts'
import type { Key } from '../../tenancy/key.ts'
import { allowsModel, isListed } from '../../tenancy/model-patterns.ts'
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { namedFor } from './aliases.ts'
import { bound, isMet } from './conditions.ts'
import { unknownModel } from './unknown-model.ts'

/**
 * The present rules, or the refusal of a model that they do not allow, or whose vendors do not meet the conditions of the
 * call. Notes those conditions.
 */
export const rulesFor = (
  gateway: Gateway,
  key: Key,
  model: Model,
  trace: Pick<Trace, 'conditions'>,
): Soon<WalletRules | Refusal> => {
  if (key.models !== undefined && !isFor(key, model))
    return refuse(
      'model_not_allowed',
      `The limits of the key, or of a key above it, do not allow ${model.id}; GET /v1/models lists those your key can use.`,
      { members: { param: 'model' } },
    )
  const known = gateway.book.rules(key.walletId)
  if (known instanceof Promise) return later(gateway, { key, model, trace }, known)
  const rules = checked(known, model)
  if (rules instanceof Refusal) return rules
  if (key.requires !== undefined || rules.requires !== undefined)
    return bound(gateway, { key, model, trace }, rules)
  // A plain call must not pay for what it does not ask.
  trace.conditions = NO_CONDITIONS
  return rules
}

/** The same once the rules are known. */
const later = async (
  gateway: Gateway,
  asking: Parameters<typeof bound>[1],
  known: Promise<WalletRules | Refusal>,
): Promise<WalletRules | Refusal> => bound(gateway, asking, checked(await known, asking.model))

/** Whether guardrails apply. */
export const isGuarded = (key: Key, { guardrails }: Pick<WalletRules, 'guardrails'>): boolean =>
  guardrails !== undefined || key.guardrails !== undefined

/** The refusal of what guardrails cannot look into. */
export const notGuarded = (what: string, param?: string): Refusal =>
  refuse(
    'not_guarded',
    `Guardrails apply to this key, and ${what}.`,
    param === undefined ? {} : { members: { param } },
  )

/** Whether the key is for the model, as the request that it came with found it. */
export const isFor = ({ models }: Key, model: Model): boolean =>
  models === undefined || models.every((patterns) => isListed(patterns, model))

const checked = (rules: WalletRules | Refusal, model: Model): WalletRules | Refusal => {
  if (rules instanceof Refusal) return rules
  if (rules.suspended !== undefined)
    return refuse(
      'account_suspended',
      `The operator of this server has suspended the account: ${rules.suspended}. Ask them.`,
    )
  const listed = rules.allowedModels !== undefined || rules.blockedModels !== undefined
  if (!listed || allowsModel(rules, model)) return rules
  return refuse(
    'model_not_allowed',
    `The rules of the wallet do not allow ${model.id}; GET /v1/models lists those your key can use.`,
    { members: { param: 'model' } },
  )
}

/** The model of that name, as the key knows it; `listing` is where callers of this style list models. */
export const modelFor = async (
  gateway: Gateway,
  key: Key,
  { name, listing }: { readonly name: string; readonly listing?: string },
): Promise<Model> => {
  const known = nameFor(key, name)
  const model = gateway.offering.catalogue.find(known)
  if (model === undefined)
    throw unknownModel(gateway.offering.catalogue, known, listing === undefined ? {} : { listing })
  must(await rulesFor(gateway, key, model, {}))
  return namedFor(gateway.offering.catalogue, key, [model])[0] ?? model
}

/** Which models the key's calls may use. */
export const allowedFor = async (gateway: Gateway, key: Key): Promise<(model: Model) => boolean> => {
  const rules = must(await gateway.book.rules(key.walletId))
  const conditions = together(key.requires, rules.requires)
  return (model) =>
    isFor(key, model) &&
    allowsModel(rules, model) &&
    (conditions === NO_CONDITIONS || isMet(gateway, model, { rules, conditions }))
}

/** The models that the key's calls may use, with its own aliases of them. */
export const modelsFor = async (gateway: Gateway, key: Key): Promise<readonly Model[]> => {
  const allowed = gateway.offering.catalogue.list().filter(await allowedFor(gateway, key))
  return namedFor(gateway.offering.catalogue, key, allowed)
}
