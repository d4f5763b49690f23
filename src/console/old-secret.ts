/**
 * What the console has under the server's secret, while that changes too: at a start, second factors move to the present secret, and sessions
 * that began under the previous one continue. The sign-in library itself only knows one secret.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { KeyedHash } from '../core/keyed-hash.ts'
import { sealed, unsealed } from '../core/sealed.ts'
import type { PeopleRows } from '../store/people/people-port.ts'

/** The key with which the library signs cookies and encrypts second factors. */
export const sessionSecret = (hash: KeyedHash): string => hash('sessions of the console')

const TOKEN = 'refresh token of a company'

/** How refresh tokens of companies' providers are stored; `unseal` also reads those of the previous secret. */
export const sealingTokens = (hash: KeyedHash) => {
  const under = (one: KeyedHash) => Buffer.from(one(TOKEN), 'hex')
  return {
    seal: (token: string): string => sealed(Buffer.from(token), TOKEN, under(hash), randomBytes(12)),
    unseal: (text: string): string | undefined =>
      [hash, ...(hash.before === undefined ? [] : [hash.before])]
        .map((one) => unsealed(text, TOKEN, under(one))?.toString())
        .find((token) => token !== undefined),
  }
}

const COOKIE = /((?:__Host-)?turnpike_session)=([^;\s]+)/

/** The cookie as the library would have signed it under the present secret, if it was signed under the previous one. */
export const withPresentCookie = (headers: Headers, hash: KeyedHash): Headers => {
  const { before } = hash
  if (before === undefined) return headers
  const cookie = headers.get('cookie')
  const [whole, name, text] = COOKIE.exec(cookie ?? '') ?? []
  if (cookie === null || whole === undefined || text === undefined) return headers
  const signed = decoded(text)
  const dot = signed.lastIndexOf('.')
  const [value, signature] = [signed.slice(0, Math.max(0, dot)), signed.slice(dot + 1)]
  const [ours, theirs] = [Buffer.from(signatureOf(value, before)), Buffer.from(signature)]
  if (ours.length !== theirs.length || !timingSafeEqual(ours, theirs)) return headers
  const present = `${name}=${encodeURIComponent(`${value}.${signatureOf(value, hash)}`)}`
  const others = new Headers(headers)
  others.set(
    'cookie',
    cookie.replace(whole, () => present),
  )
  return others
}

const signatureOf = (value: string, hash: KeyedHash): string =>
  createHmac('sha256', sessionSecret(hash)).update(value).digest('base64')

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/**
 * Encrypts under the present secret those second factors that only the previous one opens. Returns how many neither
 * opens.
 */
export const encryptAnew = async (people: PeopleRows, hash: KeyedHash): Promise<number> => {
  const rows = await people.find('person_totp', { where: [] })
  if (rows.length === 0) return 0
  const { symmetricDecrypt, symmetricEncrypt } = await import('better-auth/crypto')
  const under = (one: KeyedHash, data: string) =>
    symmetricDecrypt({ key: sessionSecret(one), data }).catch(() => undefined)
  let closed = 0
  for (const { id = null, secret, backup_codes } of rows) {
    const both = [String(secret), String(backup_codes)]
    if ((await under(hash, String(secret))) !== undefined) continue
    const { before } = hash
    const opened = await Promise.all(
      both.map((data) => (before === undefined ? undefined : under(before, data))),
    )
    const [factor, codes] = opened
    if (factor === undefined || codes === undefined) {
      closed++
      continue
    }
    const key = sessionSecret(hash)
    await people.update(
      'person_totp',
      [
        { column: 'id', is: '=', value: id },
        { column: 'secret', is: '=', value: String(secret) },
      ],
      {
        secret: await symmetricEncrypt({ key, data: factor }),
        backup_codes: await symmetricEncrypt({ key, data: codes }),
      },
    )
  }
  return closed
}
