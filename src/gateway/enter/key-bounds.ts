/**
 * What binds the use of a key beside money and rates: until when it is valid, from which addresses, and for which models.
 * What is set on a key binds all keys below it too.
 */
import { expiredKey } from '../../admission/caller.ts'
import type { Soon } from '../../book/contract.ts'
import { callerAddress, isWithin, readBlock } from '../../core/address.ts'
import { must, type Refusal, refuse } from '../../core/refusal.ts'
import { whenKnown } from '../../core/soon.ts'
import { together } from '../../tenancy/conditions.ts'
import type { Key } from '../../tenancy/key.ts'
import { withFixed } from '../../tenancy/tags.ts'
import type { Told } from '../../tenancy/terms.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { From, Trace } from '../parts/trace.ts'

/** The caller's address, if it is known. */
export const addressFrom = ({ options }: Pick<Gateway, 'options'>, from: From) =>
  callerAddress(from.peer(), from.request.headers.get('x-forwarded-for'), options.trustedProxies)

/**
 * A key that has such a limit or a key above it, as this request may use it: with the models that it is for, the conditions that they ask for and the tags that keys above it fix. Throws the refusal of a key that has expired, or
 * that may not be used from here.
 */
export const usableHere = (gateway: Gateway, key: Key, trace: Trace): Soon<Key> => {
  if (key.above.length === 0) return within([], gateway, { key, trace })
  return whenKnown(gateway.book.makersOf(key), within, gateway, { key, trace })
}

/** The same for what a key asked for earlier, when its address was checked. */
export const usableLater = (gateway: Gateway, key: Key): Soon<Key> =>
  whenKnown(gateway.book.makersOf(key), within, gateway, { key })

/** Without a trace its address was checked before. */
type Use = { readonly key: Key; readonly trace?: Trace }

const within = (makers: readonly Key[] | Refusal, gateway: Gateway, { key, trace }: Use): Soon<Key> => {
  const models: (readonly string[])[] = []
  const required: (readonly string[])[] = []
  let { tags, guardrails } = key
  for (const { id, limits, tags: its, guardrails: rules } of [key, ...must(makers)]) {
    const { expiresAt, allowedAddresses, allowedModels, requires } = limits
    if (expiresAt !== undefined && gateway.clock.now() >= expiresAt)
      throw expiredKey(expiresAt, id === key.id)
    if (allowedAddresses !== undefined && trace !== undefined) checkAddress(gateway, allowedAddresses, trace)
    if (allowedModels !== undefined) models.push(allowedModels)
    if (requires !== undefined) required.push(requires)
    if (its !== undefined && id !== key.id) tags = withFixed(tags, its)
    if (rules !== undefined && id !== key.id) guardrails = [...(guardrails ?? []), ...rules]
  }
  const listed = models.length === 0 ? key : { ...key, models }
  const tagged = tags === undefined || tags === key.tags ? listed : { ...listed, tags }
  const guarded =
    guardrails === undefined || guardrails === key.guardrails ? tagged : { ...tagged, guardrails }
  const bounded = required.length === 0 ? guarded : { ...guarded, requires: together(...required) }
  return key.ancestors.length === 0
    ? bounded
    : whenKnown(gateway.book.terms(key, must(makers)), withTerms, bounded, trace)
}

/** The key of a tenant, with what it is told of money. */
const withTerms = (terms: Told | Refusal, key: Key, trace: Trace | undefined): Key => {
  const known = must(terms)
  if (known === undefined) return key
  const its = { ...key, terms: known }
  if (trace !== undefined) trace.key = its
  return its
}

const checkAddress = (gateway: Gateway, allowed: readonly string[], { from }: Trace): void => {
  const address = from === undefined ? undefined : addressFrom(gateway, from)
  const isAllowed = allowed.some((text) => {
    const block = readBlock(text)
    return address !== undefined && block !== undefined && isWithin(address, block)
  })
  if (!isAllowed)
    throw refuse(
      'forbidden',
      'The key may not be used from this address: its limit allowed_addresses, or that of a key above it, names others.',
    )
}
