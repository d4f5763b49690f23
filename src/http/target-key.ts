/** The key that an address under /v1/key/wholesale names, and whether the caller may change it. */
import { checkEnabled } from '../admission/caller.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import { monthOf } from '../core/time.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { keyByToken } from '../gateway/key-by-token.ts'
import type { Key } from '../tenancy/key.ts'
import { checkManages } from '../tenancy/rights.ts'
import type { HttpCall } from './route.ts'

/**
 * `me`, or an id or token of the calling key or a key below it; somebody else's key looks like one that does not exist.
 */
export const anyTargetOf = async (gateway: Gateway, caller: Key, call: HttpCall): Promise<Key> => {
  const token = call.params.token ?? 'me'
  const found =
    token === 'me'
      ? await gateway.store.keys.key(caller.id)
      : token.startsWith('sk-')
        ? await keyByToken(gateway, token)
        : await gateway.store.keys.key(token)
  if (found === undefined || (found.id !== caller.id && !found.above.includes(caller.id))) throw notYours()
  return found
}

/** The same, for keys that were not deleted. */
export const targetOf = async (gateway: Gateway, caller: Key, call: HttpCall): Promise<Key> => {
  const found = await anyTargetOf(gateway, caller, call)
  if (found.deleted) throw notYours()
  return found
}

/** Why the caller may not manage keys below it: it is disabled, or may not manage any. */
export const checkGoverns = (gateway: Gateway, caller: Key): Refusal | undefined =>
  checkEnabled(caller, monthOf(gateway.clock.now())) ?? checkManages(caller)

export const notYours = (): Refusal =>
  refuse(
    'not_found',
    "There is no such key, or it is neither the calling key nor one below it; use 'me' for the calling key.",
  )
