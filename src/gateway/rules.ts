/** The rules of a wallet at a call: which models it may use, and what one call may cost. */
import type { Model } from '../core/model.ts'
import { must, Refusal, refuse } from '../core/refusal.ts'
import type { Key } from '../tenancy/key.ts'
import { allowsModel } from '../tenancy/model-patterns.ts'
import type { WalletRules } from '../tenancy/wallet-rules.ts'
import type { Gateway } from './gateway.ts'

/** The rules as they stand now, or the refusal of a model that they do not allow. */
export const rulesFor = async (gateway: Gateway, key: Key, model: Model): Promise<WalletRules | Refusal> => {
  const rules = await gateway.book.rules(key.walletId)
  if (rules instanceof Refusal || allowsModel(rules, model)) return rules
  return refuse(
    'model_not_allowed',
    `The rules of the wallet do not allow ${model.id}; GET /v1/models lists those your key can use.`,
    { members: { param: 'model' } },
  )
}

/** The models that calls of the key may use. */
export const modelsFor = async (gateway: Gateway, key: Key): Promise<readonly Model[]> => {
  const rules = must(await gateway.book.rules(key.walletId))
  return gateway.catalogue.list().filter((model) => allowsModel(rules, model))
}
