/**
 * Webhooks out: one POST to a public server. The name is resolved once, every address of it must be public, and the
 * connection goes to the address that was checked, so that a name cannot mean something else a moment later.
 */
import { lookup } from 'node:dns/promises'
import { isPublic, publicHttpsUrl, readAddress } from '../core/address.ts'
import { Refusal } from '../core/refusal.ts'

type Resolve = (host: string) => Promise<readonly string[]>

export type WebhookParts = {
  readonly fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>
  readonly resolve: Resolve
}

const TIMEOUT_MS = 10_000

export const systemWebhooks: WebhookParts = {
  fetch: (url, init) => fetch(url, init),
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
}

/** Sends the body; rejects unless the server took it with a 2xx. Redirects are not followed. */
export const sendWebhook = async (
  parts: WebhookParts,
  it: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
): Promise<void> => {
  const checked = publicHttpsUrl('url', it.url)
  if (checked instanceof Refusal) throw new Error(checked.message)
  const url = new URL(checked)
  const name = url.hostname.replace(/^\[|\]$/g, '')
  const address = await publicAddressOf(parts.resolve, name)
  url.hostname = address.includes(':') ? `[${address}]` : address
  const response = await parts.fetch(url.href, {
    method: 'POST',
    headers: { ...it.headers, host: new URL(checked).host, 'content-type': 'application/json' },
    body: it.body,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    // The certificate must be that of the name, although the connection is to its address.
    tls: { serverName: name },
  })
  await response.body?.cancel()
  if (response.status < 200 || response.status > 299) throw new Error(`it answered ${response.status}`)
}

const publicAddressOf = async (resolve: Resolve, name: string): Promise<string> => {
  const found = readAddress(name) === undefined ? await resolve(name) : [name]
  const [first] = found
  if (first === undefined) throw new Error('the name has no address')
  for (const text of found) {
    const address = readAddress(text)
    if (address === undefined || !isPublic(address))
      throw new Error('the name leads to an address that is not public')
  }
  return first
}
