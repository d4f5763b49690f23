/** Access tokens for a Google service account. Source of the exchange: Google Identity, "Using OAuth 2.0 for server to server applications"; RFC 7523. */
import { createSign } from 'node:crypto'
import { isObject, parseJson } from '../core/json-body.ts'
import { Secret } from '../core/secret.ts'
import type { Clock } from '../core/time.ts'
import type { VendorFetch } from '../vendors/setup.ts'
import { VendorFault } from './vendor-fault.ts'

type ServiceAccount = {
  readonly email: string
  readonly privateKey: Secret
  readonly tokenUrl: string
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const LIFE_S = 3_600
/** A token is renewed this long before it expires. */
const EARLY_MS = 300_000
const EXCHANGE_MS = 10_000

/** Makes the credential's headers, with one token for all calls until shortly before it expires. Throws VendorFault. */
export const googleTokens = (account: ServiceAccount, clock: Clock, send: VendorFetch = fetch) => {
  let token: { readonly text: Secret; readonly endsAt: number } | undefined
  let pending: Promise<Secret> | undefined
  const ask = async (): Promise<Secret> => {
    const now = clock.now()
    const response = await send(account.tokenUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: assertion(account, Math.floor(now / 1000)),
      }).toString(),
      signal: AbortSignal.timeout(EXCHANGE_MS),
    }).catch((cause: unknown) => {
      throw new VendorFault('connect', 'the token could not be asked for', { cause })
    })
    const value = parseJson(await response.text())
    if (!response.ok || !isObject(value) || typeof value.access_token !== 'string')
      throw new VendorFault('connect', `no token was given: status ${response.status}`)
    const life = typeof value.expires_in === 'number' ? value.expires_in : LIFE_S
    const text = new Secret(value.access_token)
    token = { text, endsAt: now + life * 1000 }
    return text
  }
  return async (): Promise<Record<string, string>> => {
    if (token === undefined || token.endsAt - EARLY_MS <= clock.now()) {
      pending ??= ask().finally(() => {
        pending = undefined
      })
      return { authorization: `Bearer ${(await pending).reveal()}` }
    }
    return { authorization: `Bearer ${token.text.reveal()}` }
  }
}

const assertion = (account: ServiceAccount, nowS: number): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: account.email, scope: SCOPE, aud: account.tokenUrl, iat: nowS, exp: nowS + LIFE_S }
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(account.privateKey.reveal(), 'base64url')}`
}
