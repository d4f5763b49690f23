/** Who sent a request: the key behind its credential, and whether that key speaks for the whole account. */
import { must, refuse } from '../core/refusal.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { ownerOf, whoCalls } from '../gateway/incoming.ts'
import type { Key } from '../tenancy/key.ts'
import { checkManages } from '../tenancy/rights.ts'
import { type CredentialStyle, credentialOf } from './headers.ts'
import type { HttpCall } from './route.ts'

/** The caller, if it may call now. */
export const callerOf = async (
  gateway: Gateway,
  { request, query, trace }: HttpCall,
  style: CredentialStyle = 'bearer',
): Promise<Key> => whoCalls(gateway, must(credentialOf(request.headers, query, style)), trace)

/** The caller, disabled or not. */
export const anyCallerOf = async (gateway: Gateway, { request, trace }: HttpCall): Promise<Key> =>
  ownerOf(gateway, request.headers.get('authorization'), trace)

/** PostgreSQL can store neither U+0000 nor half a surrogate pair. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** A caller that speaks for the whole account. */
export const accountOf = async (gateway: Gateway, call: HttpCall): Promise<Key> =>
  wholeAccount(await callerOf(gateway, call))

/** A caller that may manage what is its own: keys below it, sub-wallets. */
export const managerOf = async (gateway: Gateway, call: HttpCall): Promise<Key> =>
  manager(await callerOf(gateway, call))

/** A caller that may manage the whole wallet: its rules and its saved card. */
export const accountManagerOf = async (gateway: Gateway, call: HttpCall): Promise<Key> =>
  accountManager(await callerOf(gateway, call))

export const accountManager = (key: Key): Key => manager(wholeAccount(key))

const manager = (key: Key): Key => {
  const refusal = checkManages(key)
  if (refusal) throw refusal
  return key
}

/**
 * The key, if it speaks for the whole account. A reseller's child does not, because it shares the wallet with others;
 * nor does a key that is bound to a sub-wallet, nor an anonymous trial.
 */
const wholeAccount = (key: Key): Key => {
  if (key.trialUntil !== undefined)
    throw refuse('forbidden', 'Anonymous trials cannot use this endpoint; sign up for a key of your own.')
  if (key.ancestors.length > 0 || key.subWallet !== undefined)
    throw refuse(
      'forbidden',
      "This concerns the whole wallet: a child key, or one that is bound to a sub-wallet, cannot do it; use the account's own key.",
    )
  return key
}
