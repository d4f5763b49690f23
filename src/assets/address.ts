/** Addresses of assets: whoever has one reads it until it runs out, with no key. */
import { timingSafeEqual } from 'node:crypto'
import type { Instant } from '../core/time.ts'

export type Hash = (text: string) => string

const NAME = /^([0-9a-f]{32})\.([a-z0-9]{1,8})$/

/** `<id>.<extension>`; undefined for every other text, so that no name leads anywhere else. */
export const readName = (name: string): { readonly id: string; readonly extension: string } | undefined => {
  const [, id, extension] = NAME.exec(name) ?? []
  return id === undefined || extension === undefined ? undefined : { id, extension }
}

/** The signature of a name until an instant, under a prefix that nothing else is signed with. */
const signatureOf = (hash: Hash, name: string, exp: string): string => hash(`asset ${name} ${exp}`)

/** The address of an asset, good until `until`, rounded down to a second. */
export const signedAddress = (hash: Hash, base: string, name: string, until: Instant): string => {
  const exp = String(Math.floor(until / 1000))
  return `${base}/v1/assets/${name}?exp=${exp}&sig=${signatureOf(hash, name, exp)}`
}

/** Whether the signature is ours, and whether its time is over; nothing is read for that. */
export const checkSignature = (
  hash: Hash,
  it: { readonly name: string; readonly exp: string; readonly sig: string },
  now: Instant,
): 'good' | 'over' | 'forged' => {
  if (!/^\d{1,12}$/.test(it.exp)) return 'forged'
  const [ours, theirs] = [Buffer.from(signatureOf(hash, it.name, it.exp)), Buffer.from(it.sig)]
  if (ours.length !== theirs.length || !timingSafeEqual(ours, theirs)) return 'forged'
  return Number(it.exp) * 1000 > now ? 'good' : 'over'
}
