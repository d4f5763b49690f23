/** Signed ends of records, the chain of events and the log of receipts: a JWS (RFC 7515, EdDSA) of a type of its own. */
import { type KeyObject, sign, verify } from 'node:crypto'
import { isObject, type JsonObject, parseJson } from '../core/json-body.ts'
import { base64url, bytesOf } from './keys.ts'
import type { SigningKey } from './token.ts'

type HeadType = 'event-head+jwt' | 'log-head+jwt'

/** Signs the claims of an end. */
export const signHead = ({ kid, key }: SigningKey, typ: HeadType, claims: object): string => {
  const header = base64url(JSON.stringify({ alg: 'EdDSA', kid, typ }))
  const payload = base64url(JSON.stringify(claims))
  return `${header}.${payload}.${base64url(sign(null, Buffer.from(`${header}.${payload}`), key))}`
}

/** The claims of a head of that type, if one of the keys has signed it. */
export const readHead = (
  token: string,
  type: HeadType,
  keys: ReadonlyMap<string, KeyObject>,
): JsonObject | undefined => {
  const [header, payload, signature] = token.split('.').map(bytesOf)
  if (header === undefined || payload === undefined || signature === undefined) return undefined
  const [head, claims] = [header, payload].map((bytes) => parseJson(new TextDecoder().decode(bytes)))
  if (!isObject(head) || !isObject(claims) || head.typ !== type || head.alg !== 'EdDSA') return undefined
  const key = keys.get(String(head.kid))
  const signed = Buffer.from(token.slice(0, token.lastIndexOf('.')))
  return key !== undefined && verify(null, signed, key, signature) ? claims : undefined
}
