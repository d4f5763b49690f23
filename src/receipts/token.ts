/**
 * Receipts as tokens: a compact JWS (RFC 7515) of type `receipt+jwt` with EdDSA, and nothing else.
 *
 * The algorithm is fixed in code and never read from the token; its name must merely be right. The header has three
 * members, the key is one of ours by name, and nothing is fetched.
 */
import { type KeyObject, sign, verify } from 'node:crypto'
import { isObject, type JsonObject, parseJson } from '../core/json-body.ts'
import type { Instant } from '../core/time.ts'
import { base64url, bytesOf } from './base64url.ts'
import { type Claims, RECEIPT_LIFE_SECONDS } from './claims.ts'

/** A key that signs, with its header written once. */
export type SigningKey = { readonly kid: string; readonly key: KeyObject; readonly header: string }

type TokenVerdict =
  | { readonly valid: true; readonly kid: string; readonly claims: JsonObject }
  | { readonly valid: false; readonly error: 'malformed_jwt' | 'signature_mismatch' }
  | { readonly valid: false; readonly error: 'expired'; readonly claims: JsonObject }

const TYPE = 'receipt+jwt'
const LENGTH_MAX = 8 * 1024
/** Clocks of signer and verifier may differ by this much. */
const TOLERANCE_MS = 5_000

/** A receipt is checked by other processes than its signer at once: their clocks may be that far behind it. */
const ISSUED_TOLERANCE_MS = 60_000

const isSecond = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const malformed: TokenVerdict = { valid: false, error: 'malformed_jwt' }
const mismatch: TokenVerdict = { valid: false, error: 'signature_mismatch' }

export const signingKey = (kid: string, key: KeyObject): SigningKey => ({
  kid,
  key,
  header: base64url(JSON.stringify({ alg: 'EdDSA', kid, typ: TYPE })),
})

/** Signs. Ed25519 has no randomness: the same claims under the same key are the same token. */
export const signReceipt = (claims: Claims, { key, header }: SigningKey): string => {
  const signed = `${header}.${base64url(JSON.stringify(claims))}`
  return `${signed}.${base64url(sign(null, Buffer.from(signed), key))}`
}

type TrustedSigners = {
  readonly keys: ReadonlyMap<string, KeyObject>
  /** Who may have issued it; undefined takes whatever name one of the keys has signed. */
  readonly issuers: readonly string[] | undefined
}

/** Judges a token at `now`. The order is: form, header, signature, claims, age. */
export const verifyReceipt = (
  token: string,
  { keys, issuers }: TrustedSigners,
  now: Instant,
): TokenVerdict => {
  const parts = token.length > LENGTH_MAX ? [] : token.split('.')
  const [header, payload, signature] = parts.map(bytesOf)
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined)
    return malformed
  const head = objectOf(header)
  if (head === undefined) return malformed
  const { alg, kid, typ, ...others } = head
  if (alg !== 'EdDSA' || typ !== TYPE || typeof kid !== 'string' || Object.keys(others).length > 0)
    return mismatch
  const key = keys.get(kid)
  if (key === undefined || key.asymmetricKeyType !== 'ed25519') return mismatch
  const signed = Buffer.from(token.slice(0, token.lastIndexOf('.')))
  if (signature.length !== 64 || !verify(null, signed, key, signature)) return mismatch
  const claims = objectOf(payload)
  if (claims === undefined) return malformed
  if (claims.aud !== 'receipt' || typeof claims.jti !== 'string' || typeof claims.iss !== 'string')
    return mismatch
  if (issuers !== undefined && !issuers.includes(claims.iss)) return mismatch
  const { iat, exp } = claims
  // Only receipts that live as long as ours do and were issued by now can have been issued here.
  if (!isSecond(iat) || !isSecond(exp) || exp <= iat || exp - iat > RECEIPT_LIFE_SECONDS) return mismatch
  if (iat * 1000 > now + ISSUED_TOLERANCE_MS) return mismatch
  return now > exp * 1000 + TOLERANCE_MS
    ? { valid: false, error: 'expired', claims }
    : { valid: true, kid, claims }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

const objectOf = (bytes: Uint8Array): JsonObject | undefined => {
  try {
    const value = parseJson(strictUtf8.decode(bytes))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
