/**
 * Conditions on a call: where it may go, and what of it may be kept here. They are read with the rules of the wallet, before
 * anything leaves; who asks a vendor says under which conditions (`authorized`).
 */
import type { Category, Model } from '../../core/model.ts'
import { must, Refusal, refuse } from '../../core/refusal.ts'
import {
  type Condition,
  conditionsIn,
  keepsNothing,
  NO_CONDITIONS,
  REQUIRE_HEADER,
  together,
} from '../../tenancy/conditions.ts'
import type { Key } from '../../tenancy/key.ts'
import { allowsModel, isListed } from '../../tenancy/model-patterns.ts'
import { houseMayAsk } from '../../tenancy/own-keys.ts'
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import { meetsAll } from '../../vendors/handled-at.ts'
import { ofOthers } from '../../vendors/setup.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { deploymentsFor } from './deployments-for.ts'
import type { CheckedRequest } from './incoming.ts'

/** Products whose results are text or facts, which are not stored here. */
export const STORELESS: readonly (Category | undefined)[] = ['transcription', 'utility']

/** The key as a request uses it that asks for conditions of its own. */
export const requiring = (key: Key, header: string | null | undefined): Key =>
  header === null || header === undefined
    ? key
    : { ...key, requires: together(key.requires, must(conditionsIn(REQUIRE_HEADER, header))) }

/** Conditions, and whose they are. */
type Bound = {
  readonly key: Pick<Key, 'models'>
  readonly rules?: WalletRules
  readonly conditions: readonly Condition[]
}

const mayUse = ({ models = [] }: Bound['key'], rules: WalletRules, model: Model): boolean =>
  allowsModel(rules, model) && models.every((patterns) => isListed(patterns, model))

/** How many models a refusal names. */
const NAMED_MOST = 5

/** The refusal of a call that no place of its model may take, with what would, of the models that its caller may use. */
export const unmet = (
  { offering }: Pick<Gateway, 'offering'>,
  model: Model,
  { key, rules = {}, conditions }: Bound,
): Refusal => {
  const others = offering.catalogue.list().filter((one) => {
    const alike = one.kind === model.kind && one.product?.category === model.product?.category
    const other = one.id !== model.id && alike
    return other && mayUse(key, rules, one) && isMet({ offering }, one, { rules, conditions })
  })
  const names = others.slice(0, NAMED_MOST).map(({ id }) => id)
  const more = others.length > names.length ? ` and ${others.length - names.length} more` : ''
  const instead =
    names.length === 0 ? 'No model that is sold here does.' : `These do: ${names.join(', ')}${more}.`
  return refuse(
    'conditions_not_met',
    `${model.id} does not meet ${conditions.join(', ')}, as far as is known of its vendor. ${instead}`,
    { members: { param: 'model', conditions: conditions.join(','), satisfied_by: names.join(', ') } },
  )
}

/** Whether calls of the model, at its vendor or an equal's, meet the conditions with the keys that may go there. */
export const isMet = (
  { offering }: Pick<Gateway, 'offering'>,
  model: Model,
  { rules: { ownKeys: own } = {}, conditions }: Omit<Bound, 'key'>,
): boolean => {
  const isOwn = own?.[model.vendor] !== undefined
  return deploymentsFor(offering, model).some(({ setup, model: there }) => {
    const { id } = setup.vendor
    const asked = [
      ...(isOwn && own[id] !== undefined ? [ofOthers(setup)] : []),
      ...(houseMayAsk(own, model.vendor) && houseMayAsk(own, id) ? [setup] : []),
    ]
    return asked.some((at) => meetsAll(at, there, conditions))
  })
}

type Asking = { readonly key: Key; readonly model: Model; readonly trace: Pick<Trace, 'conditions'> }

/** Notes the conditions of a call, and refuses it where nothing meets them. */
export const bound = (
  gateway: Pick<Gateway, 'offering'>,
  { key, model, trace }: Asking,
  rules: WalletRules | Refusal,
): WalletRules | Refusal => {
  if (rules instanceof Refusal) return rules
  const conditions = together(key.requires, rules.requires)
  trace.conditions = conditions
  if (conditions === NO_CONDITIONS) return rules
  return isMet(gateway, model, { rules, conditions })
    ? rules
    : unmet(gateway, model, { key, rules, conditions })
}

/** That a thing which is kept here cannot be had with zdr. */
const keptHere = (param: string, what: string): Refusal =>
  refuse('conditions_not_met', `${what} is kept on this server, which zdr does not allow.`, {
    members: { param, conditions: 'zdr' },
  })

/** Throws the refusal of what somebody who asks for zdr, by key, rules or header, wants to have kept. */
export const mayKeep = async (
  { book }: Pick<Gateway, 'book'>,
  key: Key,
  { param, what }: { readonly param: string; readonly what: string },
): Promise<void> => {
  const { requires } = must(await book.rules(key.walletId))
  if (together(key.requires, requires).includes('zdr')) throw keptHere(param, what)
}

type Asked = Pick<CheckedRequest, 'body' | 'call' | 'model'> & {
  readonly memory?: CheckedRequest['memory'] | undefined
}

/**
 * The request of a call with conditions. Tools that its vendor runs ask other places, of which nothing is known. With zdr
 * nothing of it is kept: where its caller says so, it is refused, and where it only would be by default, it is not kept.
 */
export const underConditions = (
  { body, call, memory, model }: Asked,
  trace: Trace,
): CheckedRequest['memory'] => {
  if (call.size.hosted !== undefined)
    throw refuse(
      'conditions_not_met',
      'Tools that the vendor runs ask other places, which meet no condition: leave them out.',
      { members: { param: 'tools', conditions: trace.conditions?.join(',') ?? '' } },
    )
  if (!keepsNothing(trace)) return memory
  const { store, background, conversation } = body.outline
  if (store === true) throw keptHere('store', "What 'store' asks for")
  if (background === true) throw keptHere('background', "What 'background' asks for")
  if ((conversation ?? null) !== null) throw keptHere('conversation', "What 'conversation' names")
  const { product } = model
  if (product !== undefined && (product.flow === 'job' || !STORELESS.includes(product.category)))
    throw keptHere('model', `What ${model.id} makes`)
  return memory === undefined ? undefined : { ...memory, stored: false }
}
