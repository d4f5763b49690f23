/** Sends webhooks: one POST to a public server, at the address that was checked. */
import { type PublicParts, pin } from './public-address.ts'

const TIMEOUT_MS = 10_000

/** Sends the body; rejects unless the server answers with a 2xx. Redirects are not followed. */
export const sendWebhook = async (
  parts: PublicParts,
  it: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
): Promise<void> => {
  const { url, host, tls } = await pin(parts.resolve, it.url)
  const response = await parts.fetch(url, {
    method: 'POST',
    headers: { ...it.headers, host, 'content-type': 'application/json' },
    body: it.body,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    tls,
  })
  await response.body?.cancel()
  if (response.status < 200 || response.status > 299) throw new Error(`it answered ${response.status}`)
}
