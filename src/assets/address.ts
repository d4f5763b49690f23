/** Addresses of assets: whoever has one reads it until it runs out, with no key. */
import { isOurs, type KeyedHash } from '../core/keyed-hash.ts'
import type { Instant } from '../core/time.ts'

export type Hash = KeyedHash<string>

const NAME = /^([0-9a-f]{32})\.([a-z0-9]{1,8})$/

/** `<id>.<extension>`; undefined for every other text, so that no name leads anywhere else. */
export const readName = (name: string): { readonly id: string; readonly extension: string } | undefined => {
  const [, id, extension] = NAME.exec(name) ?? []
  return id === undefined || extension === undefined ? undefined : { id, extension }
}

/** What is signed of a name until an instant, under a prefix that nothing else is signed with. */
const signedText = (name: string, exp: string): string => `asset ${name} ${exp}`

/** The address of an asset, good until `until`, rounded down to a second. */
export const signedAddress = (hash: Hash, base: string, name: string, until: Instant): string => {
  const exp = String(Math.floor(until / 1000))
  return `${base}/v1/assets/${name}?exp=${exp}&sig=${hash(signedText(name, exp))}`
}

/** Whether the signature is ours, and whether its time is over; nothing is read for that. */
export const checkSignature = (
  hash: Hash,
  it: { readonly name: string; readonly exp: string; readonly sig: string },
  now: Instant,
): 'good' | 'over' | 'forged' => {
  if (!/^\d{1,12}$/.test(it.exp)) return 'forged'
  if (!isOurs(hash, signedText(it.name, it.exp), it.sig)) return 'forged'
  return Number(it.exp) * 1000 > now ? 'good' : 'over'
}
