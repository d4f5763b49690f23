/**
 * Challenges of the HTTP scheme `Payment`. None is stored: the id of one proves, under the server's secret, all of its
 * members and the request that it was made for. Source: The "Payment" HTTP Authentication Scheme (IETF draft).
 */
import { canonicalJson } from '../../core/canonical.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { isOurs, type KeyedHash } from '../../core/keyed-hash.ts'

/** What a payer pays with, and what for: `charge` is one payment for one request. */
export type Terms = {
  readonly method: string
  readonly intent: string
  /** What the payer needs to know, as the method defines it: canonical JSON in base64url. */
  readonly request: string
}

export type Challenge = Terms & {
  readonly id: string
  /** The server's host. */
  readonly realm: string
  readonly expires: string
  /** Of the body, where the payer has the same bytes. */
  readonly digest?: string | undefined
}

export const encodeRequest = (request: JsonObject): string =>
  Buffer.from(canonicalJson(request)).toString('base64url')

/** The seven places of the draft, and what tells the request from any other: its address, body, key and ceiling. */
const provenBy = (it: Omit<Challenge, 'id'>, fingerprint: string): string =>
  `mpp challenge ${[it.realm, it.method, it.intent, it.request, it.expires, it.digest ?? '', '', fingerprint].join('|')}`

const short = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url')

export const makeChallenge = (
  hash: KeyedHash<string>,
  it: Omit<Challenge, 'id'>,
  fingerprint: string,
): Challenge => ({ id: short(hash(provenBy(it, fingerprint))), ...it })

export type Fingerprints = { readonly fingerprint: string; readonly fingerprintBefore: string | undefined }

/** Whether this server made the challenge, for this request; a change of secret leaves those from before it good. */
export const isMade = (
  hash: KeyedHash<string>,
  it: Challenge,
  { fingerprint, fingerprintBefore }: Fingerprints,
): boolean => {
  const made = Buffer.from(it.id, 'base64url').toString('hex')
  if (short(made) !== it.id) return false
  if (isOurs(hash, provenBy(it, fingerprint), made)) return true
  const { before } = hash
  return (
    before !== undefined &&
    fingerprintBefore !== undefined &&
    isOurs(before, provenBy(it, fingerprintBefore), made)
  )
}

const NAMES = ['id', 'realm', 'method', 'intent', 'request', 'expires', 'digest'] as const

/** The value of `WWW-Authenticate`: no member of ours has a character that would have to be escaped. */
export const challengeHeader = (challenges: readonly Challenge[]): string =>
  challenges
    .map((it) => {
      const members = NAMES.flatMap((name) => (it[name] === undefined ? [] : [`${name}="${it[name]}"`]))
      return `Payment ${members.join(', ')}`
    })
    .join(', ')

/** The challenges in a header of ours. */
export const challengesIn = (header: string): readonly Readonly<Record<string, string>>[] =>
  header
    .split(/(?:^|, )Payment /)
    .slice(1)
    .map((text) =>
      Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value])),
    )
