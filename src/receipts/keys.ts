/**
 * Receipt keys: Ed25519, named by their RFC 7638 thumbprint, published as a JWKS, and kept sealed.
 * Source of the formats: RFC 8037 (Ed25519 in JOSE), RFC 7517 (JWKS), RFC 7638 (thumbprint).
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { isObject, type Json } from '../core/json-body.ts'
import { sealed, unsealed } from '../core/sealed.ts'

/** A public key as it is published: `x` is its 32 bytes in base64url. */
export type PublicKey = { readonly kid: string; readonly x: string; readonly key: KeyObject }

/** The public key with these 32 bytes; undefined if they are not a key. */
export const publicKeyOf = (x: string): PublicKey | undefined => {
  if (bytesOf(x)?.length !== 32) return undefined
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    return { kid: thumbprintOf(x), x, key }
  } catch {
    return undefined
  }
}

/** RFC 7638: SHA-256 over the required members in alphabetical order. */
export const thumbprintOf = (x: string): string =>
  new Bun.CryptoHasher('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url')

/** The key set as published at /.well-known/jwks.json. */
export const jwksOf = (keys: readonly PublicKey[]) => ({
  keys: keys.map(({ kid, x }) => ({ kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' })),
})

/**
 * The Ed25519 keys of a key set, by the names it gives them; undefined if it is not a key set. Other keys are left out.
 */
export const readJwks = (value: Json | undefined): ReadonlyMap<string, KeyObject> | undefined => {
  if (!isObject(value) || !Array.isArray(value.keys)) return undefined
  const keys = new Map<string, KeyObject>()
  for (const jwk of value.keys) {
    if (!isObject(jwk) || jwk.kty !== 'OKP' || jwk.crv !== 'Ed25519' || typeof jwk.x !== 'string') continue
    const read = publicKeyOf(jwk.x)
    if (read !== undefined) keys.set(typeof jwk.kid === 'string' ? jwk.kid : read.kid, read.key)
  }
  return keys
}

/** Encrypts a private key under a secret of 32 bytes, bound to its name; `iv` is twelve fresh random bytes. */
export const seal = (key: KeyObject, kid: string, secret: Uint8Array, iv: Uint8Array): string =>
  sealed(key.export({ format: 'der', type: 'pkcs8' }), kid, secret, iv)

/** Decrypts the private key; undefined under another secret. */
export const unseal = (text: string, kid: string, secret: Uint8Array): KeyObject | undefined => {
  const der = unsealed(text, kid, secret)
  return der === undefined ? undefined : createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

/** The bytes; undefined when the text is not their canonical spelling. */
export const bytesOf = (text: string): Uint8Array | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length > 0 && bytes.toString('base64url') === text ? bytes : undefined
}

export const base64url = (data: string | Uint8Array): string =>
  (typeof data === 'string' ? Buffer.from(data) : data).toBase64({ alphabet: 'base64url', omitPadding: true })
