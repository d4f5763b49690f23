/**
 * Where a request to a stranger's server goes. The name is resolved once, every address it has must be public, and the
 * connection goes to the address that was checked, so that the name cannot mean something else a moment later.
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
  /** The original address; redirects are relative to it. */
  readonly meant: URL
  /** With the checked address in place of the name. */
  readonly url: string
  /** The `Host` to send. */
  readonly host: string
  /** The certificate must match the name, although the connection goes to its address. */
  readonly tls: { readonly serverName: string }
}

/** The address may not be called, whatever would answer there. */
export class NotPublic extends Error {}

/**
 * Checks and pins an address: https, the usual port, public hosts only. Throws NotPublic, and errors of the resolver.
 */
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
