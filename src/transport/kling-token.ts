/**
 * Kling's credential: a token that is signed here with the secret key and is valid for half an hour. Source: Kling API
 * reference, "Authentication"; RFC 7519.
 */
import { createHmac } from 'node:crypto'
import type { Secret } from '../core/secret.ts'
import type { Clock } from '../core/time.ts'

const LIFE_S = 1_800
/** Allows for clocks that differ. */
const EARLY_S = 5

/** Makes the credential's headers for one request. */
export const klingTokens =
  (keys: { readonly access: string; readonly secret: Secret }, clock: Pick<Clock, 'now'>) =>
  async (): Promise<Record<string, string>> => {
    const nowS = Math.floor(clock.now() / 1_000)
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { iss: keys.access, exp: nowS + LIFE_S, nbf: nowS - EARLY_S }
    const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
    const signature = createHmac('sha256', keys.secret.reveal()).update(text).digest('base64url')
    return { authorization: `Bearer ${text}.${signature}` }
  }
