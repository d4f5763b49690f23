/**
 * Fetches what a vendor's answer or a caller's input names: from public servers only, with each redirect checked again,
 * counting the bytes as they are read. Nothing is unpacked: a compressed result is refused.
 */
import { messageOf } from '../core/message-of.ts'
import { NotPublic, type Pinned, type PublicParts, pin } from './public-address.ts'

/** Why a result could not be fetched. */
export class FetchFault extends Error {
  /** `refused`: it may not be requested; `too large`: it is longer than allowed; `failed`: another try may help. */
  readonly kind: 'refused' | 'too large' | 'failed'
  /** The reason alone, without the address it is about. */
  readonly why: string
  /** The server's status, if that was the reason. */
  readonly status: number | undefined

  constructor(
    kind: FetchFault['kind'],
    why: string,
    extra: { readonly cause?: unknown; readonly status?: number } = {},
  ) {
    super(`the bytes could not be fetched: ${why}`, { cause: extra.cause })
    this.kind = kind
    this.why = why
    this.status = extra.status
  }
}

export type PublicFetch = {
  readonly url: string
  /** Headers with a secret, and the only hosts that get them, by exact name. */
  readonly credential?: {
    readonly headers: Readonly<Record<string, string>>
    readonly hosts: readonly string[]
  }
  readonly bytesMax: number
  /** How long the server may be silent, and how long the whole exchange may take. */
  readonly idleMs: number
  readonly totalMs: number
  /** Aborts when nobody waits for it any more. */
  readonly leaving?: AbortSignal | undefined
}

const REDIRECTS_MAX = 3
const REDIRECTS = [301, 302, 303, 307, 308]

/**
 * Requests the address and yields its body piece by piece; nothing is read ahead. Stopping early closes the connection.
 * Throws FetchFault, at once or while the pieces are read.
 */
export async function* fetchPublic(parts: PublicParts, it: PublicFetch): AsyncGenerator<Uint8Array> {
  const clock = startDeadlines(it)
  try {
    const response = await follow(parts, it, clock.signal)
    yield* bounded(response, it.bytesMax, clock)
  } catch (error) {
    throw faultOf(error)
  } finally {
    clock.end()
  }
}

const faultOf = (error: unknown): FetchFault => {
  if (error instanceof FetchFault) return error
  const kind = error instanceof NotPublic ? 'refused' : 'failed'
  return new FetchFault(kind, messageOf(error), { cause: error })
}

/** Ends the exchange when it is silent or takes too long, and when its reader is done. */
const startDeadlines = ({ idleMs, totalMs, leaving }: PublicFetch) => {
  const controller = new AbortController()
  const leave = () => controller.abort(new Error('nobody waits for it'))
  if (leaving?.aborted === true) leave()
  leaving?.addEventListener('abort', leave, { once: true })
  const late = (what: string) => () => controller.abort(new Error(what))
  const idle = setTimeout(late(`nothing came for ${idleMs / 1000} s`), idleMs)
  const total = setTimeout(late(`it took more than ${totalMs / 1000} s`), totalMs)
  return {
    signal: controller.signal,
    progress: () => void idle.refresh(),
    end: () => {
      clearTimeout(idle)
      clearTimeout(total)
      leaving?.removeEventListener('abort', leave)
      controller.abort()
    },
  }
}

/** The answer, after at most three redirects. */
const follow = async (parts: PublicParts, it: PublicFetch, signal: AbortSignal): Promise<Response> => {
  let address = it.url
  for (let hops = 0; ; hops++) {
    const to = await untilAborted(pin(parts.resolve, address), signal)
    const response = await untilAborted(parts.fetch(to.url, requestTo(to, it, signal)), signal)
    const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null
    if (location === null) return response
    await response.body?.cancel()
    if (hops === REDIRECTS_MAX)
      throw new FetchFault('refused', `it redirects more than ${REDIRECTS_MAX} times`)
    if (!URL.canParse(location, to.meant.href))
      throw new FetchFault('refused', 'a redirect of it leads nowhere')
    address = new URL(location, to.meant.href).href
  }
}

const requestTo = (to: Pinned, it: PublicFetch, signal: AbortSignal) => {
  const known = it.credential?.hosts.includes(to.meant.hostname) === true
  const init: BunFetchRequestInit & { timeout: false } = {
    headers: {
      ...(known ? it.credential?.headers : {}),
      host: to.host,
      accept: '*/*',
      'accept-encoding': 'identity',
    },
    redirect: 'manual',
    signal,
    tls: to.tls,
    decompress: false,
    // A connection kept open for one name must not serve another name at the same address.
    keepalive: false,
    timeout: false,
  }
  return init
}

/** Waits only as long as the signal allows, even for something that does not follow the signal. */
const untilAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<never>()
  const give = () => reject(signal.reason)
  if (signal.aborted) give()
  signal.addEventListener('abort', give, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', give))
}

async function* bounded(
  response: Response,
  bytesMax: number,
  { signal, progress }: ReturnType<typeof startDeadlines>,
): AsyncGenerator<Uint8Array> {
  const { status, headers, body } = response
  if (status !== 200 || body === null) {
    await body?.cancel()
    throw new FetchFault('failed', `its server answered ${status}`, { status })
  }
  const tooLarge = () => new FetchFault('too large', `they are more than ${bytesMax}`)
  const reader = body.getReader()
  try {
    if (!/^(|identity)$/i.test(headers.get('content-encoding') ?? ''))
      throw new FetchFault('refused', 'they came compressed, which was not asked for')
    const declared = headers.get('content-length')
    if (Number(declared ?? 0) > bytesMax) throw tooLarge()
    let bytes = 0
    for (;;) {
      // Time that the reader of the pieces takes does not count as silence of the server.
      progress()
      const { done, value } = await untilAborted(reader.read(), signal)
      if (done) break
      bytes += value.length
      if (bytes > bytesMax) throw tooLarge()
      yield value
    }
    if (declared !== null && bytes !== Number(declared))
      throw new FetchFault('failed', `they ended after ${bytes} of ${declared}`)
  } finally {
    // Frees a reader even if its body does not follow the signal.
    void reader.cancel().catch(() => undefined)
  }
}
