/** Sends webhooks: one POST to a public server, at the address that was checked. */
import { type PublicParts, pin } from './public-address.ts'

const TIMEOUT_MS = 10_000

type Message = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends the body; rejects unless the server answers with a 2xx. Redirects are not followed. */
export const sendWebhook = async (parts: PublicParts, it: Message): Promise<void> => {
  await (await posted(parts, it, TIMEOUT_MS)).body?.cancel()
}

/** The same, with what the server answers; rejects if that takes too long or has too many bytes. */
export const askWebhook = async (
  parts: PublicParts,
  it: Message,
  { deadlineMs, bytesMax }: { readonly deadlineMs: number; readonly bytesMax: number },
): Promise<string> => {
  const { body, headers } = await posted(parts, it, deadlineMs)
  if (!/^(|identity)$/i.test(headers.get('content-encoding') ?? '')) {
    await body?.cancel()
    throw new Error('it answered compressed, which was not asked for')
  }
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    // Leaving the loop cancels the rest.
    if (bytes > bytesMax) throw new Error(`it answered more than ${bytesMax} bytes`)
    pieces.push(piece)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces))
}

const posted = async (parts: PublicParts, it: Message, timeoutMs: number): Promise<Response> => {
  const { url, host, tls } = await pin(parts.resolve, it.url)
  const response = await parts.fetch(url, {
    method: 'POST',
    headers: { ...it.headers, host, 'content-type': 'application/json', 'accept-encoding': 'identity' },
    body: it.body,
    // The runtime would unpack far ahead of whoever counts the bytes.
    decompress: false,
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
    tls,
  })
  if (response.status >= 200 && response.status <= 299) return response
  await response.body?.cancel()
  throw new Error(`it answered ${response.status}`)
}
