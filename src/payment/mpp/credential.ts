/** A credential of the scheme `Payment`, read strictly: the challenge that it answers, and the proof of payment. */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Challenge } from './challenge.ts'

export type Credential = {
  readonly challenge: Challenge
  readonly payload: JsonObject
  /** Who pays, as the payer says. */
  readonly source: string | undefined
}

const CREDENTIAL_MAX = 8 * 1024
const SCHEME = /^payment +([A-Za-z0-9_-]+)$/i
const TEXT_MAX = 4 * 1024

const text = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= TEXT_MAX && !value.includes('|')

const optional = (value: unknown): value is string | undefined => value === undefined || text(value)

const readChallenge = (value: unknown): Challenge | undefined => {
  if (!isObject(value)) return undefined
  const { id, realm, method, intent, request, expires, digest } = value
  if (!text(id) || !text(realm) || !text(method) || !text(intent)) return undefined
  if (!text(request) || !text(expires) || !optional(digest)) return undefined
  return { id, realm, method, intent, request, expires, ...(digest === undefined ? {} : { digest }) }
}

/** Undefined for what is no credential. */
export const readCredential = (authorization: string): Credential | undefined => {
  const [, encoded] = authorization.length > CREDENTIAL_MAX ? [] : (SCHEME.exec(authorization) ?? [])
  const value =
    encoded === undefined ? undefined : parseJson(Buffer.from(encoded, 'base64url').toString('utf8'))
  if (!isObject(value) || !isObject(value.payload) || !optional(value.source)) return undefined
  const challenge = readChallenge(value.challenge)
  return challenge && { challenge, payload: value.payload, source: value.source }
}
