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
/** A token is renewed this long before it expires; calls wait for the new one only when the old one is about to end. */
const EARLY_MS = 300_000
const LAST_MS = 30_000
const EXCHANGE_MS = 10_000

/** Makes the credential's headers, with one token for all calls until shortly before it expires. Throws VendorFault. */
export const googleTokens = (account: ServiceAccount, clock: Clock, send: VendorFetch = fetch) => {
  let token: { readonly text: Secret; readonly endsAt: number } | undefined
  let pending: Promise<Secret> | undefined
  const ask = async (): Promise<Secret> => {
    const now = clock.now()
    const { ok, status, text } = await send(account.tokenUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: assertion(account, Math.floor(now / 1000)),
      }).toString(),
      signal: AbortSignal.timeout(EXCHANGE_MS),
    })
      .then(async (response) => ({ ok: response.ok, status: response.status, text: await response.text() }))
      .catch((cause: unknown) => {
        throw new VendorFault('connect', 'the token could not be asked for', { cause })
      })
    const value = parseJson(text)
    if (!ok || !isObject(value) || typeof value.access_token !== 'string')
      throw new VendorFault('connect', `no token was given: status ${status}`)
    const life = typeof value.expires_in === 'number' ? value.expires_in : LIFE_S
    const given = new Secret(value.access_token)
    token = { text: given, endsAt: now + life * 1000 }
    return given
  }
  const renewed = (): Promise<Secret> => {
    pending ??= ask().finally(() => {
      pending = undefined
    })
    return pending
  }
  return async (): Promise<Record<string, string>> => {
    const leftMs = token === undefined ? 0 : token.endsAt - clock.now()
    if (token === undefined || leftMs <= LAST_MS)
      return { authorization: `Bearer ${(await renewed()).reveal()}` }
    // Its service may be away for a while: whoever calls meanwhile uses the token that is still good.
    if (leftMs <= EARLY_MS) void renewed().catch(() => undefined)
    return { authorization: `Bearer ${token.text.reveal()}` }
  }
}

const assertion = (account: ServiceAccount, nowS: number): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: account.email, scope: SCOPE, aud: account.tokenUrl, iat: nowS, exp: nowS + LIFE_S }
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(account.privateKey.reveal(), 'base64url')}`
}
