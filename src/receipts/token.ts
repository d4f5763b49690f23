/**
 * Receipts as tokens: a compact JWS (RFC 7515) of type `receipt+jwt` with EdDSA, and nothing else.
 *
 * The algorithm is fixed in code and never read from the token; the token only has to name it correctly. The header has
 * three members, the key is one of ours by name, and nothing is fetched.
 */
import { type KeyObject, sign, verify } from 'node:crypto'
import { isObject, type JsonObject, parseJson } from '../core/json-body.ts'
import type { Instant } from '../core/time.ts'
import { type Claims, RECEIPT_LIFE_SECONDS } from './claims.ts'
import { base64url, bytesOf } from './keys.ts'

/** A signing key, with its encoded header, and room that begins with it for what is signed. */
export type SigningKey = {
  readonly kid: string
  readonly key: KeyObject
  readonly header: string
  readonly room: Buffer
}

type TokenVerdict =
  | { readonly valid: true; readonly kid: string; readonly claims: JsonObject }
  | { readonly valid: false; readonly error: 'malformed_jwt' | 'signature_mismatch' }
  | { readonly valid: false; readonly error: 'expired'; readonly claims: JsonObject }

const TYPE = 'receipt+jwt'
/** The longest of ours is some 20 KB: its tags are all that a call may have, of three bytes a character. */
const LENGTH_MAX = 32 * 1024
/** Clocks of signer and verifier may differ by this much. */
const TOLERANCE_MS = 5_000

/** Another process may check a receipt as soon as it is signed, and its clock may be this far behind. */
const ISSUED_TOLERANCE_MS = 60_000

const isSecond = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const malformed: TokenVerdict = { valid: false, error: 'malformed_jwt' }
const mismatch: TokenVerdict = { valid: false, error: 'signature_mismatch' }

export const signingKey = (kid: string, key: KeyObject): SigningKey => {
  const header = base64url(JSON.stringify({ alg: 'EdDSA', kid, typ: TYPE }))
  const room = Buffer.alloc(LENGTH_MAX)
  room.write(`${header}.`, 'latin1')
  return { kid, key, header, room }
}

const utf8 = new TextEncoder()

/** What is signed, as bytes. */
const signedBytes = (payload: string, { header, room }: SigningKey): Uint8Array => {
  const begins = header.length + 1
  const length = begins + payload.length
  if (length > room.length) return Buffer.from(`${header}.${payload}`)
  room.write(payload, begins, 'latin1')
  return room.subarray(0, length)
}

/** Signs the claims. Ed25519 uses no randomness: the same claims under the same key give the same token. */
export const signReceipt = (claims: Claims, signing: SigningKey): string => {
  const payload = base64url(utf8.encode(JSON.stringify(claims)))
  const signature = sign(null, signedBytes(payload, signing), signing.key)
  return `${signing.header}.${payload}.${base64url(signature)}`
}

type TrustedSigners = {
  readonly keys: ReadonlyMap<string, KeyObject>
  /** Who may have issued it; when undefined, any name that one of the keys has signed. */
  readonly issuers: readonly string[] | undefined
}

/** Judges a token at `now`, in this order: form, header, signature, claims, age. */
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
  // We can only have issued receipts that live as long as ours do and whose issue time has come.
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
