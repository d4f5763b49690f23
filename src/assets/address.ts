/** Addresses of assets: whoever has one can read it until it expires, without a key. */
import { isOurs, type KeyedHash } from '../core/keyed-hash.ts'
import type { Instant } from '../core/time.ts'

export type Hash = KeyedHash<string>

const NAME = /^([0-9a-f]{32})\.([a-z0-9]{1,8})$/

/** `<id>.<extension>`; undefined for any other text, so that a name can lead nowhere else. */
export const readName = (name: string): { readonly id: string; readonly extension: string } | undefined => {
  const [, id, extension] = NAME.exec(name) ?? []
  return id === undefined || extension === undefined ? undefined : { id, extension }
}

/** The text that is signed, with a prefix that is used for nothing else. */
const signedText = (name: string, exp: string): string => `asset ${name} ${exp}`

/** The address of an asset, valid until `until`, rounded down to a second. */
export const signedAddress = (hash: Hash, base: string, name: string, until: Instant): string => {
  const exp = String(Math.floor(until / 1000))
  return `${base}/v1/assets/${name}?exp=${exp}&sig=${hash(signedText(name, exp))}`
}

/** Whether the signature is ours, and whether it has expired; nothing is read to find out. */
export const checkSignature = (
  hash: Hash,
  it: { readonly name: string; readonly exp: string; readonly sig: string },
  now: Instant,
): 'good' | 'over' | 'forged' => {
  if (!/^\d{1,12}$/.test(it.exp)) return 'forged'
  if (!isOurs(hash, signedText(it.name, it.exp), it.sig)) return 'forged'
  return Number(it.exp) * 1000 > now ? 'good' : 'over'
}
