/** Who sent a request: the key behind its credential, and whether that key speaks for the whole account. */
import { checkAccount } from '../../control/who.ts'
import { must } from '../../core/refusal.ts'
import { mayKeep, requiring } from '../../gateway/enter/conditions.ts'
import { ownerOf, whoCalls } from '../../gateway/enter/incoming.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Key } from '../../tenancy/key.ts'
import { type CredentialStyle, credentialOf } from '../route/headers.ts'
import type { HttpCall } from '../route/route.ts'

/** The caller, if it may call now, with the conditions that its request asks for. */
export const callerOf = async (
  gateway: Gateway,
  { request, query, trace }: HttpCall,
  style: CredentialStyle = 'bearer',
): Promise<Key> =>
  requiring(
    await whoCalls(gateway, must(credentialOf(request.headers, query, style)), trace),
    request.headers.get('x-turnpike-require'),
  )

/** The caller of an address that keeps what it is sent. Throws the refusal where conditions do not allow that. */
export const keeperOf = async (
  gateway: Gateway,
  call: HttpCall,
  kept: { readonly param: string; readonly what: string },
  style: CredentialStyle = 'bearer',
): Promise<Key> => {
  const key = await callerOf(gateway, call, style)
  await mayKeep(gateway, key, kept)
  return key
}

/** A file, as refusals name it. */
export const A_FILE = { param: 'file', what: 'A file' } as const

/** The caller, disabled or not. */
export const anyCallerOf = async (
  gateway: Gateway,
  { request, query, trace }: HttpCall,
  style: CredentialStyle = 'bearer',
): Promise<Key> => ownerOf(gateway, must(credentialOf(request.headers, query, style)), trace)

/** A caller that speaks for the whole account. */
export const accountOf = async (gateway: Gateway, call: HttpCall): Promise<Key> =>
  wholeAccount(await callerOf(gateway, call))

const wholeAccount = (key: Key): Key => {
  const refusal = checkAccount(key)
  if (refusal) throw refusal
  return key
}
