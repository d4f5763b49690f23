/**
 * Where a request to a stranger's server goes: the name is resolved once, every address of it must be public, and the
 * connection goes to the address that was checked, so that a name cannot mean something else a moment later.
 */
import { lookup } from 'node:dns/promises'
import { isPublic, publicHttpsUrl, readAddress } from '../core/address.ts'
import { Refusal } from '../core/refusal.ts'

export type PublicParts = {
  readonly fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>
  readonly resolve: (host: string) => Promise<readonly string[]>
}

export const systemPublicParts: PublicParts = {
  fetch: (url, init) => fetch(url, init),
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
}

/** An address that may be called, and how. */
export type Pinned = {
  /** As it was meant: redirects are relative to it. */
  readonly meant: URL
  /** With the checked address in place of the name. */
  readonly url: string
  /** The `Host` to send. */
  readonly host: string
  /** The certificate must be that of the name, although the connection is to its address. */
  readonly tls: { readonly serverName: string }
}

/** The address may not be called, whatever answers there. */
export class NotPublic extends Error {}

/** Checks and pins an address: https, its usual port, public hosts only. Throws NotPublic, and what the resolver throws. */
export const pin = async (resolve: PublicParts['resolve'], address: string): Promise<Pinned> => {
  const checked = publicHttpsUrl('url', address)
  if (checked instanceof Refusal) throw new NotPublic(checked.message)
  const meant = new URL(checked)
  const serverName = meant.hostname.replace(/^\[|\]$/g, '')
  const target = await publicAddressOf(resolve, serverName)
  const url = new URL(checked)
  url.hostname = target.includes(':') ? `[${target}]` : target
  return { meant, url: url.href, host: meant.host, tls: { serverName } }
}

const publicAddressOf = async (resolve: PublicParts['resolve'], name: string): Promise<string> => {
  const found = readAddress(name) === undefined ? await resolve(name) : [name]
  const [first] = found
  if (first === undefined) throw new NotPublic('the name has no address')
  for (const text of found) {
    const address = readAddress(text)
    if (address === undefined || !isPublic(address))
      throw new NotPublic('the name leads to an address that is not public')
  }
  return first
}
