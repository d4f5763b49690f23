/**
 * Access tokens of agents that somebody signed in: each names a key and a sign-in, and says until when, under the server's
 * secret. None is stored, so that an agent may have a new one each hour, while all agents of a person share one key with
 * its caps and its use.
 */
import { signInEnded } from '../../admission/caller.ts'
import { inCell } from '../../cells/cell-of.ts'
import { isOurs, type KeyedHash } from '../../core/keyed-hash.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Instant } from '../../core/time.ts'
import type { Key, KeyId } from '../../tenancy/key.ts'
import type { Gateway } from '../parts/gateway.ts'

export type Access = {
  readonly keyId: KeyId
  /** The id of the sign-in. */
  readonly login: string
}

/** What they begin with. */
export const ACCESS = 'sk-at-'
/** `sk-at-<key id>-<sign-in>-<its end in milliseconds, base 36>-<hash>`, with the cell's name before the key's id if it has one. */
const FORM = /^sk-at-(?:[a-z][a-z0-9]{0,7}-)?(key_[A-Za-z0-9_]+)-([0-9a-f]+)-([0-9a-z]{1,10})-([0-9a-f]{64})$/

const signed = ({ keyId, login }: Access, end: string): string =>
  `access to ${keyId} by ${login} until ${end}`

export const newAccessToken = (
  { hash, options }: Pick<Gateway, 'hash' | 'options'>,
  access: Access,
  ends: Instant,
): string => {
  const end = ends.toString(36)
  return `${ACCESS}${inCell(options.cell.own)}${access.keyId}-${access.login}-${end}-${hash(signed(access, end))}`
}

/** What a token stands for; the 401 of one that has ended, or that is none of ours. */
export const readAccessToken = (hash: KeyedHash, token: string, now: Instant): Access | Refusal => {
  const [, keyId, login, end, mac] = FORM.exec(token) ?? []
  if (keyId === undefined || login === undefined || end === undefined || mac === undefined)
    return signInEnded()
  const access = { keyId, login }
  return isOurs(hash, signed(access, end), mac) && now < Number.parseInt(end, 36) ? access : signInEnded()
}

/** The key, as a sign-in may use it: undefined for a key that is gone, or once the agent was signed out. */
export const keyFor = ({ login }: Access, key: Key | undefined): Key | undefined =>
  key?.endedLogins?.includes(login) === true ? undefined : key
